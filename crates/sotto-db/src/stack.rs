//! A stack's folder: its tables, its public files, and the signed stack that names them. Every command
//! that takes a path classifies it as a [`PathKind`], so that all of them accept the same folders and
//! name what they cannot use.
//!
//! ```text
//! DIR/stack.json             the signed stack: replaced atomically once everything it names exists
//! DIR/files/<64 hex digits>  public files named by digest, never changed once they exist
//! DIR/tables/<name>/         a folder for each table
//! DIR/stack-00000001.rows    rows of a table that is queried by key, for the next update: see [`crate::sidecars`]
//! DIR/source.json            columns of the source: see [`crate::sidecars`]
//! DIR/signing.key            signs the stack and its tables' catalogs
//! DIR/succession.json        statements about earlier signing keys, if there were any: see [`crate::key_rotation`]
//! DIR/write.lock             locked by the one process that writes
//! ```

use crate::files::{bounded, whole};
use crate::image::ForeignImage;
use crate::progress::Watcher;
use crate::sidecars::keep_rows;
use crate::table::TableSource;
use crate::{DbError, ImageFile, Result, TableDir, keys};
use sotto_catalog::stack::{MAX_FILE_BYTES, StackFile};
use sotto_catalog::{CatalogError, SignedStack, SigningKey, Stack, TableName};
use sotto_core::Epoch;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the signed stack's file, which tells a stack's folder from a table's.
pub const STACK: &str = "stack.json";
const FILES: &str = "files";
const TABLES: &str = "tables";
const ROWS_PREFIX: &str = "stack-";
const ROWS_SUFFIX: &str = ".rows";

/// The folder of a stack. Reading needs no lock: files are named by digest, and the stack is
/// replaced atomically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackDir {
    path: PathBuf,
}

impl StackDir {
    /// Opens a folder, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn create(path: &Path) -> Result<Self> {
        for dir in [FILES, TABLES] {
            let dir = path.join(dir);
            fs::create_dir_all(&dir).map_err(|e| DbError::io("making the stack's folder", &dir, e))?;
        }
        Ok(StackDir { path: path.to_owned() })
    }

    /// Opens an existing folder; `None` if no stack was ever published in it.
    pub fn find(path: &Path) -> Option<Self> {
        path.join(STACK).is_file().then(|| StackDir { path: path.to_owned() })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The stack's folder as a table folder, to lock it while something in it is written.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn root(&self) -> Result<TableDir> {
        TableDir::open(&self.path)
    }

    /// Path of the folder of a table of the stack.
    pub fn table(&self, name: &TableName) -> PathBuf {
        self.path.join(TABLES).join(name.as_str())
    }

    /// The stack that was published last. Its signature is verified under the key that it names.
    ///
    /// # Errors
    /// [`DbError::Io`]; [`DbError::Catalog`] if the file is not a stack.
    pub fn read(&self) -> Result<(SignedStack, Stack)> {
        let bytes = bounded(&self.path.join(STACK), SignedStack::MAX_BYTES as u64)?;
        let signed = SignedStack::parse(&bytes)?;
        let stack = signed.verify(None)?;
        Ok((signed, stack))
    }

    /// Reads a public file of the stack, and checks its digest.
    ///
    /// # Errors
    /// [`DbError::Io`]; [`DbError::Catalog`] if the file differs from what the stack names.
    pub fn file(&self, file: &StackFile) -> Result<Vec<u8>> {
        let bytes = bounded(&self.file_path(file), file.bytes.min(MAX_FILE_BYTES))?;
        if !file.is(&bytes) {
            return Err(CatalogError::Disagree("the digest of a public file").into());
        }
        Ok(bytes)
    }

    /// Writes public files, and then the stack that names them. A concurrent reader sees the old
    /// stack or the new one.
    ///
    /// # Errors
    /// [`DbError::Io`], [`DbError::Catalog`]. The stack is then unchanged.
    pub fn publish(&self, stack: &Stack, files: &[Vec<u8>], key: &SigningKey) -> Result<SignedStack> {
        let signed = keys::sign(&self.root()?, stack, key)?;
        for file in &stack.files {
            let there = files.iter().find(|bytes| file.is(bytes));
            let bytes = there.ok_or(CatalogError::Disagree("the public files"))?;
            whole(&self.file_path(file), bytes, "writing")?;
        }
        whole(&self.path.join(STACK), &signed.to_bytes(), "writing")?;
        Ok(signed)
    }

    /// Publishes a stack whose table is queried by key, and stores the rows of that table for the
    /// next update. Returns the bytes of the stored rows.
    ///
    /// # Errors
    /// The errors of [`Self::publish`].
    pub fn publish_keeping(
        &self,
        stack: &Stack,
        rows: &dyn TableSource,
        key: &SigningKey,
        watch: Watcher<'_>,
    ) -> Result<u64> {
        let draft = keep_rows(self.rows_path(stack.epoch), stack.digest()?, rows, watch)?;
        let bytes = draft.bytes();
        draft.before(|| self.publish(stack, &[], key))?;
        let older =
            fs::read_dir(&self.path).map_err(|e| DbError::io("removing older rows", &self.path, e))?;
        let newest = self.rows_path(stack.epoch);
        for path in older.flatten().map(|entry| entry.path()).filter(|path| *path != newest) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with(ROWS_PREFIX) && name.ends_with(ROWS_SUFFIX) {
                fs::remove_file(&path).map_err(|e| DbError::io("removing older rows", &path, e))?;
            }
        }
        Ok(bytes)
    }

    /// Path of the stored rows of an epoch, whether they exist or not.
    pub fn rows_path(&self, epoch: Epoch) -> PathBuf {
        self.path.join(format!("{ROWS_PREFIX}{:08}{ROWS_SUFFIX}", epoch.0))
    }

    fn file_path(&self, file: &StackFile) -> PathBuf {
        self.path.join(FILES).join(file.digest.to_string())
    }
}

impl TableDir {
    /// The stack that this table belongs to, if any.
    pub fn stack(&self) -> Option<StackDir> {
        self.path().canonicalize().ok()?.ancestors().nth(2).and_then(StackDir::find)
    }
}

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

/// Scheme of the newest epoch in a folder, or of the tables of a stack; `None` if the folder has no
/// epoch that can be opened.
///
/// # Errors
/// Those of [`StackDir::read`].
pub fn latest_scheme(path: &Path) -> Result<Option<String>> {
    let image = match StackDir::find(path) {
        Some(stack) => stack.read()?.1.shards.first().and_then(|first| {
            TableDir::open(&stack.table(&first.table)).and_then(|dir| dir.open_epoch(first.epoch)).ok()
        }),
        None => TableDir::open(path).and_then(|dir| dir.open_latest()).ok(),
    };
    Ok(image.map(|image| image.catalog().scheme.clone()))
}

impl TableDir {
    /// Opens the newest image.
    ///
    /// # Errors
    /// [`DbError::Empty`], [`DbError::NotATable`], and the errors of [`ImageFile::open`].
    pub fn open_latest(&self) -> Result<Arc<ImageFile>> {
        let opened = match self.latest()? {
            Some(epoch) => self.open_epoch(epoch),
            None => Err(DbError::Empty(self.path().to_owned())),
        };
        opened.or_else(|error| PathKind::require_table(self.path()).and(Err(error)))
    }
}
