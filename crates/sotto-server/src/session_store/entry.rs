//! The bytes that describe a stored session, as in `spec/wire.md`, under "Keys at rest".

use crate::client::ClientId;
use sotto_catalog::TableName;
use sotto_core::ParamsDigest;
use std::sync::Arc;

/// Version of an entry without a stamp, and of one with a stamp.
const VERSION: u8 = 1;
const STAMPED: u8 = 2;

/// The table and parameters that a session's keys were made for, at any epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOwner {
    /// Name of the table.
    pub table: Arc<str>,
    /// Role of the server in the scheme.
    pub server: u8,
    /// Digest of the parameters.
    pub digest: ParamsDigest,
}

/// The description of a session, stored next to its keys.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct StoredSession {
    pub(crate) owner: SessionOwner,
    pub(crate) client: ClientId,
    /// Time of last use, in seconds since 1970.
    pub(crate) used: u64,
    pub(crate) keys_bytes: u64,
    /// The client's stamp of its keys; 0 if there is none.
    pub(crate) stamp: u64,
    /// BLAKE3 of the keys: stored keys with another digest are not admitted again.
    pub(crate) digest: [u8; 32],
}

impl StoredSession {
    pub(crate) fn new(owner: SessionOwner, client: ClientId, keys: &[u8], now: u64) -> Self {
        let digest = *blake3::hash(keys).as_bytes();
        StoredSession { owner, client, used: now, keys_bytes: keys.len() as u64, stamp: 0, digest }
    }

    pub(crate) fn is_of(&self, keys: &[u8]) -> bool {
        keys.len() as u64 == self.keys_bytes && *blake3::hash(keys).as_bytes() == self.digest
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let version = if self.stamp == 0 { VERSION } else { STAMPED };
        let mut out = vec![version, self.owner.server];
        out.extend(self.used.to_le_bytes());
        out.extend(self.keys_bytes.to_le_bytes());
        out.extend(self.client.0);
        out.extend(self.owner.digest.0);
        out.extend(self.digest);
        if self.stamp != 0 {
            out.extend(self.stamp.to_le_bytes());
        }
        out.extend(self.owner.table.as_bytes());
        out
    }

    /// Parses an entry; `None` for bytes that [`StoredSession::to_bytes`] cannot have made.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let ([version, server], rest) = bytes.split_first_chunk()?;
        let (used, rest) = rest.split_first_chunk()?;
        let (keys_bytes, rest) = rest.split_first_chunk()?;
        let (client, rest) = rest.split_first_chunk()?;
        let (params, rest) = rest.split_first_chunk()?;
        let (digest, rest) = rest.split_first_chunk()?;
        let (stamp, name) = match *version {
            VERSION => (0, rest),
            STAMPED => rest.split_first_chunk().map(|(stamp, name)| (u64::from_le_bytes(*stamp), name))?,
            _ => return None,
        };
        let table: TableName = std::str::from_utf8(name).ok()?.parse().ok()?;
        Some(StoredSession {
            owner: SessionOwner {
                table: table.as_str().into(),
                server: *server,
                digest: ParamsDigest(*params),
            },
            client: ClientId(*client),
            used: u64::from_le_bytes(*used),
            keys_bytes: u64::from_le_bytes(*keys_bytes),
            stamp,
            digest: *digest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let owner = SessionOwner { table: "t-1".into(), server: 1, digest: ParamsDigest([9; 32]) };
        let entry = StoredSession::new(owner, ClientId([3; 16]), b"keys", 77);
        let bytes = entry.to_bytes();
        assert!(StoredSession::parse(&bytes).is_some_and(|read| read == entry));
        assert!(entry.is_of(b"keys") && !entry.is_of(b"keyt") && !entry.is_of(b"key"));
        for len in 0..bytes.len() - 3 {
            assert!(StoredSession::parse(&bytes[..len]).is_none(), "{len} bytes were taken");
        }
        let with = |at: usize, byte| {
            let mut damaged = bytes.clone();
            damaged[at] = byte;
            StoredSession::parse(&damaged)
        };
        assert!(with(0, 3).is_none(), "another version");
        let stamped = StoredSession { stamp: 0x0102, ..entry };
        assert!(StoredSession::parse(&stamped.to_bytes()).is_some_and(|read| read == stamped));
        assert!(StoredSession::parse(&stamped.to_bytes()[..100]).is_none(), "cut within its stamp");
        assert!(with(bytes.len() - 1, b'/').is_none(), "no name of a table");
        assert!(with(bytes.len() - 1, 0xFF).is_none(), "no text");
    }
}
