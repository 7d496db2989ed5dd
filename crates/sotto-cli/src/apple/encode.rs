//! `sotto encode --apple`, which encodes the same files as a table of Apple's lookups, and the update
//! of such a table.

use crate::apple::{self, UseCaseReport};
use crate::failure::{Exit, Failure, FileContext, Result};
use crate::publication::{Output, check_kind, encode_into};
use crate::screen::{Report, Screen, grid, units};
use crate::source_args::SourceArgs;
use crate::table_summary::{StageSeconds, remarks, stage_seconds, took};
use crate::update_args::{NEXT, Update, dry_run};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_apple::image::description::KeyCompression;
use sotto_apple::image::update::remove_older;
use sotto_apple::image::{
    IngestSummary, OpenUseCase, PreviousEpoch, SourceFile, UseCaseDescription, UseCaseKind, UseCaseOptions,
    UseCaseSummary, encode_file, encode_index, open, oprf,
};
use sotto_apple::sets::{ParamsSet, WeakParams, find};
use sotto_catalog::{RowForm, TableKind, ValueKind};
use sotto_db::image::ForeignImage;
use sotto_db::ingest::{Encoding, FileOptions, IngestOptions, Notes, PairColumns, SourceLayout};
use sotto_db::update::{ChangeCounts, ChangeFile, IndexTable, KeyedTable, read_keys, read_rows};
use sotto_db::{Progress, TableDir, WriteLock};
use sotto_layers::keyword::KeyForm;
use sotto_oprf::p384::SecretKey;
use std::path::Path;
use std::time::{Duration, Instant};

/// Default maximum bytes of a bucket: two of them fit into a plaintext of the default set.
const BUCKET_BYTES: usize = 1024;

/// Default parameter set, which is that of Apple's tools.
const SET: &str = "n_4096_logq_27_28_28_logt_5";

/// Arguments of tables of Apple's lookups.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Apple's lookups")]
pub(crate) struct AppleArgs {
    /// Make a table of Apple's private lookups
    #[arg(long, conflicts_with_all = ["scheme", "batch", "lookups", "goal", "row_proofs", "no_row_proofs", "signing_key",
        "attribution", "catalog_log", "expires", "anchor", "name", "probes", "slots", "band", "start", "end"])]
    apple: bool,
    /// Name of the use case in phones' requests [default: the directory's]
    #[arg(long, value_name = "NAME", requires = "apple")]
    use_case: Option<String>,
    /// Keyword tables: number of shards. A query reveals the shard of its key, and costs as many
    /// times less
    #[arg(long, value_name = "N", requires_all = ["apple", "key"], default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=65536))]
    shards: u32,
    /// Keyword tables: maximum bytes of a bucket [default: 1024]
    #[arg(long, value_name = "N", requires_all = ["apple", "key"])]
    bucket_bytes: Option<usize>,
    /// Keyword tables: number of buckets in each of a shard's two tables [default: as few as hold
    /// the keys]
    #[arg(long, value_name = "N", requires_all = ["apple", "key"])]
    buckets: Option<usize>,
    /// Which keys a client leaves out: none, hybrid or most; fewer keys mean more work for each
    /// query
    #[arg(long, value_name = "HOW", requires = "apple", default_value = "none", value_parser = compression)]
    compress_keys: KeyCompression,
    /// Index tables: store the length of each row, which only newer clients can read
    #[arg(long, requires = "apple", conflicts_with = "key")]
    lengths: bool,
    /// Accept a parameter set of less than 128 bits of security
    #[arg(long, requires = "apple")]
    allow_insecure_params: bool,
}

impl AppleArgs {
    pub(crate) fn is_requested(&self) -> bool {
        self.apple
    }

    fn weak(&self) -> WeakParams {
        if self.allow_insecure_params { WeakParams::Allow } else { WeakParams::Reject }
    }
}

fn compression(text: &str) -> Result<KeyCompression, &'static str> {
    match text {
        "none" => Ok(KeyCompression::None),
        "hybrid" => Ok(KeyCompression::Hybrid),
        "most" => Ok(KeyCompression::Most),
        _ => Err("expected none, hybrid or most"),
    }
}

/// The options of `sotto encode` that apply to such tables.
pub(crate) struct AppleJob<'a> {
    pub(crate) args: &'a AppleArgs,
    pub(crate) source: &'a SourceArgs,
    pub(crate) out: &'a Path,
    pub(crate) set: Option<&'a str>,
    pub(crate) symmetric: bool,
    pub(crate) replace: bool,
    pub(crate) threads: Option<usize>,
}

impl AppleJob<'_> {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        let (set, began) = (self.params_set()?, Instant::now());
        let options = self.source.options(None, sotto_db::ingest::BandPolicy::Never)?;
        let use_case = self.use_case_options(set, &options)?;
        // Checked first: a mistyped input should not leave a directory behind.
        let Some(input) = self.source.input() else {
            return Err(Failure::usage("no input file is given").fix("give the file to encode"));
        };
        std::fs::metadata(input).doing("reading", input)?;
        let bars = screen.bars();
        let watch = |at: Progress| bars.watch(None, at);
        let (written, read) = encode_into(self.out, |lock| {
            self.check_replaced(lock, &use_case)?;
            let key = self.sealing_key(lock)?;
            let (written, read) = self.write(input, &options, &use_case, key.as_ref(), lock, &watch)?;
            lock.keep_origin(&read.origin)?;
            Ok((written, read))
        })?;
        let stages = bars.finish();
        let opened = open(&written.path, use_case.weak)?;
        Ok(self.report(&written, &read, &opened, &stages, began.elapsed()))
    }

    fn params_set(&self) -> Result<ParamsSet> {
        let set = find(self.set.unwrap_or(SET));
        set.map_err(|error| Failure::new(Exit::Params, error.to_string()))
    }

    fn use_case_options(&self, set: ParamsSet, options: &IngestOptions) -> Result<UseCaseOptions> {
        // Numbers have all of their bytes.
        let value_bytes = if let Encoding::Unsigned(bytes) = self.source.encoding { bytes.into() } else { 0 };
        let (form, value) = match &options.layout {
            SourceLayout::Keyword(keyword) => {
                let kind =
                    keyword.value.as_ref().map_or(ValueKind::Bytes, |_| keyword.values.encoding.kind());
                (keyword.form, kind)
            }
            SourceLayout::Index(_) | SourceLayout::Raw { .. } if self.symmetric => {
                return Err(Failure::usage("an index table of Apple's lookups cannot be symmetric")
                    .fix("give --key, since sealed rows are named by their keys"));
            }
            SourceLayout::Index(index) => (KeyForm::Text, index.values.encoding.kind()),
            SourceLayout::Raw { value, .. } => (KeyForm::Text, *value),
            SourceLayout::Range(_) => return Err(Failure::usage("Apple's lookups have no range tables")),
        };
        if self.args.buckets.is_some() && self.source.headroom > 0 {
            return Err(Failure::usage("--headroom and --buckets both set the number of buckets")
                .fix("omit one of them"));
        }
        if self.source.headroom > 0 && !matches!(options.layout, SourceLayout::Keyword(_)) {
            return Err(
                Failure::usage("an index table of Apple's lookups has no headroom").fix("omit --headroom")
            );
        }
        let folder = self.out.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Ok(UseCaseOptions {
            name: self.args.use_case.clone().unwrap_or_else(|| folder.to_owned()),
            set,
            weak: self.args.weak(),
            compression: self.args.compress_keys,
            value,
            value_bytes,
            form,
            shards: self.args.shards as usize,
            bucket_bytes: self.args.bucket_bytes.unwrap_or(BUCKET_BYTES),
            buckets: self.args.buckets,
            headroom: self.source.headroom,
        })
    }

    /// Refuses to put this table on top of another one.
    fn check_replaced(&self, lock: &WriteLock, use_case: &UseCaseOptions) -> Result<()> {
        check_kind(self.out, Output::Apple)?;
        let Some(epoch) = lock.dir().latest()? else { return Ok(()) };
        let other = match ForeignImage::open(&lock.dir().image_path(epoch)) {
            Ok(_) => match open(self.out, WeakParams::Allow) {
                Ok(there) if there.name != use_case.name => format!("holds the use case {:?}", there.name),
                Ok(there) if there.description.oprf.is_some() != self.symmetric => match self.symmetric {
                    true => "holds a table that is not symmetric".to_owned(),
                    false => "holds a symmetric table, and the next epoch would be in the clear".to_owned(),
                },
                // A damaged epoch is no reason to refuse a new one.
                _ => return Ok(()),
            },
            Err(_) => "holds another kind of table".to_owned(),
        };
        if self.replace {
            return Ok(());
        }
        Err(Failure::usage(format!("{} {other}", self.out.display()))
            .fix("give another --out, or --replace to replace the existing table"))
    }

    /// The key that masks the rows of a symmetric table.
    fn sealing_key(&self, lock: &WriteLock) -> Result<Option<SecretKey>> {
        if !self.symmetric {
            return Ok(None);
        }
        let mut rng = sotto_prg::system_rng()?;
        oprf::read_or_make(lock, &mut rng).map(Some).map_err(Failure::from)
    }

    fn report(
        &self,
        written: &UseCaseSummary,
        IngestSummary { notes, .. }: &IngestSummary,
        opened: &OpenUseCase,
        stages: &[(String, Duration)],
        time: Duration,
    ) -> Report {
        let mut text = vec![
            format!("{} ({})\n", written.path.display(), units::bytes(written.file_bytes)),
            self.source.description(notes.lines),
        ];
        text.extend(remarks(notes, written.file_bytes, self.source.input()));
        let (mut lines, seconds) = (apple::facts(opened), time.as_secs_f64());
        lines.push(("time", took(seconds, stages)));
        text.push(format!("{}\n\nnext: sotto serve --apple {}", grid::facts(lines), self.out.display()));
        let (summary, stages_s) = (UseCaseReport::new(opened), stage_seconds(stages));
        Report::new(text.join("\n"), &UseCaseEncodeReport { summary, notes, stages_s, seconds })
    }

    fn write(
        &self,
        input: &Path,
        options: &IngestOptions,
        use_case: &UseCaseOptions,
        key: Option<&SecretKey>,
        lock: &WriteLock,
        watch: sotto_db::Watcher<'_>,
    ) -> Result<(UseCaseSummary, IngestSummary)> {
        if let SourceLayout::Keyword(keyword) = &options.layout {
            let columns = PairColumns {
                key: &keyword.key,
                form: keyword.form,
                value: keyword.value.as_ref(),
                values: &keyword.values,
            };
            let from = SourceFile { path: input, file: &options.file, columns };
            return encode_file(from, use_case, key, lock, self.threads, watch).map_err(Failure::from);
        }
        let read = sotto_db::ingest(input, options, lock.dir().path(), watch)?;
        let form = RowForm::of_rows(read.value, &read.layers)
            .ok_or_else(|| Failure::internal("no such form of rows".to_owned()))?;
        if matches!(form, RowForm::Length(_)) && !self.args.lengths {
            return Err(Failure::input("values have different lengths, which an index table does not store")
                .fix("use values of one length, or text; or give --lengths, if all clients support it"));
        }
        let lengths = self.args.lengths.then_some(form);
        let encode = || encode_index(read.table.as_ref(), lengths, use_case, lock, watch);
        let written = sotto_db::encode::in_pool(self.threads, encode);
        let written = written??;
        Ok((written, IngestSummary { origin: read.origin, notes: read.notes }))
    }
}

/// Text that is printed first, since the update takes longer, and clients notice it.
const REENCODED: &str = "\
the rows do not fit: the whole table is encoded again, larger, and clients fetch its configuration again";

impl Update {
    pub(crate) fn apple(&self, dir: &TableDir, header: Option<bool>, screen: Screen) -> Result<Report> {
        let is_signed = self.signing_key.is_some() || self.publish.is_given();
        let (Some(changes), false) = (self.changes.as_deref(), is_signed) else {
            return Err(Failure::usage(
                "--signing-key, --expires, --anchor and --catalog-log do not apply to a table of Apple's lookups",
            )
            .fix("omit them"));
        };
        let began = Instant::now();
        let lock = dir.lock()?;
        let weak = if self.allow_insecure_params { WeakParams::Allow } else { WeakParams::Reject };
        let before = PreviousEpoch::open(&lock, weak)?;
        let from = before.description().clone();
        let bars = screen.bars();
        let watch = |at: Progress| bars.watch(None, at);
        let (update, remarks) = self.read_apple(changes, &lock, before, header, &watch)?;
        if update.is_nothing() {
            let error = sotto_db::DbError::NoChanges(changes.to_owned());
            return Err(Failure::from(error));
        }
        let (tally, is_reencoded) = (update.tally(), update.is_anew());
        if is_reencoded {
            screen.print_text(REENCODED)?;
        }
        self.announce(tally, &remarks, screen)?;
        if self.dry_run {
            return Ok(dry_run(tally));
        }
        let done = sotto_db::encode::in_pool(self.threads, || update.apply(&watch));
        let (written, plaintexts) = done??;
        let keep = self.keep_epochs.map(|keep| remove_older(&lock, keep.into()));
        let (removed, freed) = keep.transpose()?.unwrap_or_default();
        let stages = bars.finish();
        let UseCaseSummary { path, file_bytes, description, .. } = &written;
        let all: u64 = description
            .shards
            .iter()
            .map(|shard| shard.dimensions.iter().product::<u64>() * description.kind.tables() as u64)
            .sum();
        let configuration = if is_reencoded { "new: clients fetch it again" } else { "unchanged" };
        let facts = grid::facts([
            ("use case", description.name.clone()),
            ("epoch", format!("{}, from {}", description.epoch, from.epoch)),
            ("rows", units::count(description.rows())),
            ("encoded", format!("{} of {} plaintexts", units::count(plaintexts), units::count(all))),
            ("configuration", configuration.to_owned()),
            ("time", took(began.elapsed().as_secs_f64(), &stages)),
        ]);
        let mut text = format!("{} ({})\n\n{facts}\n", path.display(), units::bytes(*file_bytes));
        if removed > 0 {
            text += &format!("old epochs: {removed} removed, {} freed\n", units::bytes(freed));
        }
        let json = UseCaseUpdateReport {
            summary: UseCaseUpdate {
                image: path,
                image_bytes: *file_bytes,
                epoch: description.epoch,
                from_epoch: from.epoch,
                changes: tally,
                reencoded: is_reencoded,
                plaintexts,
                description,
            },
            removed,
            stages_s: stage_seconds(&stages),
            seconds: began.elapsed().as_secs_f64(),
        };
        Ok(Report::new(text + NEXT, &json))
    }

    /// Reads the file of changes, by keys or by row numbers, and remarks for its owner.
    fn read_apple<'a>(
        &self,
        changes: &Path,
        lock: &WriteLock,
        before: PreviousEpoch<'a>,
        header: Option<bool>,
        watch: sotto_db::Watcher<'_>,
    ) -> Result<(sotto_apple::image::UseCaseUpdate<'a>, Vec<String>)> {
        let description = before.description().clone();
        let origin = lock.dir().origin()?;
        let kind = match description.kind {
            UseCaseKind::Keyword { .. } => TableKind::Keyword,
            UseCaseKind::Index | UseCaseKind::IndexWithLengths => TableKind::Index,
        };
        let file = ChangeFile {
            file: FileOptions { format: self.format, delimiter: self.delimiter, header },
            columns: self.columns(&kind)?,
            delete: self.delete.clone(),
            encoding: self.encoding,
        };
        let UseCaseKind::Keyword { form, .. } = description.kind else {
            let (rows, row_bytes) =
                description.shards.first().map_or((0, 0), |shard| (shard.entries, shard.entry_bytes));
            let form = match description.kind.row_form(row_bytes) {
                Some(RowForm::Whole) | None if description.value == ValueKind::Text => RowForm::Text,
                form => form.unwrap_or(RowForm::Whole),
            };
            let table = IndexTable { value: description.value, form, rows, row_bytes };
            let rows = read_rows(changes, &file, origin.as_ref(), table, watch);
            let rows = rows?;
            let update = before.change_rows(padded(rows, row_bytes))?;
            return Ok((update, Vec::new()));
        };
        let is_set = description.value == ValueKind::Bytes && description.value_bytes == 0;
        let keyed = KeyedTable {
            form,
            key_bytes: form.max_bytes(),
            value: (!is_set).then_some(description.value),
            value_bytes: description.value_bytes,
        };
        let read = read_keys(changes, &file, origin.as_ref(), keyed, watch)?;
        let remarks = read.notes.remarks();
        let lines = read.lines.into_iter().map(|(key, line)| (key.to_vec(), line.value)).collect();
        let update = sotto_db::encode::in_pool(self.threads, || before.change_keys(lines));
        Ok((update??, remarks))
    }
}

/// Pads shorter rows with zeros.
fn padded(
    mut rows: std::collections::BTreeMap<u64, Vec<u8>>,
    row_bytes: u64,
) -> std::collections::BTreeMap<u64, Vec<u8>> {
    rows.values_mut().for_each(|row| row.resize(row_bytes as usize, 0));
    rows
}

/// An encoded table of Apple's lookups.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UseCaseEncodeReport<'a> {
    summary: UseCaseReport<'a>,
    notes: &'a Notes,
    /// Seconds of each stage.
    stages_s: StageSeconds,
    /// Seconds in total.
    seconds: f64,
}

/// The next epoch of a table of Apple's lookups.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UseCaseUpdateReport<'a> {
    summary: UseCaseUpdate<'a>,
    /// Number of old epochs that were removed.
    removed: usize,
    /// Seconds of each stage.
    stages_s: StageSeconds,
    /// Seconds in total.
    seconds: f64,
}

/// What an update of a table of Apple's lookups did.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UseCaseUpdate<'a> {
    /// Path of the image.
    image: &'a Path,
    /// Bytes of the image.
    image_bytes: u64,
    /// Number of the new epoch.
    epoch: u64,
    /// Number of the epoch that was updated.
    from_epoch: u64,
    changes: ChangeCounts,
    /// Whether all of it was encoded again.
    reencoded: bool,
    /// Number of plaintexts that were encoded.
    plaintexts: u64,
    description: &'a UseCaseDescription,
}
