//! Fingerprint of a state's file: which file, on which machine. A copy is another file, and so is a
//! restored one.

use crate::files::{self, FileIdentity};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// A file on a machine. A value that the system does not know is 0 or empty, and then equal
/// everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileFingerprint {
    device: u64,
    inode: u64,
    /// Time when the file was made, in nanoseconds since 1970.
    born: u64,
    /// Hash of the machine's id, which is meant to stay on the machine itself.
    machine: String,
}

impl FileFingerprint {
    /// The fingerprint of the file at `path`.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let FileIdentity { device, inode, born } = files::identity(path)?;
        let name = files::machine();
        let machine = name.map_or_else(String::new, |name| {
            let mut hasher = blake3::Hasher::new_derive_key("sotto 2026 client state machine v1");
            hasher.update(name.trim().as_bytes()).finalize().to_hex().chars().take(32).collect()
        });
        Ok(FileFingerprint { device, inode, born, machine })
    }

    /// The property in which `now` differs from this fingerprint; `None` if they are equal.
    pub(crate) fn differs(&self, now: &FileFingerprint) -> Option<&'static str> {
        let FileFingerprint { device, inode, born, machine } = self;
        match () {
            () if *machine != now.machine => Some("the machine"),
            () if *device != now.device => Some("the device"),
            () if *inode != now.inode => Some("the inode"),
            () if *born != now.born => Some("the file's creation time"),
            () => None,
        }
    }

    #[cfg(test)]
    pub(crate) fn made_up(machine: &str, inode: u64) -> Self {
        FileFingerprint { device: 1, inode, born: inode, machine: machine.to_owned() }
    }
}
