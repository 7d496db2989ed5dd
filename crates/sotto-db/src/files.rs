//! Whole files, written atomically and read up to a limit, and temporary ones.

use crate::{DbError, Result};
use sotto_catalog::CatalogError;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// Prefix of the temporary files of unfinished images.
pub(crate) const TEMP_PREFIX: &str = ".encoding-";

/// Reads a file, and refuses one that is longer than `limit`.
pub(crate) fn bounded(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let failed = |e| DbError::io("reading the stack's folder", path, e);
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        let what = "a file of the stack";
        return Err(CatalogError::TooLarge { what, bytes: bytes.len() as u64, limit }.into());
    }
    Ok(bytes)
}

/// Writes a file atomically, readable by everyone.
pub(crate) fn whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |e| DbError::io("writing", path, e);
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut temp = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .permissions(fs::Permissions::from_mode(0o644))
        .tempfile_in(dir)
        .map_err(failed)?;
    temp.write_all(bytes).map_err(failed)?;
    temp.as_file().sync_all().map_err(failed)?;
    temp.persist(path).map_err(|e| failed(e.error))?;
    fs::File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)
}

/// Creates a temporary file, which the next encoder removes if this one is killed.
pub(crate) fn temp_file(scratch: &Path) -> Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .suffix(".rows")
        .tempfile_in(scratch)
        .map_err(|e| DbError::io("creating a temporary file", scratch, e))
}
