//! The folders of a client's durable state.

use super::event::WaitReason;
use super::wait_policy::WaitPolicy;
use crate::cache::lock::Lock;
use crate::session::SessionSetup;
use crate::state::StateError;
use crate::state::disk::LockedFolder;
use crate::state::metadata::StateRequirement;
use crate::state::open::StatePaths;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the folders of a state, given its folder's name.
pub(crate) type StatePathsFactory = Box<dyn FnMut(&str) -> Result<StatePaths, StateError> + Send>;

/// Opens a state's folder in `dir`, and rollback counters in `anchors` or in the default folder.
/// Waits for another process that has the state.
pub(crate) fn folders(dir: PathBuf, anchors: Option<PathBuf>, wait_policy: WaitPolicy) -> StatePathsFactory {
    Box::new(move |name| {
        let anchors = anchors.clone().map_or_else(default_anchors, Ok)?;
        let take_lock =
            |lock: &Path| wait_policy.wait_for(WaitReason::State, |limit| Lock::take(lock, limit));
        // The contents are as private as the folder.
        LockedFolder::shared(&dir)?;
        let disk = Arc::new(LockedFolder::locked(&dir.join(name), &take_lock)?);
        Ok(StatePaths { disk, anchors: Box::new(LockedFolder::shared(&anchors)?) })
    })
}

/// The default folder for rollback counters: the user's folder for states, by the XDG rules.
///
/// # Errors
/// [`StateError::NoAnchor`] if there is no such folder.
fn default_anchors() -> Result<PathBuf, StateError> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    folder.map(|folder| folder.join("sotto").join("anchors")).ok_or(StateError::NoAnchor)
}

/// The name of a state's folder: a hash, since an origin is not a valid file name.
pub(crate) fn folder_of(requirement: &StateRequirement) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("sotto 2026 client state folder v1");
    hasher.update(&(requirement.origin.len() as u64).to_le_bytes());
    hasher.update(requirement.origin.as_bytes());
    hasher.update(requirement.table.as_bytes());
    hasher.finalize().to_hex().chars().take(32).collect()
}

/// What a setup requires of a state; `None` before the catalog has arrived.
pub(crate) fn requirement(setup: &SessionSetup, origin: String) -> Option<StateRequirement> {
    let (catalog, key) = setup.catalog().zip(setup.signer())?;
    let literal = catalog.params.to_string();
    Some(StateRequirement {
        table: catalog.table.to_string(),
        origin,
        scheme: catalog.scheme.clone(),
        public_key: key.to_string(),
        params: catalog.params_digest,
        literal,
    })
}
