//! The files beside an image: read up to a limit, and written to a temporary file that gets its
//! name when it is on the disk.

use crate::{DbError, Result};
use sotto_catalog::CatalogError;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// Prefix of the names of temporary files, which the next writer removes if this one is killed.
pub(crate) const TEMP_PREFIX: &str = ".encoding-";

/// Mode of a file that everyone may read.
pub(crate) const PUBLIC: u32 = 0o644;
/// Mode of a file that only its owner may read.
pub(crate) const SECRET: u32 = 0o600;

/// Reads a file up to one byte past `limit`, by which the caller tells a longer one.
pub(crate) fn read_past(path: &Path, limit: u64, what: &'static str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|e| DbError::io(what, path, e))
}

/// Reads a file, and refuses one that is longer than `limit`.
pub(crate) fn bounded(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let read = read_past(path, limit, "reading the stack's folder")?;
    let (what, bytes) = ("a file of the stack", read.len() as u64);
    if bytes > limit { Err(CatalogError::TooLarge { what, bytes, limit }.into()) } else { Ok(read) }
}

/// What was read of a file; `None` if the file does not exist.
pub(crate) fn if_there<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.is_not_found() => Ok(None),
        read => read.map(Some),
    }
}

/// Writes a file atomically, readable by everyone, in place of an existing one.
pub(crate) fn whole(path: &Path, bytes: &[u8], what: &'static str) -> Result<()> {
    let written = temp_in(parent(path), "", PUBLIC).and_then(|mut temp| {
        temp.write_all(bytes)?;
        temp.as_file().sync_all()?;
        temp.persist(path)?;
        sync_dir(path)
    });
    written.map_err(|e| DbError::io(what, path, e))
}

/// Creates a temporary file of rows.
pub(crate) fn temp_file(scratch: &Path) -> Result<NamedTempFile> {
    temp_in(scratch, ".rows", SECRET).map_err(|e| DbError::io("creating a temporary file", scratch, e))
}

/// Creates a temporary file in a folder, with this ending and mode.
pub(crate) fn temp_in(dir: &Path, suffix: &str, mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMP_PREFIX).suffix(suffix).permissions(Permissions::from_mode(mode)).tempfile_in(dir)
}

/// The folder of a file.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes the folder of a file to the disk, and with it the file's name.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

/// Bytes of a file.
pub(crate) fn bytes_at(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path).map_err(|e| DbError::io("reading", path, e))?.len())
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(|e| DbError::io("removing", path, e))
}
