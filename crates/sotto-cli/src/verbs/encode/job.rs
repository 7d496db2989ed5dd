//! The encoding of a table, shared by `sotto encode` and the demo: all of it, in parts, or one part
//! next to an existing front; or as a stack, whose tables are the buckets of a batch code, with a
//! description of a round over it: its cost, and how often it fails.

use crate::failure::{Failure, FileContext, Result};
use crate::publication::{Output, PublishArgs, TableIdentity, check_kind, check_set, encode_into, log_line};
use crate::screen::{Report, Screen, grid, units};
use crate::table_summary;
use crate::table_summary::{StageSeconds, remarks, stage_seconds, took};
use crate::verbs::encode::scheme_choice;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::{BatchAccess, PublicKey, SigningKey, SymmetricLayer, TableName};
use sotto_core::{Compose, Epoch, Goal, PartIndex, SchemeEntry};
use sotto_db::ingest::{Notes, SourceLayout};
use sotto_db::inspect::SchemeInfo;
use sotto_db::mask::RowMasker;
use sotto_db::parts::PartSummary;
use sotto_db::{
    BatchOptions, BatchSummary, EncodeOptions, EncodeSummary, ImageFile, IngestOptions, IngestedTable,
    LogUpdate, PiecesToWrite, RowProofs, TableDir, TableSource, WriteLock, encode_batch, encode_part,
};
use sotto_layers::batch_code::Params;
use sotto_plan::SchemeChoice;
use sotto_prg::PublicSeed;
use sotto_wire::MessageSizes;
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
    pub(crate) publish: PublishArgs,
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
        encode_into(self.out, |lock| self.encode(began, lock, screen))
    }

    fn encode(self, began: Instant, lock: &WriteLock, screen: Screen) -> Result<EncodeOutcome> {
        check_kind(self.out, Output::Table)?;
        self.check_replaced()?;
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let IngestedTable { mut table, kind, value, mut layers, origin, notes } =
            sotto_db::ingest(self.input, &self.source, self.out, &watch)?;
        let key = self.publish.signing_key(lock.dir(), self.key)?;
        if self.symmetric {
            let oprf = lock.oprf_key(&mut sotto_prg::system_rng()?)?;
            let epoch = lock.next_epoch()?;
            let masker = RowMasker { table: &self.name, epoch, key: &oprf };
            let masked = masker.table(table.as_ref(), self.out, self.threads, &watch)?;
            table = Box::new(masked);
            // Layers are listed from the scheme up: a whole row is masked, with everything in it.
            layers.insert(0, SymmetricLayer::layer(&oprf.public()));
        }
        let options = EncodeOptions { kind, value, layers, ..self.options(&key) };
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

    /// The options of encoding a table by row number.
    fn options<'k>(&self, key: &'k SigningKey) -> EncodeOptions<'k> {
        EncodeOptions {
            headroom: self.headroom,
            lookups_per_client: self.lookups,
            goal: self.goal,
            set: self.set.clone(),
            verified: self.verified,
            threads: self.threads,
            attribution: self.attribution.clone(),
            lifetime: self.publish.lifetime(),
            anchor: self.publish.anchor.clone(),
            ..EncodeOptions::new(self.name.clone(), key)
        }
    }

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
        Ok(Report::new(text, &PartReport { part: made }))
    }

    /// Encodes a stack whose rounds have at most `max_batch` rows or keys.
    pub(crate) fn run_batch(self, max_batch: usize, screen: Screen) -> Result<BatchOutcome> {
        let began = Instant::now();
        std::fs::metadata(self.input).doing("reading", self.input)?;
        check_set(self.scheme, self.set.as_deref())?;
        // Existing tables may belong to a stack that was never published, and are not removed.
        let (out, ours) = (self.out, !self.out.join("tables").exists());
        encode_into(out, |lock| {
            self.encode_batch(max_batch, began, lock, screen).inspect_err(|_| {
                for folder in ["tables", "files"].iter().filter(|_| ours) {
                    // The first error is the one to report, not a failed cleanup.
                    let _ = std::fs::remove_dir_all(out.join(folder));
                }
            })
        })
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
        let key = self.publish.signing_key(lock.dir(), self.key)?;
        let options = self.options(&key);
        let seed = PublicSeed::fresh(&mut sotto_prg::system_rng()?);
        let batch = BatchOptions { max_lookups: max_batch, seed, max_queries: &MessageSizes::max_queries };
        let summary = encode_batch(self.scheme, self.input, &self.source, lock, &batch, &options, &watch)?;
        let (public_key, took, stages) = (key.public(), began.elapsed(), bars.finish());
        Ok(BatchOutcome { summary, public_key, stages, took })
    }
}

/// One part of a table that was encoded alone.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PartReport {
    part: PartSummary,
}

/// An encoded stack for batches.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BatchReport<'a> {
    /// Name of the stack.
    stack: &'a TableName,
    epoch: Epoch,
    /// Number of rows.
    rows: u64,
    /// Bytes of a row.
    row_bytes: u64,
    /// Largest number of rows or keys in a round.
    batch: usize,
    /// Parameters of the batch code.
    code: &'a Params,
    /// Number of tables.
    tables: usize,
    /// Number of lookups in a round.
    lookups: usize,
    /// Number of queries in a round.
    queries: usize,
    /// Name of the scheme.
    scheme: Option<&'a String>,
    /// The choice of the scheme, if it was not named.
    choice: Option<&'a SchemeChoice>,
    /// Bytes of a round's queries.
    up_bytes: u64,
    /// Bytes of a round's answers.
    down_bytes: u64,
    /// Bytes that a client downloads before its first round.
    artifact_bytes: u64,
    /// Bytes of the evaluation keys that a client sends.
    keys_bytes: u64,
    /// Base-2 logarithm of the bound on the probability that a round fails; null if it cannot fail.
    #[schemars(with = "Option<f64>")]
    failure_log2: f64,
    /// The part of the batch code in that probability.
    #[schemars(with = "Option<f64>")]
    code_failure_log2: f64,
    notes: &'a Notes,
    /// Digest of the stack's document.
    snapshot: String,
    /// Public key of the publisher.
    public_key: String,
    /// What was added to the publisher's log, if there is one.
    log: Option<LogUpdate>,
    /// Seconds of each stage.
    stages_s: StageSeconds,
    /// Seconds in total.
    seconds: f64,
}

/// Refuses tables that cannot be masked.
pub(super) fn check_symmetric(is_symmetric: bool, is_batch: bool, is_keyed: bool) -> Result<()> {
    match (is_batch, is_keyed) {
        _ if !is_symmetric => Ok(()),
        (true, _) => Err(Failure::usage("--batch does not apply with --symmetric")
            .fix("omit --batch; `sotto get` opens several rows of a symmetric table in one call")),
        (_, true) => Err(Failure::usage("--key does not apply with --symmetric")
            .fix("omit --key: symmetric tables are looked up by row number or by range")),
        _ => Ok(()),
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

/// The result of encoding a stack.
pub(crate) struct BatchOutcome {
    pub(crate) summary: BatchSummary,
    pub(crate) public_key: PublicKey,
    pub(crate) stages: Vec<(String, Duration)>,
    pub(crate) took: Duration,
}

impl BatchOutcome {
    /// The report of a stack; `read` says how its file was read.
    pub(super) fn report(
        &self,
        read: String,
        input: Option<&Path>,
        out: &Path,
        log: Option<LogUpdate>,
        choice: Option<&SchemeChoice>,
    ) -> Report {
        let summary = &self.summary;
        let (stack, round, catalog) = (&summary.stack, &summary.round, &summary.catalog);
        let mut text = vec![read];
        text.extend(log.as_ref().map(log_line));
        text.extend(remarks(&summary.notes, summary.image_bytes, input));
        let sizes = self.summary.layers.code().sizes();
        let (wide, value) = (catalog.row_bytes, table_summary::value(catalog.value));
        let bytes = units::bytes(summary.table_bytes);
        let (fails, code) = round.failure_log2();
        let once = match (round.artifacts, round.keys) {
            (0, 0) => "nothing".to_owned(),
            (hints, 0) => format!("{} down per epoch", units::bytes(hints)),
            (0, keys) => format!("{} of keys up per session", units::bytes(keys)),
            (hints, keys) => {
                format!("{} down per epoch, {} of keys up", units::bytes(hints), units::bytes(keys))
            }
        };
        let mut lines = vec![
            ("stack", format!("{}, epoch {}, {} tables", stack.stack, stack.epoch, round.tables)),
            ("rows", format!("{} of {wide} bytes ({bytes}), {value}", units::count(sizes.rows))),
            ("lookup by", self.asked_by()),
            ("batch code", self.code()),
        ];
        if let Some(scheme) = &round.scheme {
            lines.push(("scheme", format!("{}: {}", catalog.scheme, scheme.title)));
        }
        lines.extend([
            (
                "a round",
                format!(
                    "{} in every request: {} up, {} down",
                    table_summary::lookups(sizes.lookups(), round.queries),
                    units::bytes(round.up),
                    units::bytes(round.down)
                ),
            ),
            ("once", once),
        ]);
        if let Some(scheme) = &round.scheme {
            let model = &scheme.security_model;
            lines.push(("security", format!("{} ({model})", units::security(scheme.security_bits))));
        }
        lines.extend([(
            "a round fails",
            format!(
                "with probability {}: {} for the batch code, {} for any of its lookups",
                units::at_most(fails),
                units::at_most(code),
                units::at_most(round.lookups_fail)
            ),
        )]);
        lines.extend(choice.into_iter().flat_map(scheme_choice::lines));
        lines.extend([
            ("snapshot", table_summary::snapshot(stack.digest())),
            ("public key", self.public_key.to_string()),
            ("time", took(self.took.as_secs_f64(), &self.stages)),
        ]);
        text.push(format!("{}\n\nnext: sotto serve {}", grid::facts(lines), out.display()));
        let scheme = round.scheme.as_ref().map(|_| &catalog.scheme);
        let json = BatchReport {
            stack: &stack.stack,
            epoch: stack.epoch,
            rows: sizes.rows,
            row_bytes: wide,
            batch: self.summary.layers.max_batch(),
            code: &round.code,
            tables: round.tables,
            lookups: sizes.lookups(),
            queries: round.queries,
            scheme,
            choice,
            up_bytes: round.up,
            down_bytes: round.down,
            artifact_bytes: round.artifacts,
            keys_bytes: round.keys,
            failure_log2: fails,
            code_failure_log2: code,
            notes: &self.summary.notes,
            snapshot: table_summary::snapshot(stack.digest()),
            public_key: self.public_key.to_string(),
            log,
            stages_s: stage_seconds(&self.stages),
            seconds: self.took.as_secs_f64(),
        };
        Report::new(text.join("\n"), &json)
    }

    fn asked_by(&self) -> String {
        let max_batch = self.summary.layers.max_batch();
        match &self.summary.layers {
            BatchAccess::Rows { kind, .. } => {
                format!("{}; up to {max_batch} per round", table_summary::kind(kind))
            }
            BatchAccess::Keys(Compose(keywords, _)) => {
                let params = keywords.keyword().params();
                format!(
                    "key ({}), up to {max_batch} per round; a missing key is found with probability {}",
                    params.form.name(),
                    units::at_most(params.false_positive_log2())
                )
            }
        }
    }

    fn code(&self) -> String {
        let sizes = self.summary.layers.code().sizes();
        let spare = match sizes.spare {
            0 => String::new(),
            1 => ", and 1 lookup in the complete table".to_owned(),
            n => format!(", and {n} lookups in the complete table"),
        };
        if sizes.copies == 0 {
            return format!("none: for so few rows, {} lookups in the complete table", sizes.spare);
        }
        let (buckets, rows) =
            (self.summary.layers.code().buckets(), units::count(self.summary.layers.code().bucket_rows()));
        format!("each row in {} of {buckets} buckets of {rows} rows{spare}", sizes.copies)
    }
}
