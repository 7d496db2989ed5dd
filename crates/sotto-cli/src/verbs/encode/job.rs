//! The encoding of a table, shared by `sotto encode` and the demo: all of it, in parts, or one part
//! next to an existing front.

use crate::failure::{Failure, FileContext, Result};
use crate::output_dir::{CreatedFiles, Output, TableIdentity, check_kind, check_set};
use crate::publish_args::signing_key;
use crate::screen::{Report, Screen, grid, units};
use serde_json::json;
use sotto_catalog::{PublicKey, SymmetricLayer, TableName};
use sotto_core::{Goal, PartIndex, SchemeEntry};
use sotto_db::ingest::{Notes, SourceLayout};
use sotto_db::inspect::SchemeInfo;
use sotto_db::mask::RowMasker;
use sotto_db::{
    EncodeOptions, EncodeSummary, ImageFile, IngestOptions, IngestedTable, PiecesToWrite, RowProofs,
    TableDir, TableSource, WriteLock, encode_part,
};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The input and options of an encoding, shared by `sotto encode` and the demo.
pub(crate) struct EncodeJob<'a> {
    pub(crate) input: &'a Path,
    pub(crate) out: &'a Path,
    pub(crate) name: TableName,
    pub(crate) scheme: &'static SchemeEntry,
    pub(crate) source: IngestOptions,
    /// Number of rows of headroom. Key tables have theirs in the source's options.
    pub(crate) headroom: u64,
    /// Whether the table may replace one of another kind.
    pub(crate) replace: bool,
    pub(crate) lookups: u64,
    pub(crate) goal: Goal,
    pub(crate) set: Option<String>,
    pub(crate) symmetric: bool,
    /// Whether the table is split into parts.
    pub(crate) pieces: PiecesToWrite,
    pub(crate) verified: RowProofs,
    pub(crate) threads: Option<usize>,
    pub(crate) key: Option<&'a Path>,
    /// Seconds for which clients accept the catalog.
    pub(crate) lifetime: Option<u64>,
    pub(crate) attribution: Option<String>,
}

/// The result of an encoding.
pub(crate) struct EncodeOutcome {
    pub(crate) summary: EncodeSummary,
    pub(crate) notes: Notes,
    pub(crate) scheme: SchemeInfo,
    pub(crate) image: Arc<ImageFile>,
    pub(crate) public_key: PublicKey,
    pub(crate) stages: Vec<(String, Duration)>,
    pub(crate) took: Duration,
}

impl EncodeJob<'_> {
    /// Refuses tables that cannot be masked.
    pub(crate) fn check_symmetric(&self, is_batch: bool) -> Result<()> {
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
    pub(crate) fn check_replaced(&self) -> Result<()> {
        let Some(existing) = TableIdentity::read(self.out)? else { return Ok(()) };
        let new = TableIdentity::new(&self.source.layout, self.symmetric, self.scheme);
        if self.replace || new.continues(&existing) {
            return Ok(());
        }
        Err(new.refusal(self.out, &existing))
    }

    pub(crate) fn run(self, screen: Screen) -> Result<EncodeOutcome> {
        let began = Instant::now();
        // Checked first: a mistyped input should not leave a directory behind.
        std::fs::metadata(self.input).doing("reading", self.input)?;
        check_set(self.scheme, self.set.as_deref())?;
        let traces = CreatedFiles::before(self.out);
        let dir = TableDir::create(self.out)?;
        let lock = dir.lock()?;
        let traces = traces.locked(&lock);
        let done = self.encode(began, &lock, screen);
        if done.is_err() {
            traces.remove(&lock);
        }
        done
    }

    fn encode(self, began: Instant, lock: &WriteLock, screen: Screen) -> Result<EncodeOutcome> {
        check_kind(self.out, Output::Table)?;
        self.check_replaced()?;
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let IngestedTable { mut table, kind, value, mut layers, origin, notes } =
            sotto_db::ingest(self.input, &self.source, self.out, &watch)?;
        let key = signing_key(lock.dir(), self.key)?;
        if self.symmetric {
            let oprf = lock.oprf_key(&mut sotto_prg::system_rng()?)?;
            let epoch = lock.next_epoch()?;
            let masker = RowMasker { table: &self.name, epoch, key: &oprf };
            let masked = masker.table(table.as_ref(), self.out, self.threads, &watch)?;
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
        let summary = summary?;
        lock.keep_origin(&origin)?;
        let stages = bars.finish();
        let image = ImageFile::open(&summary.image)?;
        let inspected = sotto_db::inspect(&image, Some(self.scheme))?;
        let scheme = inspected.scheme.ok_or_else(|| Failure::internal("no description of the scheme"))?;
        let public_key = key.public();
        Ok(EncodeOutcome { summary, notes, scheme, image, public_key, stages, took: began.elapsed() })
    }
}

/// The value of `--part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartArg {
    Front,
    Part(u32),
}

/// Parses `--part`.
pub(crate) fn parse_part(text: &str) -> Result<PartArg, String> {
    match text {
        "front" => Ok(PartArg::Front),
        number => number
            .parse()
            .map(PartArg::Part)
            .map_err(|_| "expected the number of a part, or front".to_owned()),
    }
}

/// Combines `--parts` and `--part`; a single part is returned separately.
pub(crate) fn combine(
    parts: Option<u32>,
    part: Option<PartArg>,
) -> Result<(PiecesToWrite, Option<PartIndex>)> {
    match (parts, part) {
        (None, _) => Ok((PiecesToWrite::Whole, None)),
        (Some(parts), None) => Ok((PiecesToWrite::All(parts), None)),
        (Some(parts), Some(PartArg::Front)) => Ok((PiecesToWrite::Front(parts), None)),
        (Some(parts), Some(PartArg::Part(part))) => match PartIndex::new(part, parts) {
            Some(cut) => Ok((PiecesToWrite::Whole, Some(cut))),
            None => Err(Failure::usage(format!("part {part} does not exist among {parts} parts"))
                .fix("give a smaller number; parts are counted from 0")),
        },
    }
}

impl EncodeJob<'_> {
    /// Encodes one part, next to an existing front.
    pub(crate) fn run_part(self, cut: PartIndex, screen: Screen) -> Result<Report> {
        std::fs::metadata(self.input).doing("reading", self.input)?;
        check_set(self.scheme, self.set.as_deref())?;
        if let SourceLayout::Keyword(_) = self.source.layout {
            let text =
                "--part does not apply to keyword tables, whose rows differ with each reading of a file";
            return Err(Failure::usage(text).fix("omit --part to make all parts at once"));
        }
        let dir = TableDir::open(self.out)?;
        let _held = dir.share()?;
        let front = dir.open_latest()?;
        let found = &front.catalog().scheme;
        if *found != self.scheme.id.to_string() {
            return Err(Failure::usage(format!("the front in this directory has scheme {found}"))
                .fix("give the front's --scheme"));
        }
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let IngestedTable { mut table, .. } = sotto_db::ingest(self.input, &self.source, self.out, &watch)?;
        if self.symmetric {
            let key = dir.oprf_key()?;
            let masker = RowMasker { table: &self.name, epoch: front.catalog().epoch, key: &key };
            let masked = masker.table(table.as_ref(), self.out, self.threads, &watch)?;
            table = Box::new(masked);
        }
        let made = encode_part(self.scheme, table.as_ref(), &front, cut, self.threads, &watch);
        let made = made?;
        bars.finish();
        let did = if made.was_there { "already complete" } else { "made" };
        let facts = grid::facts([
            ("part", format!("{} of {}, counted from 0", cut.part(), cut.parts())),
            ("epoch", made.epoch.to_string()),
            ("time", format!("{:.1} s: {did}", made.seconds)),
        ]);
        let text = format!("{} ({})\n\n{facts}", made.image.display(), units::bytes(made.image_bytes));
        Ok(Report::new(text, &json!({ "part": made })))
    }
}
