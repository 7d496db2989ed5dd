//! What lies at a path: the folder of a table, of a stack or of a table of another protocol, or one file. Every command that
//! takes a path looks here, so that all of them take the same folders, and each says what it cannot take.

use crate::image::ForeignImage;
use crate::{DbError, Result, StackDir, TableDir};
use std::path::{Path, PathBuf};

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing.
    Missing,
    /// The folder of a table: of epochs that are whole or in parts, or with no epoch yet.
    Table(TableDir),
    /// The folder of a stack.
    Stack(StackDir),
    /// The folder of a table of another protocol, and its newest file.
    Foreign(TableDir, PathBuf),
    /// A file of a table of another protocol.
    ForeignFile,
    /// Another file: an image, a piece of one, or something else.
    File,
}

impl PathKind {
    /// Looks what a path leads to. A damaged table is a table: opening it says what is wrong.
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

    /// Refuses the folder of a stack and of a table of another protocol, where a table's alone can be taken.
    ///
    /// # Errors
    /// [`DbError::NotATable`]; those of [`PathKind::of`].
    pub fn require_table(path: &Path) -> Result<()> {
        match PathKind::of(path)?.other_title() {
            Some(found) => Err(DbError::NotATable { path: path.to_owned(), found }),
            None => Ok(()),
        }
    }

    /// What it is, if that is a stack or a table of another protocol.
    pub fn other_title(&self) -> Option<&'static str> {
        match self {
            PathKind::Stack(_) => Some("a stack of tables"),
            PathKind::Foreign(..) | PathKind::ForeignFile => Some("a table of Apple's private lookups"),
            PathKind::Missing | PathKind::Table(_) | PathKind::File => None,
        }
    }
}
