//! What is kept between calls, of one use case at one address: the user's name, and the client's secret.
//!
//! A file for its owner alone: a line with the name, and then what [`Client::kept`] gives. A file that is something else counts
//! as none, and is replaced.

use crate::failure::{Failure, Result};
use crate::verbs::state;
use sotto_apple::client::Client;
use sotto_core::CryptoRng;
use std::io::Write;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Bytes of such a file at most.
const MOST_BYTES: u64 = 1 << 20;

/// What is kept.
pub(super) struct Kept {
    file: Option<PathBuf>,
    user: String,
    client: Option<Zeroizing<Vec<u8>>>,
}

impl Kept {
    /// Nothing, for one call alone.
    pub(super) fn nowhere() -> Self {
        Kept { file: None, user: String::new(), client: None }
    }

    /// What an earlier call has kept.
    pub(super) fn open(dir: Option<&Path>, url: &str, use_case: &str) -> Result<Self> {
        let dir = dir.map(Path::to_owned).or_else(state::default_dir).ok_or_else(|| {
            Failure::usage("no folder for keys: neither HOME nor XDG_DATA_HOME is set")
                .fix("give --state DIR, or --fresh-keys")
        })?;
        let url = url.trim_end_matches('/');
        let name = blake3::hash(format!("{}:{url}{use_case}", url.len()).as_bytes()).to_hex();
        let file = dir.join("apple").join(format!("{}.client", &name[..32]));
        let mut kept = Kept { file: Some(file.clone()), user: String::new(), client: None };
        match std::fs::metadata(&file) {
            Ok(about) if about.len() <= MOST_BYTES => {
                let bytes =
                    std::fs::read(&file).map_err(|error| Failure::file("cannot read", &file, &error))?;
                kept.take(&Zeroizing::new(bytes));
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::file("cannot read", &file, &error)),
        }
        Ok(kept)
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
        if let (Some(user), Some(client)) = (parts.next(), parts.next())
            && let Ok(user) = std::str::from_utf8(user)
        {
            self.user = user.to_owned();
            self.client = Some(Zeroizing::new(client.to_vec()));
        }
    }

    /// Goes on as this user, or as the one of earlier calls, or as somebody new. Another user has other keys.
    pub(super) fn is_of(&mut self, user: Option<&str>, rng: &mut dyn CryptoRng) {
        match user {
            Some(user) if user == self.user => {}
            Some(user) => (self.user, self.client) = (user.to_owned(), None),
            None if self.user.is_empty() => self.user = random(rng),
            None => {}
        }
    }

    pub(super) fn user(&self) -> &str {
        &self.user
    }

    pub(super) fn client(&self) -> Option<&[u8]> {
        self.client.as_deref().map(Vec::as_slice)
    }

    /// Keeps a client, for later calls. The file appears whole.
    pub(super) fn keep(&mut self, client: &Client) -> Result<()> {
        let secret = client.kept();
        if let Some(file) = self.file.as_ref().filter(|_| self.client() != Some(&secret[..])) {
            let failed = |error: std::io::Error| Failure::file("cannot keep keys in", file, &error);
            let dir = file.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(dir).map_err(failed)?;
            // Made for its owner alone.
            let mut new = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
            let bytes = Zeroizing::new([self.user.as_bytes(), b"\n", &secret[..]].concat());
            new.write_all(&bytes).and_then(|()| new.as_file().sync_all()).map_err(failed)?;
            new.persist(file).map_err(|error| failed(error.error))?;
        }
        self.client = Some(secret);
        Ok(())
    }
}

/// A name like those of phones: a random UUID.
fn random(rng: &mut dyn CryptoRng) -> String {
    let mut bytes = [0; 16];
    rng.fill_bytes(&mut bytes);
    let mut number = u128::from_be_bytes(bytes);
    // Version 4 of variant 1 (RFC 9562, section 5.4).
    number = number & !(0xF << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{number:032X}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part).unwrap_or_default());
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_random_uuids() {
        let mut rng = sotto_prg::system_rng().unwrap();
        let (one, other) = (random(&mut rng), random(&mut rng));
        assert!(one != other && one.len() == 36);
        assert_eq!(
            (one.as_bytes()[14], matches!(one.as_bytes()[19], b'8' | b'9' | b'A' | b'B')),
            (b'4', true)
        );
    }
}
