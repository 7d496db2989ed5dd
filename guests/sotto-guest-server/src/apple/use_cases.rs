//! Use cases: where they come from, files on disk or folders of epochs, and how newer epochs
//! replace live ones.

use super::AppleConfig;
use arc_swap::ArcSwap;
use sotto_apple::image::{self, ImageError, oprf};
use sotto_apple::service::{Service, UseCase};
use sotto_apple::sets::WeakParams;
use sotto_db::image::ForeignImage;
use sotto_db::{CopyBudget, TableDir};
use sotto_oprf::p384::{PublicKey, SecretKey};
use sotto_server::{Residency, SourceError, StartError};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// One open epoch of a use case's table.
#[derive(Debug, Clone)]
pub struct UseCaseEpoch {
    /// Name of the use case.
    pub name: String,
    /// Digest that tells this epoch from others.
    pub digest: [u8; 32],
    /// The table, ready to answer.
    pub use_case: Arc<UseCase>,
}

/// A source of the epochs of one use case.
pub trait UseCaseSource: Send + Sync + 'static {
    /// Name of the source in messages, usually a path.
    fn name(&self) -> String;

    /// The current epochs, the newest first: at least one, and at most `max`. Those that are
    /// `known` need not be opened again.
    ///
    /// # Errors
    /// [`SourceError`] if the newest epoch cannot be read or served.
    fn open_newest(&self, max: usize, known: &[UseCaseEpoch]) -> Result<Vec<UseCaseEpoch>, SourceError>;
}

/// The file of a use case, or a folder of its epochs, which appear whole and never change.
#[derive(Debug)]
struct Files {
    path: PathBuf,
    weak: WeakParams,
    residency: Residency,
    copies: Arc<CopyBudget>,
}

impl Files {
    /// Opens a file, unless it is known already.
    fn open(&self, path: &Path, known: &[UseCaseEpoch]) -> Result<UseCaseEpoch, SourceError> {
        let digest = ForeignImage::open(path)?.digest().0;
        if let Some(known) = known.iter().find(|known| known.digest == digest) {
            return Ok(known.clone());
        }
        let opened = image::open_in(path, self.weak, self.residency, &self.copies).map_err(refused)?;
        let use_case = match opened.description.oprf {
            Some(public) => opened.use_case.evaluated_by(key_of(path, &public)?).map_err(no_key)?,
            None => opened.use_case,
        };
        let (image, name) = (opened.image, opened.name.clone());
        // Answers are computed from the file until then.
        let settle = move || match image.decide_placement() {
            Ok(residence) => {
                tracing::info!(use_case = name, bytes = residence.bytes, %residence, "a use case is answered from \
                     the table")
            }
            Err(error) => {
                tracing::error!(use_case = name, %error, "a table cannot be copied; answering from the \
                 mapped file")
            }
        };
        if let Err(error) = std::thread::Builder::new().name("sotto-check".into()).spawn(settle) {
            tracing::error!(%error, "cannot start a thread to copy a table; answering from the mapped file");
        }
        Ok(UseCaseEpoch { name: opened.name, digest: opened.digest, use_case: Arc::new(use_case) })
    }
}

impl UseCaseSource for Files {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Opens the newest epochs. The newest has to open; an older one may have been removed.
    fn open_newest(&self, max: usize, known: &[UseCaseEpoch]) -> Result<Vec<UseCaseEpoch>, SourceError> {
        if !self.path.is_dir() {
            return Ok(vec![self.open(&self.path, known)?]);
        }
        let dir = TableDir::open(&self.path)?;
        let mut epochs = dir.epochs()?;
        epochs.sort_unstable_by(|one, other| other.cmp(one));
        let mut found = Vec::new();
        for epoch in epochs.into_iter().take(max) {
            match self.open(&dir.image_path(epoch), known) {
                Ok(opened) => found.push(opened),
                Err(error) if found.is_empty() => return Err(error),
                Err(error) => tracing::warn!(%error, "an older epoch of a use case is not served"),
            }
        }
        Ok(found)
    }
}

/// Reads the key of a symmetric table from the folder of its file.
fn key_of(path: &Path, public: &PublicKey) -> Result<SecretKey, SourceError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    oprf::read_fitting(&TableDir::open(folder)?, public).map_err(no_key)
}

fn no_key(why: impl Display) -> SourceError {
    SourceError::OprfKey(why.to_string())
}

fn refused(error: ImageError) -> SourceError {
    match error {
        ImageError::Db(error) => error.into(),
        error => SourceError::Unreadable(error.to_string()),
    }
}

/// The use cases that a configuration names.
pub(super) fn sources(
    config: &AppleConfig,
    residency: Residency,
    copies: &Arc<CopyBudget>,
) -> Vec<Box<dyn UseCaseSource>> {
    let weak = if config.allow_insecure_params { WeakParams::Allow } else { WeakParams::Reject };
    let source = |path: &PathBuf| -> Box<dyn UseCaseSource> {
        Box::new(Files { path: path.clone(), weak, residency, copies: copies.clone() })
    };
    config.use_cases.iter().map(source).collect()
}

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
                return Err(StartError::NoEpoch(source_name));
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
