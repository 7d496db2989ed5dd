//! The files of an epoch: its image, or a front and its parts.

use crate::error::SourceError;
use sotto_core::SchemeEntry;
use sotto_db::image::FileIdentity;
use sotto_db::{DbError, ImageFile, Progress, ResidentImage, TablePlacement, Watcher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The files that an epoch is answered from.
pub(super) struct EpochFiles {
    /// All files, of which the first contains what clients fetch.
    files: Vec<Arc<ImageFile>>,
    /// Files that answers are computed from: the image, or all parts.
    answered: Vec<Arc<ResidentImage>>,
    /// Whether sections are verified against their digests before the epoch goes live.
    pub(super) verified: bool,
    /// Whether it was logged that a file is lost.
    lost: AtomicBool,
}

impl EpochFiles {
    pub(super) fn new(front: &Arc<ImageFile>, answered: Vec<Arc<ResidentImage>>, verified: bool) -> Self {
        let others = answered.iter().map(|image| image.file()).filter(|file| !Arc::ptr_eq(file, front));
        let files = std::iter::once(front).chain(others).cloned().collect();
        EpochFiles { files, answered, verified, lost: AtomicBool::new(false) }
    }

    /// The file with what clients fetch.
    pub(super) fn front(&self) -> Option<&Arc<ImageFile>> {
        self.files.first()
    }

    /// The identities of the files.
    pub(super) fn seals(&self) -> Vec<FileIdentity> {
        self.files.iter().map(|file| file.seal()).collect()
    }

    /// Whether there is one image, whose rows can be decoded.
    fn is_whole(&self) -> bool {
        self.files.len() == 1
    }

    /// Number of bytes that [`EpochFiles::read_through`] reads.
    pub(super) fn bytes(&self, rows_bytes: u64) -> u64 {
        let files = self.files.iter().map(|file| file.header().file_bytes).fold(0, u64::saturating_add);
        if self.is_whole() { files.saturating_add(rows_bytes) } else { files }
    }

    /// Verifies every section against its digest, and the rows against their root if they are in
    /// one image.
    pub(super) fn read_through(
        &self,
        scheme: &'static SchemeEntry,
        watch: Watcher<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool, SourceError> {
        let mut before = 0;
        for file in &self.files {
            let then = |at: Progress| watch(Progress { done: at.done.saturating_add(before), ..at });
            if !file.verify_while(&then, &|_| true, go_on)? {
                return Ok(false);
            }
            before += file.header().file_bytes;
        }
        let then = |at: Progress| watch(Progress { done: at.done.saturating_add(before), ..at });
        match self.front().filter(|_| self.is_whole()) {
            Some(image) => Ok(sotto_db::audit(scheme, image, &then, go_on)?),
            None => Ok(true),
        }
    }

    /// Checks that all files are as they were when they were opened.
    pub(super) fn check(&self) -> Result<(), DbError> {
        self.files.iter().try_for_each(|file| file.check())
    }

    /// Whether this is the first report of a lost file.
    pub(super) fn logs_loss(&self) -> bool {
        !self.lost.swap(true, Ordering::Relaxed)
    }

    /// Copies the sections that answers are computed from to huge pages, if that pays.
    pub(super) fn settle(&self) -> std::io::Result<()> {
        self.answered.iter().try_for_each(|image| image.decide_placement().map(drop))
    }

    /// Where everything that answers are computed from is in memory, once that is decided: for
    /// parts, where most of their bytes are.
    pub(super) fn residence(&self) -> Option<TablePlacement> {
        let each: Option<Vec<TablePlacement>> = self.answered.iter().map(|image| image.residence()).collect();
        let each = each?;
        let bytes = each.iter().map(|part| part.bytes).fold(0, u64::saturating_add);
        let share = |part: &TablePlacement| part.bytes as f64 / bytes.max(1) as f64;
        let huge: Option<f64> = each.iter().map(|part| Some(part.huge_share? * share(part))).sum();
        let largest = each.into_iter().max_by_key(|part| part.bytes)?;
        Some(TablePlacement { bytes, huge_share: huge.map(|share| share.min(1.0)), ..largest })
    }
}
