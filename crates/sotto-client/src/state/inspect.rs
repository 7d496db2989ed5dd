//! The states in a folder, for display. Nothing is changed.

use super::StateError;
use super::disk::LockedFolder;
use super::metadata::{FILE, StateMetadata};
use super::open::StatePaths;
use super::snapshot::ReadError;
use crate::Result;
use crate::cache::lock::Lock;
use crate::files;
use sotto_core::{Budget, Epoch, SchemeEntry};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// One state in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateInfo {
    /// Folder of the state.
    pub path: PathBuf,
    /// What the state belongs to.
    pub metadata: StateMetadata,
    /// Epoch of the client; `None` before the first preparation has ended.
    pub epoch: Option<Epoch>,
    /// Number of queries left; `None` if there is no client, or none that this build can read.
    pub budget: Option<Budget>,
    /// Number of requests that were made and are not settled.
    pub unsettled: u64,
    /// Number of requests made by all clients of the state, plus the number of clients.
    pub counter: u64,
    /// Bytes of all files of the state.
    pub bytes: u64,
}

/// Reads every state in `dir`, in the order of their folders' names; `resolve` finds schemes.
///
/// # Errors
/// [`StateError`]; [`StateError::Busy`] for one that is in use.
pub fn inspect(dir: &Path, resolve: fn(&str) -> Option<&'static SchemeEntry>) -> Result<Vec<StateInfo>> {
    let at = |error| StateError::at(dir, error);
    let mut folders = Vec::new();
    for path in files::entries(dir).map_err(at)? {
        if files::length_at(&path.join(FILE)).is_ok() {
            folders.push(path);
        }
    }
    folders.sort();
    let mut shown = Vec::new();
    for path in folders {
        shown.extend(one(path, resolve)?);
    }
    Ok(shown)
}

fn one(path: PathBuf, resolve: fn(&str) -> Option<&'static SchemeEntry>) -> Result<Option<StateInfo>> {
    let disk = Arc::new(LockedFolder::locked(&path, &|lock| Lock::take(lock, Duration::ZERO))?);
    // No rollback counter is read here.
    let paths = StatePaths { disk, counters: Box::new(LockedFolder::shared(&path)?) };
    let store = paths.store()?;
    let Some((json, marks)) = store.head() else { return Ok(None) };
    let metadata = StateMetadata::parse(json, &path)?;
    let scheme = resolve(&metadata.scheme).and_then(|scheme| scheme.state.as_ref());
    let contents =
        scheme.map(|state| paths.contents(&store, &metadata, (state, metadata.literal.as_bytes())));
    let budget = match contents {
        Some(Ok((client, _))) => client.map(|client| client.budget()),
        Some(Err(ReadError::Failed(error))) => return Err(error),
        Some(Err(ReadError::Damaged(_))) | None => None,
    };
    let mut bytes = 0;
    for name in paths.disk.names().map_err(|error| paths.at(error))? {
        bytes += files::length_at(&path.join(name)).unwrap_or(0);
    }
    Ok(Some(StateInfo {
        epoch: metadata.snapshot.map(|snapshot| snapshot.epoch),
        budget,
        unsettled: marks.requests.1,
        counter: marks.counter,
        bytes,
        metadata,
        path,
    }))
}
