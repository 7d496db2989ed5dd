//! A web page: the files of a folder, read once when the server starts, and found by their whole
//! names.
//!
//! No request reads from the disk, and no name leads out of the folder. The type of a file follows
//! from its suffix; files of other types are not served, since one may be a key. Links, hidden
//! files and folders that are too large are refused.

use crate::StartError;
use bytes::Bytes;
use std::fs::FileType;
use std::path::Path;

/// File that stands for the page itself.
const INDEX: &str = "/index.html";

/// Maximum number of files, depth of folders, and bytes of all files together.
const MAX_FILES: usize = 256;
const MAX_DEPTH: usize = 4;
const MAX_BYTES: u64 = 64 << 20;

/// Media types by suffix.
const KINDS: &[(&str, &str)] = &[
    (".html", "text/html; charset=utf-8"),
    (".css", "text/css; charset=utf-8"),
    (".js", "text/javascript; charset=utf-8"),
    (".wasm", "application/wasm"),
    (".svg", "image/svg+xml"),
    (".png", "image/png"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".webp", "image/webp"),
    (".gif", "image/gif"),
    (".ico", "image/x-icon"),
    (".json", "application/json"),
    (".webmanifest", "application/manifest+json"),
    (".txt", "text/plain; charset=utf-8"),
    (".woff2", "font/woff2"),
    (".map", "application/json"),
    (".mjs", "text/javascript; charset=utf-8"),
];

/// A file of a web page.
#[derive(Debug, Clone)]
pub(crate) struct SiteFile {
    /// Path of the file: `/`, and its name in the folder.
    pub(crate) path: String,
    /// Media type of the file.
    pub(crate) kind: &'static str,
    pub(crate) bytes: Bytes,
    pub(crate) etag: String,
}

/// All files of a web page; empty without one.
#[derive(Debug, Default)]
pub(crate) struct StaticSite(Vec<SiteFile>);

impl StaticSite {
    /// Reads the files of a folder.
    ///
    /// # Errors
    /// [`StartError::Page`], with the file and the reason.
    pub(crate) fn open(folder: Option<&Path>) -> Result<Self, StartError> {
        let Some(folder) = folder else { return Ok(StaticSite::default()) };
        let mut page = StaticSite::default();
        let mut left = MAX_BYTES;
        page.read(folder, "", MAX_DEPTH, &mut left)?;
        let index = page.0.iter().find(|leaf| leaf.path == INDEX).cloned();
        let index = index.ok_or_else(|| wrong(folder, "no index.html in the folder"))?;
        page.0.push(SiteFile { path: "/".into(), ..index });
        Ok(page)
    }

    pub(crate) fn leaves(&self) -> impl Iterator<Item = &SiteFile> {
        self.0.iter()
    }

    /// Reads the files of a folder, whose paths begin with `under`.
    fn read(&mut self, folder: &Path, under: &str, depth: usize, left: &mut u64) -> Result<(), StartError> {
        let failed = |error: std::io::Error| wrong(folder, error);
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (file, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            let name = entry.file_name().into_string().ok().filter(|name| is_plain(name));
            let name = name.ok_or_else(|| {
                wrong(
                    &file,
                    "a file name has other characters than letters, digits, '-', '_' \
                     and '.'",
                )
            })?;
            let path = format!("{under}/{name}");
            match kind {
                kind if kind.is_dir() && depth > 0 && path != "/v1" => {
                    self.read(&file, &path, depth - 1, left)?;
                }
                kind if FileType::is_file(&kind) => self.add(&file, path, left)?,
                _ => {
                    return Err(wrong(
                        &file,
                        "expected a file, or a folder that is not deeper than allowed and not \
                         named v1",
                    ));
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, file: &Path, path: String, left: &mut u64) -> Result<(), StartError> {
        let Some((_, kind)) = KINDS.iter().find(|(end, _)| path.ends_with(end)) else {
            tracing::warn!(file = %file.display(), "a file is not served: unknown file type");
            return Ok(());
        };
        if self.0.len() >= MAX_FILES {
            return Err(wrong(file, format!("expected at most {MAX_FILES} files")));
        }
        let length = std::fs::metadata(file).map_err(|error| wrong(file, error))?.len();
        *left = left
            .checked_sub(length)
            .ok_or_else(|| wrong(file, format!("expected at most {} MiB of files", MAX_BYTES >> 20)))?;
        let bytes = std::fs::read(file).map_err(|error| wrong(file, error))?;
        let etag = format!("\"{}\"", blake3::hash(&bytes));
        self.0.push(SiteFile { path, kind, bytes: bytes.into(), etag });
        Ok(())
    }
}

/// Whether a name needs no escaping in an address, and is not hidden.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.starts_with('.') && name.chars().all(plain)
}

fn wrong(file: &Path, why: impl ToString) -> StartError {
    StartError::Page { file: file.to_owned(), why: why.to_string() }
}
