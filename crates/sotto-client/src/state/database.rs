//! The database of a state: its metadata and counters, the journal since the snapshot, and logged
//! requests.
//!
//! Everything changes in one kind of transaction, so that values that belong together cannot
//! diverge.

use super::checksum::{add_checksum, check_checksum};
use super::metadata::{JournalMarks, StateDbError, StateTransaction};
use redb::{
    Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageBackend, TableDefinition,
};
use std::cell::Cell;
use std::io;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use zeroize::Zeroizing;

/// Memory for cached pages in bytes.
const CACHE_BYTES: usize = 4 << 20;

const METADATA: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");
const JOURNAL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("journal");
const REQUESTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("asks");

impl From<redb::Error> for StateDbError {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                StateDbError::Damaged(error.to_string())
            }
            redb::Error::Io(error) => StateDbError::Disk(error),
            redb::Error::PreviousIo => StateDbError::Disk(io::Error::other("an earlier write failed")),
            error => StateDbError::Damaged(error.to_string()),
        }
    }
}

/// A boxed file, since the database takes ownership of a type.
#[derive(Debug)]
struct BoxedFile(Box<dyn StorageBackend>);

impl StorageBackend for BoxedFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}

/// The open database of a state.
pub(crate) struct StateDb {
    /// `Some` until the value is dropped, which may panic over damaged pages, as any operation may.
    database: Option<Database>,
}

impl Drop for StateDb {
    fn drop(&mut self) {
        let database = self.database.take();
        // Committed data is on disk, so nothing is lost if the database cannot be closed.
        let _ = guarded(|| {
            drop(database);
            Ok(())
        });
    }
}

impl StateDb {
    /// Opens the database in a file, and makes it if the file is empty.
    pub(crate) fn open(file: Box<dyn StorageBackend>) -> Result<Self, StateDbError> {
        guarded(|| {
            let builder =
                || Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(BoxedFile(file));
            Ok(StateDb { database: Some(builder()?) })
        })
    }

    fn database(&self) -> Result<&Database, redb::Error> {
        self.database.as_ref().ok_or(redb::Error::DatabaseAlreadyOpen)
    }

    /// The state's metadata as JSON, and its counters; `None` for a new database.
    pub(crate) fn head(&self) -> Result<Option<(Vec<u8>, JournalMarks)>, StateDbError> {
        let found = guarded(|| {
            let read = self.database()?.begin_read()?;
            if read.list_tables()?.next().is_none() {
                return Ok(None);
            }
            let metadata = read.open_table(METADATA)?;
            let value = |name| Ok::<_, redb::Error>(metadata.get(name)?.map(|value| value.value().to_vec()));
            Ok(Some((value("about")?, value("marks")?)))
        })?;
        let Some((metadata, marks)) = found else { return Ok(None) };
        let metadata = metadata.as_deref().and_then(|metadata| check_checksum("about", 0, metadata));
        let marks = marks
            .as_deref()
            .and_then(|marks| check_checksum("marks", 0, marks))
            .and_then(JournalMarks::decode);
        match metadata.zip(marks) {
            Some((metadata, marks)) => Ok(Some((metadata.to_vec(), marks))),
            None => Err(StateDbError::Damaged("the file is damaged, or of another program".to_owned())),
        }
    }

    /// Passes every entry of the journal to `take`, in order. Returns what is damaged, if anything
    /// is.
    pub(crate) fn journal(
        &self,
        marks: &JournalMarks,
        take: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<Option<String>, StateDbError> {
        guarded(|| {
            let read = self.database()?.begin_read()?;
            let journal = read.open_table(JOURNAL)?;
            let mut next = marks.entries.0;
            for pair in journal.iter()? {
                let (key, sealed) = pair?;
                let sealed = Zeroizing::new(sealed.value().to_vec());
                let entry = check_checksum("entry", key.value(), &sealed).filter(|_| key.value() == next);
                let Some(entry) = entry else { return Ok(Some(format!("entry {next} of the journal"))) };
                if let Err(why) = take(entry) {
                    return Ok(Some(format!("entry {next} of the journal: {why}")));
                }
                next += 1;
            }
            let is_whole = next == marks.entries.1;
            Ok((!is_whole).then(|| format!("entry {next} of the journal is missing")))
        })
    }

    /// Logged requests, the oldest first; `None` if they are damaged.
    pub(crate) fn requests(&self, marks: &JournalMarks) -> Result<Option<Vec<(u64, Vec<u8>)>>, StateDbError> {
        guarded(|| {
            let read = self.database()?.begin_read()?;
            let requests = read.open_table(REQUESTS)?;
            if requests.len()? != marks.requests.1 {
                return Ok(None);
            }
            let mut found = Vec::new();
            for pair in requests.iter()? {
                let (key, sealed) = pair?;
                let Some(request) = check_checksum("ask", key.value(), sealed.value()) else {
                    return Ok(None);
                };
                found.push((key.value(), request.to_vec()));
            }
            Ok(Some(found))
        })
    }

    /// Makes a transaction durable, as a whole or not at all.
    pub(crate) fn apply(&self, change: &StateTransaction<'_>) -> Result<(), StateDbError> {
        let json = change.metadata.map(serde_json::to_vec).transpose();
        let json = json.map_err(|error| StateDbError::Damaged(error.to_string()))?;
        guarded(|| {
            let write = self.database()?.begin_write()?;
            {
                let (mut journal, mut requests) = (write.open_table(JOURNAL)?, write.open_table(REQUESTS)?);
                if change.forget_journal {
                    journal.retain(|_, _| false)?;
                }
                if change.forget_requests {
                    requests.retain(|_, _| false)?;
                }
                if let Some((key, entry)) = change.append {
                    let sealed = Zeroizing::new(add_checksum("entry", key, entry));
                    journal.insert(key, sealed.as_slice())?;
                }
                if let Some((key, request)) = change.logged {
                    requests.insert(key, add_checksum("ask", key, request).as_slice())?;
                }
                if let Some(key) = change.settle {
                    requests.remove(key)?;
                }
                let mut metadata = write.open_table(METADATA)?;
                metadata.insert("marks", add_checksum("marks", 0, &change.marks.encode()).as_slice())?;
                if let Some(json) = &json {
                    metadata.insert("about", add_checksum("about", 0, json).as_slice())?;
                }
            }
            Ok(write.commit()?)
        })
    }
}

/// Runs an operation of the database, which may panic over damaged pages. Such a panic costs the
/// state, not the process, and is reported as an error only.
fn guarded<T>(operation: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, StateDbError> {
    match silence_panics(|| catch_unwind(AssertUnwindSafe(operation))) {
        Ok(outcome) => outcome.map_err(StateDbError::from),
        Err(_) => Err(StateDbError::Damaged("database pages are damaged".to_owned())),
    }
}

thread_local! {
    /// Number of callers on this thread that suppress the hook's output.
    static QUIET: Cell<u32> = const { Cell::new(0) };
}

/// Runs `operation`, and suppresses the hook's output for a panic on this thread. Other threads are
/// not affected.
fn silence_panics<T>(operation: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if QUIET.get() == 0 {
                usual(info);
            }
        }));
    });
    QUIET.set(QUIET.get() + 1);
    let _loud_again = PanicHookGuard;
    operation()
}

/// Ends the suppression, also while unwinding.
struct PanicHookGuard;

impl Drop for PanicHookGuard {
    fn drop(&mut self) {
        QUIET.set(QUIET.get() - 1);
    }
}
