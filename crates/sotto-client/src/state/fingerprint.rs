//! Where a state lives: which file, on which machine. A copy is another file, and a restored one too.

use crate::files::{self, FileIdentity};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// A file on a machine. What a system does not tell is 0 or empty, and then equal everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileFingerprint {
    device: u64,
    inode: u64,
    /// Nanoseconds since 1970 when the file was made.
    born: u64,
    /// A hash of what the system calls the machine: the name itself is meant to be kept to it.
    machine: String,
}

impl FileFingerprint {
    /// The file at `path`.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let FileIdentity { device, inode, born } = files::identity(path)?;
        let name = files::machine();
        let machine = name.map_or_else(String::new, |name| {
            let mut hasher = blake3::Hasher::new_derive_key("sotto 2026 client state machine v1");
            hasher.update(name.trim().as_bytes()).finalize().to_hex().chars().take(32).collect()
        });
        Ok(FileFingerprint { device, inode, born, machine })
    }

    /// In what `now` is another home than this one; `None` if it is the same.
    pub(crate) fn differs(&self, now: &FileFingerprint) -> Option<&'static str> {
        let FileFingerprint { device, inode, born, machine } = self;
        match () {
            () if *machine != now.machine => Some("the machine"),
            () if *device != now.device => Some("the device"),
            () if *inode != now.inode => Some("the file's number"),
            () if *born != now.born => Some("the file's birth"),
            () => None,
        }
    }

    #[cfg(test)]
    pub(crate) fn made_up(machine: &str, inode: u64) -> Self {
        FileFingerprint { device: 1, inode, born: inode, machine: machine.to_owned() }
    }
}
