//! Keys and counts on disk, in one file: an embedded database with a table of entries, a table of
//! keys, and a table of each client's used quota.
//!
//! Entries and keys have separate tables, so that a start reads the entries without megabytes of
//! keys, and a use of a session rewrites a hundred bytes and not its keys. The database is
//! transactional: a server that is killed leaves the last complete state.
//!
//! The bytes that describe a stored session are as in `spec/wire.md`, under "Keys at rest".

use crate::StartError;
use crate::client::ClientId;
use crate::database::{
    ABOUT, CopyTo, DatabaseError, DatabaseFile, DatabaseFormat, claim, copy_table, fresh, guarded,
};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use sotto_catalog::TableName;
use sotto_core::ParamsDigest;
use sotto_wire::SessionId;
use std::path::Path;
use std::sync::Arc;

/// Format identifier in the database.
const FORMAT: &[u8] = b"sotto-sessions/1";
/// Memory for cached pages in bytes. Keys are read once and then held admitted, so more would be of
/// no use.
const CACHE_BYTES: usize = 8 << 20;

const ENTRIES: TableDefinition<'_, [u8; 16], &[u8]> = TableDefinition::new("entries");
const KEYS: TableDefinition<'_, [u8; 16], &[u8]> = TableDefinition::new("keys");
/// Time until which each client has used up its evaluations, in nanoseconds since 1970.
const EVALUATIONS: TableDefinition<'_, [u8; 16], u64> = TableDefinition::new("evaluations");

/// The open database of sessions.
pub(crate) struct SessionStore {
    database: Database,
    database_file: DatabaseFile,
    file: &'static str,
}

/// The contents of a store when it is opened.
pub(crate) struct StoredSessions {
    /// Key of the hash that hides addresses.
    pub(crate) key: [u8; 32],
    /// Entries of the sessions, the least recently used first.
    pub(crate) entries: Vec<(SessionId, StoredSession)>,
    /// Time when counts were last written, in nanoseconds since 1970.
    pub(crate) time: u64,
}

impl SessionStore {
    /// Opens the store that is named `file` in the directory `dir`, and makes it if it does not
    /// exist; a new one gets the key `fresh`. Entries that cannot be parsed are dropped.
    ///
    /// # Errors
    /// [`StartError::State`], which says what to do.
    pub(crate) fn open(
        dir: &Path,
        file: &'static str,
        fresh: [u8; 32],
    ) -> Result<(SessionStore, StoredSessions), StartError> {
        let database_file = DatabaseFile::new(dir, file, DELETE);
        let store = SessionStore { database: database_file.open(CACHE_BYTES)?, database_file, file };
        let damaged = |error| store.database_file.damaged(&error);
        let Some((key, time)) = store.begin(fresh).map_err(damaged)? else {
            return Err(store.database_file.foreign());
        };
        let entries = store.entries().map_err(damaged)?;
        Ok((store, StoredSessions { key, entries, time }))
    }

    /// Makes the tables if they do not exist, and returns the key and the time; `None` if the file
    /// has another format.
    fn begin(&self, fresh: [u8; 32]) -> Result<Option<([u8; 32], u64)>, DatabaseError> {
        guarded(|| {
            let write = self.write()?;
            let format = claim(&write, FORMAT)?;
            let key = {
                let mut about = write.open_table(ABOUT)?;
                write.open_table(ENTRIES)?;
                write.open_table(KEYS)?;
                write.open_table(EVALUATIONS)?;
                if format == DatabaseFormat::New {
                    about.insert("client-key", fresh.as_slice())?;
                }
                let time = about.get("time")?.and_then(|time| <[u8; 8]>::try_from(time.value()).ok());
                // A time past the year 2262 is damage, and would leave no range to count in.
                let time = time.map(u64::from_le_bytes).filter(|time| *time < u64::MAX / 2);
                let key = about.get("client-key")?.filter(|_| format != DatabaseFormat::Foreign);
                let key = key.and_then(|key| <[u8; 32]>::try_from(key.value()).ok());
                key.map(|key| (key, time.unwrap_or(0)))
            };
            // A file of another format is not changed.
            match key {
                Some(_) => write.commit()?,
                None => write.abort()?,
            }
            Ok(key)
        })
    }

    /// Begins a transaction after which a server that is killed can start again without reading all
    /// keys, which may be gigabytes.
    fn write(&self) -> Result<WriteTransaction, redb::Error> {
        let mut write = self.database.begin_write()?;
        write.set_quick_repair(true);
        Ok(write)
    }

    fn entries(&self) -> Result<Vec<(SessionId, StoredSession)>, DatabaseError> {
        let (mut entries, mut damaged) = (Vec::new(), Vec::new());
        guarded(|| {
            let read = self.database.begin_read()?;
            for pair in read.open_table(ENTRIES)?.iter()? {
                let (id, bytes) = pair?;
                let id = SessionId(id.value());
                match StoredSession::parse(bytes.value()) {
                    Some(entry) => entries.push((id, entry)),
                    None => damaged.push(id),
                }
            }
            Ok(())
        })?;
        if !damaged.is_empty() {
            tracing::warn!(entries = damaged.len(), "stored sessions are damaged and dropped");
            self.remove(&damaged)?;
        }
        entries.sort_by_key(|(_, entry)| entry.used);
        Ok(entries)
    }

    /// Stores a session.
    pub(crate) fn put(
        &self,
        id: &SessionId,
        entry: &StoredSession,
        keys: &[u8],
    ) -> Result<(), DatabaseError> {
        guarded(|| {
            let write = self.write()?;
            write.open_table(ENTRIES)?.insert(id.0, entry.to_bytes().as_slice())?;
            write.open_table(KEYS)?.insert(id.0, keys)?;
            Ok(write.commit()?)
        })
    }

    /// The keys of a session; `None` if they are missing, or are not those that were stored.
    pub(crate) fn keys(&self, id: &SessionId) -> Result<Option<Vec<u8>>, DatabaseError> {
        guarded(|| {
            let read = self.database.begin_read()?;
            let entry =
                read.open_table(ENTRIES)?.get(id.0)?.and_then(|bytes| StoredSession::parse(bytes.value()));
            let keys = read.open_table(KEYS)?.get(id.0)?.map(|bytes| bytes.value().to_vec());
            Ok(keys.zip(entry).and_then(|(keys, entry)| entry.is_of(&keys).then_some(keys)))
        })
    }

    /// Removes sessions, in one transaction.
    pub(crate) fn remove(&self, ids: &[SessionId]) -> Result<(), DatabaseError> {
        guarded(|| {
            let write = self.write()?;
            {
                let (mut entries, mut keys) = (write.open_table(ENTRIES)?, write.open_table(KEYS)?);
                for id in ids {
                    entries.remove(id.0)?;
                    keys.remove(id.0)?;
                }
            }
            Ok(write.commit()?)
        })
    }

    /// Stores the times when sessions were last used, in one transaction.
    pub(crate) fn touch(&self, used: &[(SessionId, u64)]) -> Result<(), DatabaseError> {
        if used.is_empty() {
            return Ok(());
        }
        guarded(|| {
            let write = self.write()?;
            {
                let mut entries = write.open_table(ENTRIES)?;
                for (id, used) in used {
                    let entry = entries.get(id.0)?.and_then(|bytes| StoredSession::parse(bytes.value()));
                    if let Some(entry) = entry {
                        entries.insert(id.0, StoredSession { used: *used, ..entry }.to_bytes().as_slice())?;
                    }
                }
            }
            Ok(write.commit()?)
        })
    }
}

impl CopyTo for SessionStore {
    fn file(&self) -> &'static str {
        self.file
    }

    fn copy(&self, to: &Path) -> Result<(), DatabaseError> {
        guarded(|| {
            let (read, copy) = (self.database.begin_read()?, fresh(to)?);
            copy_table(&read, &copy, ENTRIES)?;
            copy_table(&read, &copy, KEYS)?;
            copy_table(&read, &copy, EVALUATIONS)?;
            // Copied last: an incomplete copy has no format, and is not opened.
            copy_table(&read, &copy, ABOUT)
        })
    }
}

impl SessionStore {
    /// The time until which each client has used up its evaluations.
    ///
    /// # Errors
    /// [`StartError::State`].
    pub(crate) fn counts(&self) -> Result<Vec<(ClientId, u64)>, StartError> {
        let counts = guarded(|| {
            let read = self.database.begin_read()?;
            let mut counts = Vec::new();
            for pair in read.open_table(EVALUATIONS)?.iter()? {
                let (client, until) = pair?;
                counts.push((ClientId(client.value()), until.value()));
            }
            Ok(counts)
        });
        counts.map_err(|error| self.database_file.damaged(&error))
    }

    /// Stores counts and the time, and removes expired counts, in one transaction.
    pub(crate) fn count(
        &self,
        counts: &[(ClientId, u64)],
        expired: &[ClientId],
        now: u64,
    ) -> Result<(), DatabaseError> {
        guarded(|| {
            let write = self.write()?;
            {
                let mut table = write.open_table(EVALUATIONS)?;
                for (client, until) in counts {
                    table.insert(client.0, until)?;
                }
                for client in expired {
                    table.remove(client.0)?;
                }
                write.open_table(ABOUT)?.insert("time", now.to_le_bytes().as_slice())?;
            }
            Ok(write.commit()?)
        })
    }
}

const DELETE: &str = "delete the file, or give another directory with --state; clients then register their keys \
     again";

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
    pub(crate) client_stamp: u64,
    /// BLAKE3 of the keys: stored keys with another digest are not admitted again.
    pub(crate) digest: [u8; 32],
}

impl StoredSession {
    pub(crate) fn new(owner: SessionOwner, client: ClientId, keys: &[u8], now: u64) -> Self {
        let digest = *blake3::hash(keys).as_bytes();
        StoredSession { owner, client, used: now, keys_bytes: keys.len() as u64, client_stamp: 0, digest }
    }

    pub(crate) fn is_of(&self, keys: &[u8]) -> bool {
        keys.len() as u64 == self.keys_bytes && *blake3::hash(keys).as_bytes() == self.digest
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let version = if self.client_stamp == 0 { VERSION } else { STAMPED };
        let mut out = vec![version, self.owner.server];
        out.extend(self.used.to_le_bytes());
        out.extend(self.keys_bytes.to_le_bytes());
        out.extend(self.client.0);
        out.extend(self.owner.digest.0);
        out.extend(self.digest);
        if self.client_stamp != 0 {
            out.extend(self.client_stamp.to_le_bytes());
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
        let (client_stamp, name) = match *version {
            VERSION => (0, rest),
            STAMPED => rest
                .split_first_chunk()
                .map(|(client_stamp, name)| (u64::from_le_bytes(*client_stamp), name))?,
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
            client_stamp,
            digest: *digest,
        })
    }
}

#[cfg(test)]
mod tests;
