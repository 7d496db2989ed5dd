//! The encoding of a table, shared by `sotto encode` and the demo.

use super::cleanup::CreatedFiles;
use super::replace::{self, TableIdentity};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::verbs::publish_args::{rng, signing_key};
use sotto_catalog::{PublicKey, SymmetricLayer, TableName};
use sotto_core::{Goal, SchemeEntry};
use sotto_db::ingest::{Notes, SourceLayout};
use sotto_db::inspect::SchemeInfo;
use sotto_db::mask::RowMasker;
use sotto_db::{
    EncodeOptions, EncodeSummary, ImageFile, IngestOptions, IngestedTable, PiecesToWrite, RowProofs,
    TableDir, TableSource, WriteLock,
};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The input and options of an encoding, shared by `sotto encode` and the demo.
pub(in crate::verbs) struct EncodeJob<'a> {
    pub(in crate::verbs) input: &'a Path,
    pub(in crate::verbs) out: &'a Path,
    pub(in crate::verbs) name: TableName,
    pub(in crate::verbs) scheme: &'static SchemeEntry,
    pub(in crate::verbs) source: IngestOptions,
    /// Number of rows of headroom. Key tables have theirs in the source's options.
    pub(in crate::verbs) headroom: u64,
    /// Whether the table may replace one of another kind.
    pub(in crate::verbs) replace: bool,
    pub(in crate::verbs) lookups: u64,
    pub(in crate::verbs) goal: Goal,
    pub(in crate::verbs) set: Option<String>,
    pub(in crate::verbs) symmetric: bool,
    /// Whether the table is split into parts.
    pub(in crate::verbs) pieces: PiecesToWrite,
    pub(in crate::verbs) verified: RowProofs,
    pub(in crate::verbs) threads: Option<usize>,
    pub(in crate::verbs) key: Option<&'a Path>,
    /// Seconds for which clients accept the catalog.
    pub(in crate::verbs) lifetime: Option<u64>,
    pub(in crate::verbs) attribution: Option<String>,
}

/// The result of an encoding.
pub(in crate::verbs) struct EncodeOutcome {
    pub(in crate::verbs) summary: EncodeSummary,
    pub(in crate::verbs) notes: Notes,
    pub(in crate::verbs) scheme: SchemeInfo,
    pub(in crate::verbs) image: Arc<ImageFile>,
    pub(in crate::verbs) public_key: PublicKey,
    pub(in crate::verbs) stages: Vec<(String, Duration)>,
    pub(in crate::verbs) took: Duration,
}

impl EncodeJob<'_> {
    /// Refuses tables that cannot be masked.
    pub(super) fn check_symmetric(&self, is_batch: bool) -> Result<()> {
        match self.source.layout {
            _ if !self.symmetric => Ok(()),
            _ if is_batch => Err(Failure::usage("--batch does not apply with --symmetric")
                .fix("omit --batch; `sotto get` opens several rows of a symmetric table in one call")),
            SourceLayout::Keyword(_) => Err(Failure::usage("--key does not apply with --symmetric")
                .fix("omit --key: symmetric tables are looked up by row number or by range")),
            _ => Ok(()),
        }
    }

    /// Refuses to put this table on top of one of another kind.
    pub(super) fn check_replaced(&self) -> Result<()> {
        let Some(existing) = TableIdentity::read(self.out)? else { return Ok(()) };
        let new = TableIdentity::new(&self.source.layout, self.symmetric, self.scheme);
        if self.replace || new.continues(&existing) {
            return Ok(());
        }
        Err(new.refusal(self.out, &existing))
    }

    pub(in crate::verbs) fn run(self, screen: Screen) -> Result<EncodeOutcome> {
        let began = Instant::now();
        // Checked first: a mistyped input should not leave a directory behind.
        std::fs::metadata(self.input).map_err(|error| Failure::file("reading", self.input, &error))?;
        replace::check_set(self.scheme, self.set.as_deref())?;
        let traces = CreatedFiles::before(self.out);
        let dir = TableDir::create(self.out).map_err(exit_mapping::db)?;
        let lock = dir.lock().map_err(exit_mapping::db)?;
        let traces = traces.locked(&lock);
        let done = self.encode(began, &lock, screen);
        if done.is_err() {
            traces.remove(&lock);
        }
        done
    }

    fn encode(self, began: Instant, lock: &WriteLock, screen: Screen) -> Result<EncodeOutcome> {
        replace::check_kind(self.out, replace::Output::Table)?;
        self.check_replaced()?;
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let IngestedTable { mut table, kind, value, mut layers, origin, notes } =
            sotto_db::ingest(self.input, &self.source, self.out, &watch).map_err(exit_mapping::db)?;
        let key = signing_key(lock.dir(), self.key)?;
        if self.symmetric {
            let oprf = lock.oprf_key(&mut rng()?).map_err(exit_mapping::db)?;
            let epoch = lock.next_epoch().map_err(exit_mapping::db)?;
            let masker = RowMasker { table: &self.name, epoch, key: &oprf };
            let masked =
                masker.table(table.as_ref(), self.out, self.threads, &watch).map_err(exit_mapping::db)?;
            table = Box::new(masked);
            // Layers are listed from the scheme up: a whole row is masked, with everything in it.
            layers.insert(0, SymmetricLayer::layer(&oprf.public()));
        }
        let options = EncodeOptions {
            table: self.name,
            kind,
            value,
            layers,
            headroom: self.headroom,
            lookups_per_client: self.lookups,
            together: 1,
            goal: self.goal,
            set: self.set,
            verified: self.verified,
            threads: self.threads,
            attribution: self.attribution,
            lifetime: self.lifetime,
            key: &key,
        };
        let tables: [&dyn TableSource; 1] = [table.as_ref()];
        let summary = sotto_db::encode_pieces(self.scheme, &tables, lock, &options, self.pieces, &watch);
        let summary = summary.map_err(exit_mapping::db)?;
        lock.keep_origin(&origin).map_err(exit_mapping::db)?;
        let stages = bars.finish();
        let image = ImageFile::open(&summary.image).map_err(exit_mapping::db)?;
        let inspected = sotto_db::inspect(&image, Some(self.scheme)).map_err(exit_mapping::db)?;
        let scheme = inspected.scheme.ok_or_else(|| Failure::internal("no description of the scheme"))?;
        let public_key = key.public();
        Ok(EncodeOutcome { summary, notes, scheme, image, public_key, stages, took: began.elapsed() })
    }
}
