//! The ledger of tokens, in a file: issuer keys, spent tokens, and the number of tokens issued to
//! each user.
//!
//! A request that spends a token waits until that is on disk. One thread writes for all that wait:
//! entries that arrive meanwhile go into the same transaction, so a disk with a latency of five
//! milliseconds still accepts thousands of tokens a second.
//!
//! A copy of the ledger says that it is one. Tokens may have been spent after it was made, and nothing
//! tells which; so whoever opens a copy deletes its keys first, and no token of then is valid.

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, Value, WriteTransaction};
use sotto_pass::ledger::{KeySerial, Ledger, LedgerError, StoredKey};
use sotto_server::StartError;
use sotto_server::database::{
    ABOUT, CopyTo, DatabaseError as Failed, DatabaseFile, DatabaseFormat, claim, copy_table, fresh, guarded,
};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use zeroize::Zeroizing;

/// Name of the ledger in the state directory.
const FILE: &str = "tokens.redb";
/// Format identifier in the database.
const FORMAT: &[u8] = b"sotto-tokens/1";
/// Memory for cached pages in bytes: spent tokens are looked up all over the file, and none of them
/// twice.
const CACHE_BYTES: usize = 32 << 20;
/// Number of entries that are removed in one transaction, so that no request waits for long.
const AT_ONCE: usize = 10_000;

type Nonce = [u8; 32];

/// Keys by number, each with the time from which on it signs, the length and the name of its tier,
/// and its bytes.
const KEYS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("keys");
const SPENT: TableDefinition<'_, (u32, Nonce), ()> = TableDefinition::new("spent");
const GIVEN: TableDefinition<'_, (u32, Nonce), u32> = TableDefinition::new("given");
/// Name of the entry in [`ABOUT`] that a copy has, and no ledger in use.
const COPY: &str = "copy";

/// The open ledger.
pub(crate) struct TokenLedger {
    database: Database,
    /// Entries for the next transaction.
    waiting: Mutex<Vec<Arc<QueuedWrite>>>,
    /// Lock of the thread that writes.
    writing: Mutex<()>,
}

/// An entry to be written, and its result.
struct QueuedWrite {
    line: LedgerWrite,
    done: OnceLock<Result<bool, LedgerError>>,
}

#[derive(Clone, Copy)]
enum LedgerWrite {
    Spend(KeySerial, Nonce),
    CountIssued(KeySerial, Nonce, u32),
}

impl TokenLedger {
    /// Opens the ledger in the directory `dir`, and makes it if it does not exist.
    ///
    /// # Errors
    /// [`StartError::State`], which says what to do.
    pub(crate) fn open(dir: &Path) -> Result<Self, StartError> {
        let database_file = DatabaseFile::new(dir, FILE, DELETE);
        let database = database_file.open(CACHE_BYTES)?;
        let ledger = TokenLedger { database, waiting: Mutex::default(), writing: Mutex::default() };
        let format = guarded(|| ledger.begin()).map_err(|error| database_file.damaged(&error))?;
        if format == DatabaseFormat::Foreign {
            return Err(database_file.foreign());
        }
        // Keys of a copy, or a run that was killed, may have left entries behind.
        let leftover = |error: LedgerError| database_file.damaged(&error);
        for serial in ledger.strays().map_err(leftover)? {
            ledger.clear(serial).map_err(leftover)?;
        }
        Ok(ledger)
    }

    /// Makes the tables if they do not exist. A file of another format is not changed.
    fn begin(&self) -> Result<DatabaseFormat, redb::Error> {
        let write = self.database.begin_write()?;
        let format = claim(&write, FORMAT)?;
        if format == DatabaseFormat::Foreign {
            write.abort()?;
            return Ok(format);
        }
        let mut keys = write.open_table(KEYS)?;
        let is_copy = write.open_table(ABOUT)?.remove(COPY)?.is_some();
        if is_copy {
            keys.retain(|_, _| false)?;
        }
        drop(keys);
        write.open_table(SPENT)?;
        write.open_table(GIVEN)?;
        write.commit()?;
        if is_copy {
            tracing::warn!(
                "{FILE} was restored from a backup: all token keys are renewed, and earlier tokens are invalid"
            );
        }
        Ok(format)
    }

    /// Writes an entry together with all that wait, unless another thread has written it already.
    fn write(&self, line: LedgerWrite) -> Result<bool, LedgerError> {
        let entry = Arc::new(QueuedWrite { line, done: OnceLock::new() });
        lock(&self.waiting).push(entry.clone());
        let turn = lock(&self.writing);
        if entry.done.get().is_none() {
            let all = std::mem::take(&mut *lock(&self.waiting));
            let outcomes = guarded(|| self.lines(&all));
            match outcomes {
                Ok(outcomes) => {
                    all.iter().zip(outcomes).for_each(|(entry, outcome)| settle(entry, Ok(outcome)))
                }
                Err(error) => all.iter().for_each(|entry| settle(entry, Err(broken(&error)))),
            }
        }
        drop(turn);
        entry.done.get().cloned().unwrap_or_else(|| Err(LedgerError("the entry was not written".into())))
    }

    fn lines(&self, all: &[Arc<QueuedWrite>]) -> Result<Vec<bool>, redb::Error> {
        let write = self.database.begin_write()?;
        let outcomes = all.iter().map(|entry| one(&write, entry.line)).collect::<Result<_, _>>()?;
        write.commit()?;
        Ok(outcomes)
    }

    /// Numbers of missing keys under which entries are left.
    fn strays(&self) -> Result<Vec<KeySerial>, LedgerError> {
        let found = guarded(|| {
            let read = self.database.begin_read()?;
            let (keys, spent, given) =
                (read.open_table(KEYS)?, read.open_table(SPENT)?, read.open_table(GIVEN)?);
            let mut strays = Vec::new();
            let mut from = 0u32;
            loop {
                let start = (from, [0; 32]);
                let next = [
                    spent.range(start..)?.next().transpose()?.map(|(key, _)| key.value().0),
                    given.range(start..)?.next().transpose()?.map(|(key, _)| key.value().0),
                ];
                let Some(serial) = next.into_iter().flatten().min() else { break };
                if keys.get(serial)?.is_none() {
                    strays.push(serial);
                }
                let Some(after) = serial.checked_add(1) else { break };
                from = after;
            }
            Ok(strays)
        });
        found.map_err(|error| broken(&error))
    }

    /// Removes all entries under a number, in several transactions.
    fn clear(&self, serial: KeySerial) -> Result<(), LedgerError> {
        loop {
            let _turn = lock(&self.writing);
            let left = guarded(|| {
                let write = self.database.begin_write()?;
                let left = remove_some(&write, SPENT, serial)? + remove_some(&write, GIVEN, serial)?;
                write.commit()?;
                Ok(left)
            });
            if left.map_err(|error| broken(&error))? == 0 {
                return Ok(());
            }
        }
    }
}

impl CopyTo for TokenLedger {
    fn file(&self) -> &'static str {
        FILE
    }

    fn copy(&self, to: &Path) -> Result<(), Failed> {
        guarded(|| {
            let (read, copy) = (self.database.begin_read()?, fresh(to)?);
            copy_table(&read, &copy, KEYS)?;
            copy_table(&read, &copy, SPENT)?;
            copy_table(&read, &copy, GIVEN)?;
            let write = copy.begin_write()?;
            write.open_table(ABOUT)?.insert(COPY, [].as_slice())?;
            write.commit()?;
            // Copied last: an incomplete copy has no format, and is not opened.
            copy_table(&read, &copy, ABOUT)
        })
    }
}

fn one(write: &WriteTransaction, line: LedgerWrite) -> Result<bool, redb::Error> {
    Ok(match line {
        LedgerWrite::Spend(serial, nonce) => write.open_table(SPENT)?.insert((serial, nonce), ())?.is_none(),
        LedgerWrite::CountIssued(serial, user, max) => {
            let mut given = write.open_table(GIVEN)?;
            let before = given.get((serial, user))?.map_or(0, |count| count.value());
            if before < max {
                given.insert((serial, user), before + 1)?;
            }
            before < max
        }
    })
}

/// Removes entries under a number, and returns how many those were.
fn remove_some<V: Value + 'static>(
    write: &WriteTransaction,
    table: TableDefinition<'_, (u32, Nonce), V>,
    serial: KeySerial,
) -> Result<usize, redb::Error> {
    let mut table = write.open_table(table)?;
    let range = table.range((serial, [0; 32])..=(serial, [0xff; 32]))?;
    let some =
        range.take(AT_ONCE).map(|pair| Ok(pair?.0.value())).collect::<Result<Vec<_>, redb::Error>>()?;
    some.iter().try_for_each(|key| table.remove(key).map(drop))?;
    Ok(some.len())
}

fn settle(entry: &QueuedWrite, outcome: Result<bool, LedgerError>) {
    // The thread that takes an entry out of the queue is the only one that writes it.
    let _ = entry.done.set(outcome);
}

fn broken(error: &Failed) -> LedgerError {
    LedgerError(error.to_string())
}

/// A panic of the database is caught before it gets here, so the guarded value is consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger for TokenLedger {
    fn keys(&self) -> Result<Vec<StoredKey>, LedgerError> {
        let all = guarded(|| {
            let read = self.database.begin_read()?;
            let table = read.open_table(KEYS)?;
            let mut all = Vec::new();
            for pair in table.iter()? {
                let (serial, bytes) = pair?;
                all.push((serial.value(), Zeroizing::new(bytes.value().to_vec())));
            }
            Ok(all)
        });
        let all = all.map_err(|error| broken(&error))?;
        all.into_iter()
            .map(|(serial, bytes)| {
                parse(serial, &bytes).ok_or_else(|| LedgerError(format!("key {serial} is damaged")))
            })
            .collect()
    }

    fn store_key(&self, tier: &str, from: u64, der: &[u8]) -> Result<KeySerial, LedgerError> {
        let _turn = lock(&self.writing);
        let stored = guarded(|| {
            let write = self.database.begin_write()?;
            let serial = {
                let mut about = write.open_table(ABOUT)?;
                let last = about
                    .get("last")?
                    .and_then(|last| last.value().try_into().ok())
                    .map_or(0, u32::from_le_bytes);
                let serial = last.saturating_add(1);
                about.insert("last", serial.to_le_bytes().as_slice())?;
                let name = tier.as_bytes();
                let bytes = [&from.to_le_bytes()[..], &(name.len() as u16).to_le_bytes(), name, der].concat();
                write.open_table(KEYS)?.insert(serial, Zeroizing::new(bytes).as_slice())?;
                serial
            };
            write.commit()?;
            Ok(serial)
        });
        stored.map_err(|error| broken(&error))
    }

    fn delete_key(&self, serial: KeySerial) -> Result<(), LedgerError> {
        {
            let _turn = lock(&self.writing);
            let removed = guarded(|| {
                let write = self.database.begin_write()?;
                write.open_table(KEYS)?.remove(serial)?;
                Ok(write.commit()?)
            });
            removed.map_err(|error| broken(&error))?;
        }
        self.clear(serial)
    }

    fn spend_token(&self, serial: KeySerial, nonce: &[u8; 32]) -> Result<bool, LedgerError> {
        self.write(LedgerWrite::Spend(serial, *nonce))
    }

    fn count_issued(&self, serial: KeySerial, user: &[u8; 32], max: u32) -> Result<bool, LedgerError> {
        self.write(LedgerWrite::CountIssued(serial, *user, max))
    }
}

fn parse(serial: KeySerial, bytes: &[u8]) -> Option<StoredKey> {
    let (from, rest) = bytes.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let (tier, der) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
    let tier = std::str::from_utf8(tier).ok()?.to_owned();
    Some(StoredKey { serial, tier, from: u64::from_le_bytes(*from), der: Zeroizing::new(der.to_vec()) })
}

const DELETE: &str = "delete the file, or give another directory with --state: phones then fetch new tokens, and \
     spent tokens count as unspent until their keys are renewed";

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn what_was_written_outlives_the_server_and_goes_with_its_key() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = TokenLedger::open(dir.path()).unwrap();
        assert!(matches!(TokenLedger::open(dir.path()), Err(StartError::State { .. })), "one at a time");
        let (one, two) = (
            ledger.store_key("free", 7, b"a key").unwrap(),
            ledger.store_key("paid", 8, b"another").unwrap(),
        );
        assert!(ledger.spend_token(one, &[1; 32]).unwrap() && !ledger.spend_token(one, &[1; 32]).unwrap());
        assert!(ledger.spend_token(two, &[1; 32]).unwrap(), "each key has its own");
        assert!(
            ledger.count_issued(one, &[2; 32], 1).unwrap() && !ledger.count_issued(one, &[2; 32], 1).unwrap()
        );
        drop(ledger);
        let ledger = TokenLedger::open(dir.path()).unwrap();
        let keys = ledger.keys().unwrap();
        assert_eq!(
            (keys.len(), keys[0].tier.as_str(), keys[0].from, keys[0].der.as_slice()),
            (2, "free", 7, &b"a key"[..])
        );
        assert!(
            !ledger.spend_token(one, &[1; 32]).unwrap() && !ledger.count_issued(one, &[2; 32], 1).unwrap()
        );
        ledger.delete_key(one).unwrap();
        assert_eq!((ledger.keys().unwrap().len(), ledger.strays().unwrap()), (1, vec![]));
        assert!(!ledger.spend_token(two, &[1; 32]).unwrap(), "the other key's is still there");
        assert_eq!(ledger.store_key("free", 9, b"a third").unwrap(), 3, "no number comes twice");
        // A run that was killed while it removed entries.
        ledger.spend_token(one, &[3; 32]).unwrap();
        ledger.count_issued(one, &[3; 32], 9).unwrap();
        assert_eq!(ledger.strays().unwrap(), [one]);
        drop(ledger);
        assert_eq!(TokenLedger::open(dir.path()).unwrap().strays().unwrap().len(), 0);
    }

    #[test]
    fn a_copy_that_is_opened_has_no_keys_and_forgets_what_was_theirs() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = TokenLedger::open(&dir.path().join("state")).unwrap();
        let key = ledger.store_key("free", 7, b"a key").unwrap();
        assert!(ledger.spend_token(key, &[1; 32]).unwrap());
        let copy = dir.path().join("copy");
        ledger.copy(&copy.join(FILE)).unwrap();
        for _ in 0..2 {
            let copied = TokenLedger::open(&copy).unwrap();
            assert_eq!((copied.keys().unwrap().len(), copied.strays().unwrap().len()), (0, 0));
        }
        // From then on it is a ledger like any other, whose numbers go on.
        let copied = TokenLedger::open(&copy).unwrap();
        assert_eq!(copied.store_key("free", 9, b"its own").unwrap(), key + 1);
        drop(copied);
        assert_eq!(TokenLedger::open(&copy).unwrap().keys().unwrap().len(), 1);
        assert_eq!(ledger.keys().unwrap().len(), 1, "the original is as it was");
    }

    #[test]
    fn many_at_once_are_spent_once_each() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = TokenLedger::open(dir.path()).unwrap();
        let key = ledger.store_key("free", 0, b"k").unwrap();
        let (good, given) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for i in 0..20u8 {
                        good.fetch_add(
                            usize::from(ledger.spend_token(key, &[i; 32]).unwrap()),
                            Ordering::Relaxed,
                        );
                        given.fetch_add(
                            usize::from(ledger.count_issued(key, &[9; 32], 25).unwrap()),
                            Ordering::Relaxed,
                        );
                    }
                });
            }
        });
        assert_eq!((good.into_inner(), given.into_inner()), (20, 25));
    }

    #[test]
    fn a_file_of_another_program_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE), b"not a database, but text of somebody").unwrap();
        assert!(TokenLedger::open(dir.path()).is_err());
        assert_eq!(std::fs::read(dir.path().join(FILE)).unwrap(), b"not a database, but text of somebody");
    }
}
