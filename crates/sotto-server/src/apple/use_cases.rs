//! The live use cases, and how newer epochs replace older ones.

use super::sources::{UseCaseEpoch, UseCaseSource};
use crate::StartError;
use arc_swap::ArcSwap;
use sotto_apple::service::Service;
use std::sync::{Arc, Mutex, PoisonError};

/// The live use cases. A request keeps those that it started with.
pub(crate) struct UseCaseSet {
    live: ArcSwap<Service>,
    states: Mutex<Vec<SourceState>>,
    kept: usize,
}

/// A source, and the live epochs of its use case, the newest first.
struct SourceState {
    source: Box<dyn UseCaseSource>,
    name: String,
    live: Vec<UseCaseEpoch>,
}

/// Result of a check of one source.
#[derive(Debug)]
pub(crate) struct ReloadOutcome {
    pub(crate) use_case: String,
    pub(crate) changed: bool,
    /// Why the newest epoch is not served, if it is not.
    pub(crate) refused: Option<String>,
}

impl UseCaseSet {
    /// Opens every source.
    ///
    /// # Errors
    /// [`StartError`] for the first source that does not open, or for two of one name.
    pub(crate) fn open(sources: Vec<Box<dyn UseCaseSource>>, kept: usize) -> Result<Self, StartError> {
        let (mut service, mut states) = (Service::new(), Vec::<SourceState>::new());
        for source in sources {
            let source_name = source.name();
            let found = source
                .open_newest(1 + kept, &[])
                .map_err(|error| StartError::Table { source_name: source_name.clone(), error })?;
            let Some(name) = found.first().map(|newest| newest.name.clone()) else {
                return Err(StartError::NoEpoch { source_name });
            };
            if let Some(other) = states.iter().find(|state| state.name == name) {
                let (first, second) = (other.source.name(), source_name);
                return Err(StartError::SameName { name, first, second });
            }
            put(&mut service, &name, &found, kept);
            states.push(SourceState { source, name, live: found });
        }
        Ok(UseCaseSet { live: ArcSwap::from_pointee(service), states: Mutex::new(states), kept })
    }

    /// The use cases that are live now.
    pub(crate) fn live(&self) -> Arc<Service> {
        self.live.load_full()
    }

    /// Checks for newer epochs. If one is refused, the live epochs stay. Blocks on files.
    pub(crate) fn reload(&self) -> Vec<ReloadOutcome> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let mut service = Service::clone(&self.live.load());
        let outcomes: Vec<ReloadOutcome> =
            states.iter_mut().map(|state| state.reload(&mut service, self.kept)).collect();
        if outcomes.iter().any(|outcomes| outcomes.changed) {
            self.live.store(Arc::new(service));
        }
        outcomes
    }
}

impl SourceState {
    fn reload(&mut self, service: &mut Service, kept: usize) -> ReloadOutcome {
        let use_case = self.name.clone();
        let refused = |why: String| {
            tracing::error!(
                use_case = self.name,
                why,
                "a new epoch of a use case is refused; the previous one is \
                 still served"
            );
            ReloadOutcome { use_case: self.name.clone(), changed: false, refused: Some(why) }
        };
        let found = match self.source.open_newest(1 + kept, &self.live) {
            Ok(found) => found,
            Err(error) => return refused(format!("{}: {error}", self.source.name())),
        };
        let Some(newest) = found.first() else {
            return refused(format!("{}: no table is left", self.source.name()));
        };
        if newest.name != self.name {
            return refused(format!("{}: the table is now of use case {}", self.source.name(), newest.name));
        }
        if self.live.first().is_some_and(|live| live.digest == newest.digest) {
            return ReloadOutcome { use_case, changed: false, refused: None };
        }
        put(service, &self.name, &found, kept);
        tracing::info!(use_case, "a newer epoch is live");
        self.live = found;
        ReloadOutcome { use_case, changed: true, refused: None }
    }
}

/// Puts epochs in front of those that are served, the newest last.
fn put(service: &mut Service, name: &str, found: &[UseCaseEpoch], kept: usize) {
    for found in found.iter().rev().filter(|found| found.name == name) {
        service.serve(name, found.use_case.clone(), kept);
    }
}
