//! Folders for one user alone: created with private modes, and refused if others can write in them.
//!
//! Anyone who can write in a client's cache decides which keys and epochs it believes; anyone who
//! can write in a server's state decides which tokens count as spent. So such a folder is checked
//! each time it is opened.
//!
//! ```
//! let parent = tempfile::tempdir().unwrap();
//! let cache = parent.path().join("cache");
//! sotto_private_folder::create_private(&cache).unwrap();
//! # #[cfg(unix)]
//! # {
//! use std::os::unix::fs::PermissionsExt;
//! std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
//! let error = sotto_private_folder::create_private(&cache).unwrap_err();
//! assert!(sotto_private_folder::NotPrivate::is(&error));
//! # }
//! ```
#![forbid(unsafe_code)]

use std::fs::DirBuilder;
use std::io;
use std::path::Path;

/// Why a folder is refused: another user owns it, or can write in it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotPrivate(String);

impl NotPrivate {
    /// Whether an error is caused by [`NotPrivate`].
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<NotPrivate>())
    }
}

/// Creates a folder and its parents with mode 0700, if they are missing.
///
/// # Errors
/// As for [`DirBuilder::create`].
pub fn create(path: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "only unix has modes"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Creates a folder as [`create`] does, and refuses an existing one that others can write in.
///
/// # Errors
/// As for [`create`]; an error of the kind [`io::ErrorKind::PermissionDenied`] with a
/// [`NotPrivate`] inside.
pub fn create_private(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    create(path)?;
    match refusal(path)? {
        Some(why) => Err(io::Error::new(io::ErrorKind::PermissionDenied, NotPrivate(why))),
        None => Ok(()),
    }
}

/// The reason why others can write in a folder, if they can.
#[cfg(unix)]
fn refusal(path: &Path) -> io::Result<Option<String>> {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    let (link, folder) = (std::fs::symlink_metadata(path)?, std::fs::metadata(path)?);
    if link.is_symlink() && ![0, user].contains(&link.uid()) {
        return Ok(Some(format!("it is a link that user {} made", link.uid())));
    }
    if folder.uid() != user {
        return Ok(Some(format!("it belongs to user {}, expected user {user}", folder.uid())));
    }
    let is_shared = folder.mode() & 0o022 != 0;
    Ok(is_shared.then(|| format!("others can write in it (mode {:04o})", folder.mode() & 0o7777)))
}

/// Accepts every folder on a system without modes.
#[cfg(not(unix))]
fn refusal(_: &Path) -> io::Result<Option<String>> {
    Ok(None)
}
