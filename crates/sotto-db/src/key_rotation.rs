//! Replaces the signing key of a table or a stack, and publishes the succession for clients that
//! know the old key.
//!
//! The old key signs a statement that names the new one (`sotto_catalog::succession`). The
//! statement is stored beside the images and is sent with every catalog or stack that the new key
//! signs. So nothing has to be signed again: the key changes with the next epoch, and the old key
//! may be destroyed as soon as the statement exists. After the time in which clients may follow,
//! the statement is still sent, since it also names the epoch from which on the old key signs
//! nothing.

use crate::epoch::KEY;
use crate::files::whole;
pub use crate::keys::SUCCESSIONS;
use crate::keys::unix_seconds;
use crate::keys::{is_successor, malformed, read_successions};
use crate::{DbError, PathKind, Result, StackDir, TableDir, WriteLock};
use sotto_catalog::stack::Shard;
use sotto_catalog::succession::{MAX_CHANGES, resolve_signer};
use sotto_catalog::{PublicKey, SigningKey, Succession, TableName};
use sotto_core::{CryptoRng, Epoch};
use std::fs;
use std::path::{Path, PathBuf};

/// File name of the next key until its statement is written.
const NEXT: &str = "signing.key.next";

/// Summary of a change of the signing key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRotation {
    /// Key that signed before the rotation.
    pub from: PublicKey,
    /// Key that signs from the next epoch on.
    pub to: PublicKey,
    /// Time until which clients follow the change, in seconds since 1970.
    pub until: u64,
    /// Path of the old key, if it was moved.
    pub retired: Option<PathBuf>,
}

/// Paths of the old and the new key; a key without a path is in the table's folder.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyFiles<'a> {
    /// Path of the old key.
    pub old: Option<&'a Path>,
    /// Path of the new key, which is created if it does not exist.
    pub new: Option<&'a Path>,
}

/// A table or a stack that a key signs, as it was published last.
struct Publication {
    dir: TableDir,
    name: TableName,
    /// The newest epoch, which `key` signed.
    epoch: Epoch,
    key: PublicKey,
}

impl Publication {
    /// The publication of a single table.
    fn table(dir: &TableDir) -> Result<Self> {
        PathKind::require_table(dir.path())?;
        let newest = dir.open_latest()?;
        let (name, epoch) = (newest.catalog().table.clone(), newest.catalog().epoch);
        Ok(Publication { dir: dir.clone(), name, epoch, key: newest.signed_catalog().public_key() })
    }

    /// The publications of a stack and of the tables that it names. One key signs all of them.
    fn stack(dir: &TableDir, stack: &StackDir) -> Result<(Self, Vec<Self>)> {
        let (signed, document) = stack.read()?;
        let key = signed.public_key();
        let table = |shard: &Shard| {
            let dir = TableDir::open(&stack.table(&shard.table))?;
            Ok(Publication { dir, name: shard.table.clone(), epoch: shard.epoch, key })
        };
        let tables = document.shards.iter().map(table).collect::<Result<_>>()?;
        Ok((Publication { dir: dir.clone(), name: document.stack, epoch: document.epoch, key }, tables))
    }

    /// Has the old key name the new one in this folder, from its next epoch on. Returns the time
    /// until which clients follow: an existing statement keeps its time.
    fn name_key(&self, old: &SigningKey, new: &SigningKey, now: u64, until: u64) -> Result<u64> {
        let mut all = read_successions(&self.dir)?;
        let named = resolve_signer(&all, &self.name, old.public(), new.public())?;
        let until = match named.filter(|named| named.until > now) {
            Some(named) => named.until,
            None => {
                let next = Epoch(self.epoch.0.saturating_add(1));
                let (from, to) = (old.public().ed25519, new.public().ed25519);
                all.retain(|one| one.verify().is_ok_and(|named| (named.from, named.to) != (from, to)));
                all.push(Succession::sign(&self.name, old, new, next, now, until)?);
                until
            }
        };
        all.drain(..all.len().saturating_sub(MAX_CHANGES));
        let text = serde_json::to_vec_pretty(&all).map_err(|error| malformed(&error))?;
        whole(&self.dir.path().join(SUCCESSIONS), &text, "writing")?;
        Ok(until)
    }
}

/// Has the key of a table or a stack name another one. The new key signs from the next epoch on,
/// and clients follow it for the given number of seconds. An interrupted rotation is resumed.
///
/// The tables of a stack are signed with its key, so it names the new key for each of them too, and
/// the stack's next epoch includes a next epoch of every table.
///
/// The new key has an ML-DSA-44 half if the old one does, and if `post_quantum` is set.
///
/// # Errors
/// [`DbError::CannotRotate`]; [`DbError::OtherKey`] if the old key is not that of the newest epoch;
/// the errors of reading and writing keys.
pub fn rotate(
    lock: &WriteLock,
    files: KeyFiles<'_>,
    seconds: u64,
    post_quantum: bool,
    rng: &mut dyn CryptoRng,
) -> Result<KeyRotation> {
    let dir = lock.dir();
    let refuse = |why| Err(DbError::CannotRotate { dir: dir.path().to_owned(), why });
    if dir.stack().is_some() {
        return refuse("the table belongs to a stack and is signed with the stack's key: rotate that key");
    }
    let (published, tables) = match StackDir::find(dir.path()) {
        Some(stack) => Publication::stack(dir, &stack)?,
        None => (Publication::table(dir)?, Vec::new()),
    };
    let old_file = files.old.map_or_else(|| dir.path().join(KEY), Path::to_owned);
    if !old_file.exists() {
        return refuse("the signing key, which must name its successor, is missing: give the key file");
    }
    let old = dir.signing_key(Some(&old_file), rng)?;
    if !published.key.accepts(&old.public())
        && !is_successor(dir, &published.name, published.key, old.public())?
    {
        let (found, given) = (published.key, old.public());
        return Err(DbError::OtherKey { dir: dir.path().to_owned(), found: Box::new(found), given });
    }
    let new_file = files.new.map_or_else(|| dir.path().join(NEXT), Path::to_owned);
    let mut new = dir.signing_key(Some(&new_file), rng)?;
    if old.ml_dsa().is_some() || post_quantum {
        // Clients that demand ML-DSA-44 follow no change that leads away from it.
        new = dir.add_ml_dsa(&new_file, new, rng)?;
    }
    let now = unix_seconds();
    let until = now.saturating_add(seconds);
    let mut of_tables = None;
    // The stack comes last: its statement implies the statements of all its tables.
    for table in &tables {
        let _lock = table.dir.lock()?;
        of_tables = of_tables.into_iter().chain([table.name_key(&old, &new, now, until)?]).min();
    }
    let until = published.name_key(&old, &new, now, until)?;
    let until = of_tables.map_or(until, |of_tables| of_tables.min(until));
    let moves = files.old.is_none() && files.new.is_none();
    let retired = moves.then(|| replace(dir, &old_file, &new_file, old.public())).transpose()?;
    Ok(KeyRotation { from: old.public(), to: new.public(), until, retired })
}

/// Renames the new key to the old one's name. Between the two renames there is no file of that
/// name; the next run then resumes here.
fn replace(dir: &TableDir, old: &Path, new: &Path, key: PublicKey) -> Result<PathBuf> {
    let digits: String = key.ed25519.to_string().chars().take(8).collect();
    let retired = dir.path().join(format!("retired-{digits}.key"));
    let moved = |from: &Path, to: &Path| fs::rename(from, to).map_err(|e| DbError::io("renaming", from, e));
    // A link comes first, so that the old key always has a name.
    fs::hard_link(old, &retired).or_else(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => Ok(()),
        _ => Err(DbError::io("keeping the old key", &retired, e)),
    })?;
    moved(new, old)?;
    Ok(retired)
}
