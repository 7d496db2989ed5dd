//! `sotto encode --batch`: encodes a table as a stack, whose tables are the buckets of a batch
//! code.

use super::EncodeJob;
use super::cleanup::CreatedFiles;
use super::replace::{Output, check_kind};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::verbs::publish_args::{rng, signing_key};
use sotto_catalog::PublicKey;
use sotto_db::{BatchOptions, BatchSummary, EncodeOptions, TableDir, WriteLock, encode_batch};
use sotto_prg::PublicSeed;
use sotto_wire::MessageSizes;
use std::time::{Duration, Instant};

/// The result of encoding a stack.
pub(super) struct BatchOutcome {
    pub(super) summary: BatchSummary,
    pub(super) public_key: PublicKey,
    pub(super) stages: Vec<(String, Duration)>,
    pub(super) took: Duration,
}

impl EncodeJob<'_> {
    /// Encodes a stack whose rounds have at most `max_batch` rows or keys.
    pub(super) fn run_batch(self, max_batch: usize, screen: Screen) -> Result<BatchOutcome> {
        let began = Instant::now();
        std::fs::metadata(self.input).map_err(|error| Failure::file("reading", self.input, &error))?;
        super::replace::check_set(self.scheme, self.set.as_deref())?;
        let traces = CreatedFiles::before(self.out);
        // Existing tables may belong to a stack that was never published, and are not removed.
        let ours = !self.out.join("tables").exists();
        let root = TableDir::create(self.out).map_err(exit_mapping::db)?;
        let lock = root.lock().map_err(exit_mapping::db)?;
        let traces = traces.locked(&lock);
        let out = self.out;
        let done = self.encode_batch(max_batch, began, &lock, screen);
        if done.is_err() {
            if ours {
                for folder in ["tables", "files"] {
                    // The first error is the one to report, not a failed cleanup.
                    let _ = std::fs::remove_dir_all(out.join(folder));
                }
            }
            traces.remove(&lock);
        }
        done
    }

    fn encode_batch(
        self,
        max_batch: usize,
        began: Instant,
        lock: &WriteLock,
        screen: Screen,
    ) -> Result<BatchOutcome> {
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        check_kind(self.out, Output::Stack)?;
        self.check_replaced()?;
        let read = || sotto_db::ingest(self.input, &self.source, self.out, &watch);
        let key = signing_key(lock.dir(), self.key)?;
        let options = EncodeOptions {
            headroom: self.headroom,
            lookups_per_client: self.lookups,
            goal: self.goal,
            set: self.set,
            verified: self.verified,
            threads: self.threads,
            attribution: self.attribution,
            lifetime: self.lifetime,
            ..EncodeOptions::new(self.name, &key)
        };
        let seed = PublicSeed::fresh(&mut rng()?);
        let batch = BatchOptions { max_lookups: max_batch, seed, max_queries: &MessageSizes::max_queries };
        let encoded = encode_batch(self.scheme, read, lock, &batch, &options, &watch);
        let summary = encoded.map_err(exit_mapping::db)?;
        let (public_key, took, stages) = (key.public(), began.elapsed(), bars.finish());
        Ok(BatchOutcome { summary, public_key, stages, took })
    }
}
