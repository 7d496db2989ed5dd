//! Files that outlive a restart: embedded databases in the state directory, each of one format, for
//! this user alone.

use crate::StartError;
use redb::backends::FileBackend;
use redb::{Database, Key, ReadTransaction, ReadableTable, TableDefinition, Value, WriteTransaction};
use sotto_private_folder::create_private;
use std::fs::{File, OpenOptions};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Table of a database with its format and other single values.
pub const ABOUT: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");

/// Bytes of a copy that are written in one transaction; bytes that an entry counts besides its
/// value; and memory for cached pages meanwhile.
const AT_ONCE: usize = 16 << 20;
const ENTRY_BYTES: usize = 64;
const COPY_CACHE_BYTES: usize = 32 << 20;

const CHECK: &str = "check the directory and its permissions, or give another with --state";
const OTHER: &str = "stop that server, or give this one its own directory with --state";

/// An operation on a database failed.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// Error of the database.
    #[error("{0}")]
    Database(redb::Error),
    /// The database panicked, as it may over a damaged file.
    #[error("the file is damaged")]
    Panicked,
}

/// The file of a database, and what to do if it cannot be used.
#[derive(Debug, Clone)]
pub struct DatabaseFile {
    path: PathBuf,
    remedy: &'static str,
}

impl DatabaseFile {
    /// The file of this name in a directory.
    pub fn new(dir: &Path, file: &str, remedy: &'static str) -> Self {
        DatabaseFile { path: dir.join(file), remedy }
    }

    /// Opens the database, and makes it if it does not exist, with `cache_bytes` bytes of memory
    /// for pages.
    ///
    /// # Errors
    /// [`StartError::State`], which says what to do.
    pub fn open(&self, cache_bytes: usize) -> Result<Database, StartError> {
        let file = private_file(&self.path).map_err(|error| self.failed(error.to_string(), CHECK))?;
        let database = guarded(|| {
            let file = FileBackend::new(file)?;
            Ok(Database::builder().set_cache_size(cache_bytes).create_with_backend(file)?)
        });
        database.map_err(|error| match error {
            DatabaseError::Database(redb::Error::DatabaseAlreadyOpen) => {
                self.failed("another server uses it".into(), OTHER)
            }
            error => self.damaged(&error),
        })
    }

    /// The error for a file that cannot be read, for this reason.
    pub fn damaged(&self, error: &impl ToString) -> StartError {
        self.failed(error.to_string(), self.remedy)
    }

    /// The error for a file of another format.
    pub fn foreign(&self) -> StartError {
        self.failed("the file belongs to another program".into(), self.remedy)
    }

    fn failed(&self, why: String, fix: &'static str) -> StartError {
        StartError::State { path: self.path.clone(), why, fix }
    }
}

/// Whether a database has the expected format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseFormat {
    /// The database was empty, and has the format from now on.
    New,
    /// The database has the format.
    Known,
    /// The database has another format, or none, and must not be changed.
    Foreign,
}

/// Checks the format of a database, and sets it in an empty one.
pub fn claim(write: &WriteTransaction, format: &[u8]) -> Result<DatabaseFormat, redb::Error> {
    let is_new = write.list_tables()?.next().is_none();
    let mut about = write.open_table(ABOUT)?;
    if is_new {
        about.insert("format", format)?;
        return Ok(DatabaseFormat::New);
    }
    let is_ours = about.get("format")?.is_some_and(|found| found.value() == format);
    Ok(if is_ours { DatabaseFormat::Known } else { DatabaseFormat::Foreign })
}

/// Opens a file for this user alone, and makes it if it does not exist: keys are not secret, but it
/// is private who has registered.
pub fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    create_private(path.parent().unwrap_or(Path::new(".")))?;
    options.read(true).write(true).create(true).truncate(false).open(path)
}

/// Makes the state folder, or refuses an existing one that is not private.
pub(crate) fn state_folder(path: &Path) -> Result<(), StartError> {
    let fix = "make the folder the server's and remove write access for others (chown, chmod go-w), or name a new \
         folder inside it, which is created for the server alone";
    let refused = |error: io::Error| StartError::State { path: path.to_owned(), why: error.to_string(), fix };
    create_private(path).map_err(refused)
}

/// A database that can be copied while it is in use.
pub trait CopyTo {
    /// Name of the file in the state folder.
    fn file(&self) -> &'static str;

    /// Writes the current contents into a new file. Blocks on the disk.
    ///
    /// # Errors
    /// [`DatabaseError`].
    fn copy(&self, to: &Path) -> Result<(), DatabaseError>;
}

/// Makes a database for a copy.
pub fn fresh(to: &Path) -> Result<Database, redb::Error> {
    let file = FileBackend::new(private_file(to)?)?;
    Ok(Database::builder().set_cache_size(COPY_CACHE_BYTES).create_with_backend(file)?)
}

/// Copies a table as a reader sees it, in several transactions, since keys may be gigabytes.
pub fn copy_table<K: Key + 'static, V: Value + 'static>(
    read: &ReadTransaction,
    to: &Database,
    table: TableDefinition<'_, K, V>,
) -> Result<(), redb::Error> {
    let from = read.open_table(table)?;
    let mut all = from.iter()?;
    loop {
        let write = to.begin_write()?;
        let mut bytes = 0;
        {
            let mut copy = write.open_table(table)?;
            for pair in all.by_ref() {
                let (key, value) = pair?;
                bytes += ENTRY_BYTES + V::as_bytes(&value.value()).as_ref().len();
                copy.insert(key.value(), value.value())?;
                if bytes >= AT_ONCE {
                    break;
                }
            }
        }
        write.commit()?;
        if bytes < AT_ONCE {
            return Ok(());
        }
    }
}

/// Runs an operation of the database, which may panic over damaged pages. Such a panic costs the
/// operation, not the server.
pub fn guarded<T>(operation: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, DatabaseError> {
    match catch_unwind(AssertUnwindSafe(operation)) {
        Ok(outcome) => outcome.map_err(DatabaseError::Database),
        Err(_) => Err(DatabaseError::Panicked),
    }
}
