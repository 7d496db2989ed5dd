//! Where use cases come from: files on disk, or folders of epochs.

use crate::{Residency, ServerConfig, SourceError};
use sotto_apple::image::{self, ImageError, oprf};
use sotto_apple::service::UseCase;
use sotto_apple::sets::WeakParams;
use sotto_db::image::ForeignImage;
use sotto_db::{CopyBudget, TableDir};
use sotto_oprf::p384::{PublicKey, SecretKey};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
pub(crate) fn use_cases(config: &ServerConfig, copies: &Arc<CopyBudget>) -> Vec<Box<dyn UseCaseSource>> {
    let weak = if config.apple.allow_insecure_params { WeakParams::Allow } else { WeakParams::Reject };
    let (residency, copies) = (config.residency, copies.clone());
    let source = |path: &PathBuf| -> Box<dyn UseCaseSource> {
        Box::new(Files { path: path.clone(), weak, residency, copies: copies.clone() })
    };
    config.apple.use_cases.iter().map(source).collect()
}
