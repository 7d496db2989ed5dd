//! Use cases on disk: a file, or a folder of epochs.

use super::source::{UseCaseEpoch, UseCaseSource};
use crate::{Residency, ServerConfig, SourceError};
use sotto_apple::image::{self, ImageError, oprf};
use sotto_apple::sets::WeakParams;
use sotto_db::image::ForeignImage;
use sotto_db::{CopyBudget, TableDir};
use sotto_oprf::p384::{PublicKey, SecretKey};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file of a use case, or a folder of its epochs, which appear whole and never change.
#[derive(Debug)]
struct Files {
    path: PathBuf,
    weak: WeakParams,
    residency: Residency,
    room: Arc<CopyBudget>,
}

impl Files {
    /// Opens a file, unless it is known already.
    fn open(&self, path: &Path, known: &[UseCaseEpoch]) -> Result<UseCaseEpoch, SourceError> {
        let digest = ForeignImage::open(path)?.digest().0;
        if let Some(known) = known.iter().find(|known| known.digest == digest) {
            return Ok(known.clone());
        }
        let opened = image::open_in(path, self.weak, self.residency, &self.room).map_err(refused)?;
        let use_case = match opened.description.oprf {
            Some(public) => opened.use_case.evaluated_by(key_of(path, &public)?).map_err(no_key)?,
            None => opened.use_case,
        };
        let (image, name) = (opened.image, opened.name.clone());
        // Answers are computed from the file until then.
        let settle = move || match image.decide_placement() {
            Ok(residence) => {
                tracing::info!(use_case = name, bytes = residence.bytes, %residence, "where it lies")
            }
            Err(error) => tracing::error!(use_case = name, %error, "it stays where its file is mapped"),
        };
        if let Err(error) = std::thread::Builder::new().name("sotto-check".into()).spawn(settle) {
            tracing::error!(%error, "no thread to copy a table on; it stays where its file is mapped");
        }
        Ok(UseCaseEpoch { name: opened.name, digest: opened.digest, use_case: Arc::new(use_case) })
    }
}

impl UseCaseSource for Files {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Opens the newest epochs. The newest has to open; an older one may have been removed.
    fn open_newest(&self, most: usize, known: &[UseCaseEpoch]) -> Result<Vec<UseCaseEpoch>, SourceError> {
        if !self.path.is_dir() {
            return Ok(vec![self.open(&self.path, known)?]);
        }
        let dir = TableDir::open(&self.path)?;
        let mut epochs = dir.epochs()?;
        epochs.sort_unstable_by(|one, other| other.cmp(one));
        let mut found = Vec::new();
        for epoch in epochs.into_iter().take(most) {
            match self.open(&dir.image_path(epoch), known) {
                Ok(opened) => found.push(opened),
                Err(error) if found.is_empty() => return Err(error),
                Err(error) => tracing::warn!(%error, "an older table of a use case is not served"),
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
pub(crate) fn use_cases(config: &ServerConfig, room: &Arc<CopyBudget>) -> Vec<Box<dyn UseCaseSource>> {
    let weak = if config.apple.allow_insecure_params { WeakParams::Allow } else { WeakParams::Reject };
    let (residency, room) = (config.residency, room.clone());
    let source = |path: &PathBuf| -> Box<dyn UseCaseSource> {
        Box::new(Files { path: path.clone(), weak, residency, room: room.clone() })
    };
    config.apple.use_cases.iter().map(source).collect()
}
