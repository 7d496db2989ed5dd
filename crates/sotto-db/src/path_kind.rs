//! Kinds of paths: the folder of a table, of a stack or of a table of another protocol, or one
//! file. Every command that takes a path classifies it here, so that all of them accept the same
//! folders and name what they cannot use.

use crate::image::ForeignImage;
use crate::{DbError, ImageFile, Result, StackDir, TableDir};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Kind of what is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing is at the path.
    Missing,
    /// The folder of a table: its epochs are whole or in parts, or there is none yet.
    Table(TableDir),
    /// The folder of a stack.
    Stack(StackDir),
    /// The folder of a table of another protocol, and its newest file.
    Foreign(TableDir, PathBuf),
    /// A file of a table of another protocol.
    ForeignFile,
    /// Any other file: an image, a piece of one, or something else.
    File,
}

impl PathKind {
    /// Classifies a path. The folder of a damaged table is a table: opening it reports the problem.
    ///
    /// # Errors
    /// [`DbError::Io`] for a folder that cannot be read.
    pub fn of(path: &Path) -> Result<Self> {
        if path.is_file() {
            let is_foreign = ForeignImage::open(path).is_ok();
            return Ok(if is_foreign { PathKind::ForeignFile } else { PathKind::File });
        }
        if !path.exists() {
            return Ok(PathKind::Missing);
        }
        if let Some(stack) = StackDir::find(path) {
            return Ok(PathKind::Stack(stack));
        }
        let dir = TableDir::open(path)?;
        let newest = dir.latest()?.map(|epoch| dir.image_path(epoch));
        Ok(match newest.filter(|newest| ForeignImage::open(newest).is_ok()) {
            Some(newest) => PathKind::Foreign(dir, newest),
            None => PathKind::Table(dir),
        })
    }

    /// Refuses the folder of a stack or of a table of another protocol, where only a table can be
    /// used.
    ///
    /// # Errors
    /// [`DbError::NotATable`]; the errors of [`PathKind::of`].
    pub fn require_table(path: &Path) -> Result<()> {
        match PathKind::of(path)?.other_title() {
            Some(found) => Err(DbError::NotATable { path: path.to_owned(), found }),
            None => Ok(()),
        }
    }

    /// Description of a stack or of a table of another protocol; `None` for any other path.
    pub fn other_title(&self) -> Option<&'static str> {
        match self {
            PathKind::Stack(_) => Some("a stack of tables"),
            PathKind::Foreign(..) | PathKind::ForeignFile => Some("a table of Apple's protocol"),
            PathKind::Missing | PathKind::Table(_) | PathKind::File => None,
        }
    }
}

impl TableDir {
    /// Opens the newest image.
    ///
    /// # Errors
    /// [`DbError::Empty`], [`DbError::NotATable`], and the errors of [`ImageFile::open`].
    pub fn open_latest(&self) -> Result<Arc<ImageFile>> {
        let opened = match self.latest()? {
            Some(epoch) => self.open_epoch(epoch),
            None => Err(DbError::Empty { dir: self.path().to_owned() }),
        };
        opened.or_else(|error| PathKind::require_table(self.path()).and(Err(error)))
    }
}
