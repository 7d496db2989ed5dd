//! The files that a client keeps: the system's, or in a browser those that the page's program
//! provides.
//!
//! | module | contents |
//! |---|---|
//! | `native` | files of the operating system |
//! | `host` | files that the caller provides, for `wasm32-unknown-unknown`, which has none |
//!
//! Both modules have the same functions, and no other module of the client uses `std::fs`.

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
mod host;
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
mod native;

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub(crate) use host::*;
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub use host::{HostFiles, set_host_files};
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub(crate) use native::*;

use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Device, inode and creation time, which tell a file from a copy of it. A value that the system
/// does not know is 0.
pub(crate) struct FileIdentity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Time when the file was made, in nanoseconds since 1970.
    pub(crate) born: u64,
}

/// Reads a file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(mut file) = found(open(path))? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Removes a file, if it exists.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    found(remove_one(path)).map(drop)
}

/// A file that is written in place.
pub(crate) trait StorageBackend: Send + Sync {
    /// Size in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Reads as many bytes as are wanted, from an offset on.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
    /// Truncates the file, or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Returns once all written bytes are on disk.
    fn sync_data(&self) -> io::Result<()>;
    /// Writes bytes at an offset.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;
}

/// Turns [`ErrorKind::NotFound`] into `None`.
pub(crate) fn found<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}
