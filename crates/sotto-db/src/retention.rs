//! Which epochs stay whole, and of which only a remnant does.
//!
//! A server answers about the two newest epochs. Of older ones it serves no more than the way from each to the next,
//! for clients that hold state of their own and were away: the catalog and the rows delta. So an old image can shrink to
//! these two, a file in the same format (`epoch-N.delta`), and give back the rest of the disk.

use crate::image::ImageWriter;
use crate::progress::Watcher;
use crate::{DbError, ImageFile, ImageProblem, Result, StackDir, TableDir, WriteLock};
use serde::Serialize;
use sotto_core::{Artifact, Epoch, ExpectOrDefault, Image, Section, Sink};
use std::fs;
use std::path::Path;

/// The way from the epoch before.
const DELTA: Section = Section::Public(Artifact::RowsDelta);

/// What is kept of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// How many of the newest images stay whole; the newest does even if this is 0.
    pub images: usize,
    /// How many epochs a client may be behind and still find the way: this many of the newest keep their deltas.
    pub deltas: u64,
}

/// What became of a folder's older epochs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RetentionSummary {
    /// Images that shrank to remnants.
    pub shrunk: Vec<Epoch>,
    /// Epochs of which nothing is left.
    pub removed: Vec<Epoch>,
    /// Bytes of disk that this gave back.
    pub freed_bytes: u64,
}

/// Shrinks and removes what is older than `keep` says. A crash leaves every epoch whole, shrunk or gone.
///
/// Images that are mapped, by a server for example, stay readable there until it lets go of them.
///
/// # Errors
/// [`DbError`]; an image that is damaged stays where it is, and so does everything newer.
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
            done.freed_bytes += remove_all(dir, epoch)?.saturating_sub(bytes_at(&remnant)?);
            done.shrunk.push(epoch);
        } else {
            done.freed_bytes += remove_all(dir, epoch)?;
            done.removed.push(epoch);
        }
    }
    for epoch in dir.remnants()?.into_iter().filter(|epoch| !is_near(*epoch)) {
        done.freed_bytes += remove(&dir.remnant_path(epoch))?;
        done.removed.push(epoch);
    }
    Ok(done)
}

/// Writes the remnant of `image`: its catalog, as it was signed, and its rows delta.
fn shrink(image: &ImageFile, remnant: &Path, watch: Watcher<'_>) -> Result<()> {
    let delta = image.section(DELTA).expect_or_default("only images with a delta are shrunk");
    let mut writer = ImageWriter::create(remnant, watch)?;
    writer.reserve(DELTA, delta.len() as u64).map_err(|e| writer.failed(e))?;
    writer.write_at(DELTA, 0, delta).map_err(|e| writer.failed(e))?;
    let named = image.catalog().artifacts.iter().find(|entry| entry.artifact == Artifact::RowsDelta);
    let written = writer.digest(named.and_then(|entry| entry.from_epoch))?;
    // The signature stays, and so does what it says of the delta: a damaged one is noticed here, and the image kept.
    if written.first().map(|entry| entry.digest) != named.map(|entry| entry.digest) {
        let problem = ImageProblem::Digest { part: Artifact::RowsDelta.name() };
        return Err(DbError::Image { path: image.path().to_owned(), problem });
    }
    writer.finish(image.signed_catalog()).map(drop)
}

fn bytes_at(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path).map_err(|e| DbError::io("reading", path, e))?.len())
}

/// Removes a file, and gives how large it was.
fn remove(path: &Path) -> Result<u64> {
    let bytes = bytes_at(path)?;
    fs::remove_file(path).map_err(|e| DbError::io("removing", path, e))?;
    Ok(bytes)
}

/// Removes an epoch's image, whole or in pieces, and gives how large it was.
fn remove_all(dir: &TableDir, epoch: Epoch) -> Result<u64> {
    dir.files_of(epoch)?.iter().map(|path| remove(path)).sum()
}

/// The same for every table of a stack.
///
/// # Errors
/// As [`retain`].
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
