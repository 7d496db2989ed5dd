//! Decides which old epochs stay whole, and which are reduced to a remnant.
//!
//! A server answers queries about the two newest epochs. Of older ones it serves only the delta
//! from each to the next, for clients that hold durable state and were away: the catalog and the
//! rows delta. So an old image can be reduced to these two, in a file of the same format
//! (`epoch-N.delta`), which frees the rest of its disk space.

use crate::files::{bytes_at, remove};
use crate::image::ImageWriter;
use crate::progress::Watcher;
use crate::{ImageFile, ImageProblem, Result, StackDir, TableDir, WriteLock};
use serde::Serialize;
use sotto_core::{Artifact, Epoch, ExpectOrDefault, Image, Section, Sink};
use std::path::{Path, PathBuf};

/// The delta from the epoch before.
const DELTA: Section = Section::Public(Artifact::RowsDelta);

/// Numbers of epochs to retain in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Number of newest images that stay whole; the newest does even if this is 0.
    pub images: usize,
    /// Number of epochs that a client may be behind and still follow: this many of the newest keep
    /// their deltas.
    pub deltas: u64,
}

/// Summary of a folder's reduced and removed epochs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetentionSummary {
    /// Epochs whose images were reduced to remnants.
    pub shrunk: Vec<Epoch>,
    /// Epochs that were removed.
    pub removed: Vec<Epoch>,
    /// Bytes of disk space that were freed.
    pub freed_bytes: u64,
}

/// Reduces and removes the epochs older than `keep` says. After a crash every epoch is whole,
/// reduced or removed.
///
/// Images that are mapped, for example by a server, stay readable there until it drops them.
///
/// # Errors
/// [`crate::DbError`]; a damaged image stays where it is, and so does everything newer.
pub fn retain(lock: &WriteLock, keep: Retention, watch: Watcher<'_>) -> Result<RetentionSummary> {
    let dir = lock.dir();
    let mut images = dir.epochs()?;
    let Some(newest) = images.last().copied() else { return Ok(RetentionSummary::default()) };
    images.truncate(images.len().saturating_sub(keep.images.max(1)));
    let is_near = |epoch: Epoch| newest.0.saturating_sub(epoch.0) < keep.deltas;

    let mut done = RetentionSummary::default();
    for epoch in images {
        let image = dir.open_epoch(epoch)?;
        if is_near(epoch) && image.section(DELTA).is_some() {
            let remnant = dir.remnant_path(epoch);
            if !remnant.exists() {
                shrink(&image, &remnant, watch)?;
            }
            done.freed_bytes += remove_all(&dir.files_of(epoch)?)?.saturating_sub(bytes_at(&remnant)?);
            done.shrunk.push(epoch);
        } else {
            done.freed_bytes += remove_all(&dir.files_of(epoch)?)?;
            done.removed.push(epoch);
        }
    }
    for epoch in dir.remnants()?.into_iter().filter(|epoch| !is_near(*epoch)) {
        done.freed_bytes += remove_all(&[dir.remnant_path(epoch)])?;
        done.removed.push(epoch);
    }
    Ok(done)
}

/// Writes the remnant of `image`: its signed catalog and its rows delta.
fn shrink(image: &ImageFile, remnant: &Path, watch: Watcher<'_>) -> Result<()> {
    let delta = image.section(DELTA).expect_or_default("only images with a delta are shrunk");
    let mut writer = ImageWriter::create(remnant, watch)?;
    writer.reserve(DELTA, delta.len() as u64).map_err(|e| writer.failed(e))?;
    writer.write_at(DELTA, 0, delta).map_err(|e| writer.failed(e))?;
    let named = image.catalog().artifacts.iter().find(|entry| entry.artifact == Artifact::RowsDelta);
    let written = writer.digest(named.and_then(|entry| entry.from_epoch))?;
    // The signature stays, and with it the digest of the delta: a damaged delta is detected here,
    // and the image is kept.
    if written.first().map(|entry| entry.digest) != named.map(|entry| entry.digest) {
        return Err(image.refuse(ImageProblem::Digest(Artifact::RowsDelta.name())));
    }
    writer.finish(image.signed_catalog()).map(drop)
}

/// Removes files, and returns their size.
fn remove_all(paths: &[PathBuf]) -> Result<u64> {
    let sized = |path: &PathBuf| Ok((bytes_at(path)?, remove(path)?).0);
    paths.iter().map(sized).sum()
}

/// Applies [`retain`] to every table of a stack.
///
/// # Errors
/// The errors of [`retain`].
pub fn retain_all(stack: &StackDir, keep: Retention, watch: Watcher<'_>) -> Result<RetentionSummary> {
    let mut all = RetentionSummary::default();
    for shard in stack.read()?.1.shards {
        let done = retain(&TableDir::open(&stack.table(&shard.table))?.lock()?, keep, watch)?;
        all.shrunk.extend(done.shrunk);
        all.removed.extend(done.removed);
        all.freed_bytes += done.freed_bytes;
    }
    Ok(all)
}
