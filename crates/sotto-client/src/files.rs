//! The files that a client keeps: the system's, or in a browser those that the page's program gives.
//!
//! | module | what lives there |
//! |---|---|
//! | `native` | the system's files |
//! | `given` | files of whoever calls, for `wasm32-unknown-unknown`, which has none |
//!
//! Both have the same few functions, and nothing else of the client names `std::fs`.

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

/// A file that is written in place.
#[cfg(feature = "state")]
pub(crate) use redb::StorageBackend;

use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// What tells a file from a copy of it. What a system does not tell is 0.
pub(crate) struct FileIdentity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Nanoseconds since 1970 when the file was made.
    pub(crate) born: u64,
}

/// A file's bytes; `None` if there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(mut file) = found(open(path))? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    found(remove_one(path)).map(drop)
}

/// What a database asks of a file, where there is none.
#[cfg(not(feature = "state"))]
pub(crate) trait StorageBackend: Send + Sync {
    fn len(&self) -> io::Result<u64>;
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
    fn set_len(&self, len: u64) -> io::Result<()>;
    fn sync_data(&self) -> io::Result<()>;
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;
}

/// No file is written in place without a database.
#[cfg(not(feature = "state"))]
pub(crate) fn backend(_: File) -> io::Result<Box<dyn StorageBackend>> {
    Err(ErrorKind::Unsupported.into())
}

/// `None` for what is not there.
pub(crate) fn found<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}
