//! A stack's folder: its tables, its public files, and the signed stack that names them.
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
use crate::progress::Watcher;
use crate::sidecars::keep_rows;
use crate::table::TableSource;
use crate::{DbError, Result, TableDir, succession};
use sotto_catalog::stack::{MAX_FILE_BYTES, StackFile};
use sotto_catalog::{CatalogError, SignedStack, SigningKey, Stack, TableName};
use sotto_core::Epoch;
use std::fs;
use std::path::{Path, PathBuf};

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
            return Err(CatalogError::Disagree { what: "the digest of a public file" }.into());
        }
        Ok(bytes)
    }

    /// Writes public files, and then the stack that names them. A concurrent reader sees the old
    /// stack or the new one.
    ///
    /// # Errors
    /// [`DbError::Io`], [`DbError::Catalog`]. The stack is then unchanged.
    pub fn publish(&self, stack: &Stack, files: &[Vec<u8>], key: &SigningKey) -> Result<SignedStack> {
        let signed = succession::sign(&self.root()?, stack, key)?;
        for file in &stack.files {
            let there = files.iter().find(|bytes| file.is(bytes));
            let bytes = there.ok_or(CatalogError::Disagree { what: "the public files" })?;
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
