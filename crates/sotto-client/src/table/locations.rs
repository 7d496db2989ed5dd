//! Where the state of a client lies.

use super::event::Wait;
use super::patience::Patience;
use crate::cache::lock::Lock;
use crate::session::Opening;
use crate::state::StateError;
use crate::state::about::Wanted;
use crate::state::disk::Folder;
use crate::state::location::Location;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makes the location of a state, given its folder's name.
pub(crate) type Locations = Box<dyn FnMut(&str) -> Result<Location, StateError> + Send>;

/// A state's folder in `dir`, and anchors in `anchors` or where they go if nobody says. Another process that has the state is
/// waited for.
pub(crate) fn folders(dir: PathBuf, anchors: Option<PathBuf>, patience: Patience) -> Locations {
    Box::new(move |name| {
        let anchors = anchors.clone().map_or_else(default_anchors, Ok)?;
        let turn = |lock: &Path| patience.turn(Wait::State, |limit| Lock::take(lock, limit));
        // What is in it is as private as it is.
        Folder::shared(&dir)?;
        let disk = Arc::new(Folder::locked(&dir.join(name), &turn)?);
        Ok(Location { disk, anchors: Box::new(Folder::shared(&anchors)?) })
    })
}

/// Where anchors go if nobody says: the user's folder for states, by the XDG rules.
///
/// # Errors
/// [`StateError::NoAnchor`] if there is none.
fn default_anchors() -> Result<PathBuf, StateError> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    folder.map(|folder| folder.join("sotto").join("anchors")).ok_or(StateError::NoAnchor)
}

/// The name of a state's folder: a hash, since an origin is no file name.
pub(crate) fn folder_of(wanted: &Wanted) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("sotto 2026 client state folder v1");
    hasher.update(&(wanted.origin.len() as u64).to_le_bytes());
    hasher.update(wanted.origin.as_bytes());
    hasher.update(wanted.table.as_bytes());
    hasher.finalize().to_hex().chars().take(32).collect()
}

/// What a state has to be of for an opening; `None` before there is a catalog.
pub(crate) fn wanted(opening: &Opening, origin: String) -> Option<Wanted> {
    let (catalog, key) = opening.catalog().zip(opening.signer())?;
    let literal = catalog.params.to_string();
    Some(Wanted {
        table: catalog.table.to_string(),
        origin,
        scheme: catalog.scheme.clone(),
        public_key: key.to_string(),
        params: catalog.params_digest,
        literal,
    })
}
