//! `sotto encode`: makes a servable table from a file, and prints the decisions. [`job`] has the
//! encoding itself, for this verb and the demo.

pub(crate) mod job;
mod scheme_choice;

use crate::apple::encode::{AppleArgs, AppleJob};
use crate::failure::{Exit, Failure, Result};
use crate::publication::{PublishArgs, log_line};
use crate::screen::progress::StageUnit;
use crate::screen::{Report, Screen, grid, units};
use crate::source_args::{SchemeArg, SourceArgs, goal, scheme};
use crate::table_summary::{StageSeconds, remarks, stage_seconds};
use crate::verbs::encode::job::{EncodeJob, EncodeOutcome};
use crate::{files, table_summary};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::TableName;
use sotto_core::Goal;
use sotto_db::ingest::{BandPolicy, CostModel, Notes};
use sotto_db::inspect::SchemeInfo;
use sotto_db::{EncodeSummary, LogUpdate, RowProofs, latest_scheme};
use sotto_plan::default_scheme::LOOKUPS_OF_NAMED;
use sotto_plan::{PlanChoice, SchemeChoice, SchemeRequest};
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "\
Example:
  sotto encode words.csv --value meaning --out tables/words
  sotto encode blocked.csv --key domain --key-form domain --value verdict --out tables/blocked
  sotto encode ip.csv.gz --key-type ipv4 --start 1 --end 2 --value 3 --block 256 --out tables/ip-country
  sotto encode hashes.bin --row-bytes 32 --out tables/hashes
  sotto encode hashes.bin --row-bytes 32 --symmetric --out tables/sold
  sotto encode hashes.bin --row-bytes 32 --batch 20 --out tables/twenty
  sotto encode callers.csv --key number --value name --apple --use-case org.example.callers --out tables/phones
  sotto encode hashes.bin --row-bytes 32 --parts 2 --out tables/cut";

const DETAILS: &str = "\
An index table has one row per line of the file, and is looked up by row number. A range table (--start, \
--end) has one row per block of keys, and is looked up by key, such as an IP address. A keyword table \
(--key) has values for arbitrary keys, and is looked up by key, whether or not it has that key. Encoding \
again into the same directory makes the table's next epoch; for a few changed rows `sotto update` is faster.

Values are returned byte for byte. If bytes (hex, base64, raw) have different lengths, each row stores the \
length of its value in 1 to 4 bytes; values of one length, raw rows, numbers and text take no extra bytes. \
--headroom N adds N empty rows, or room for N keys, for updates. Empty rows cost what rows cost: work of \
the server, and bytes where they grow with the table. Without headroom, appending a row takes encoding the \
complete table again.

Without --scheme, the scheme is taken that costs one client and its servers least in an epoch: bytes, at \
80 ns each, and computing, for --lookups lookups. It is one of one server whose clients have no state to \
lose. The choice depends on the table and the options alone, and is printed with the second choice. A table \
that is smaller than the lookups in it becomes downloadable (--scheme trivial): clients download it once, \
and a lookup sends nothing. In a directory that has a table, its scheme is kept.

A next epoch with another kind of lookup, another scheme or other columns is refused without --replace.

The keys of a keyword table have a --key-form, which publisher and clients normalize to, so that \
Example.COM. and example.com are one domain. All values are padded to the longest; --row-bytes sets a \
larger limit for later updates. The number of keys in a row is chosen to minimize the cost of a lookup \
with the scheme, for --lookups lookups per client; --probes and --slots override it. The rows are stored \
beside the image for updates. With schemes that add rows up, a key may be encoded in the sum of a few rows \
(a band), which clients cannot verify. A band is used with --band, or where it makes lookups cheaper and \
the table has no row proofs anyway.

With --batch B the directory gets a stack of several tables, made by a batch code. One round queries all \
of them and returns up to B rows, or the values of B keys. The server learns neither which nor how many. \
The tables take several copies of the rows on disk, and one more while they are written, in mapped memory \
that the system can reclaim. Above ten rows this is less work for the server than separate lookups. B is \
at most 4096, and less if a key may lie in several rows. A stack has at most \
1024 tables, so for large rounds choose a scheme that holds all buckets in one table: vbpir, pirana, \
fastpir, sealpir, ypir-sp. With these a round is one query to all buckets, under one secret, and keys that a \
query has are sent once. For up to eight rows a small table is copied, with a bucket for each row, if that \
saves a quarter of the bytes.

With --symmetric a client learns the rows that the server grants and nothing else, even if it does not \
follow the protocol. Each row is masked, and opens with one evaluation of an oblivious pseudorandom \
function. The function's key lies in the directory (oprf.key), beside the signing key. Keep both: an \
update needs them, and `sotto serve` needs oprf.key. The server sees that a row is opened, but not which \
one. Masking takes a scalar multiplication per row, and adds 24 bytes to each row.

With --apple the table is one of Apple's private lookups, which phones make; `sotto serve --apple` serves \
it. Keys are put into buckets as that protocol specifies, and an index table has its rows unchanged. It \
has no catalog and no signature. With --symmetric its rows are sealed as that protocol specifies, which \
adds 16 bytes and takes a millisecond per row. A row key that a client opened once opens that row in every \
later epoch.

With --parts P the table is cut into P parts and a front, which has what clients fetch. `sotto serve` \
answers from all parts together, and every answer has the same bytes as with one image. Parts may be on \
other machines, for a coordinator that joins their partial answers. --part front makes the front alone, \
and --part I then makes part I, from 0, of the same file with the same options: several in parallel, or \
again if one was lost. A complete part is left as it is. Cutting takes the table's size on disk once more.

The directory gets a signing key of its own unless --signing-key names one. Whoever can read that key can \
publish in your name; clients pin its public half, which is printed.

--plan takes the choice of a plan; see `sotto plan`.";

/// Arguments of `sotto encode`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE, after_long_help = format!("{EXAMPLE}\n\n{DETAILS}"))]
#[command(mut_arg("input", |input| input.required(true)))]
pub(crate) struct Encode {
    /// Directory of the table; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Name of the table, of a-z, 0-9 and '-' [default: the directory's]
    #[arg(long)]
    name: Option<TableName>,
    /// Scheme of the table; `sotto schemes` lists them [default: that of the existing table, or the
    /// one that costs least for --lookups]
    #[arg(long, value_parser = scheme)]
    scheme: Option<SchemeArg>,
    /// Take scheme, parameters and layout from a plan (`sotto plan --out FILE`)
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "scheme", "goal", "set", "lookups", "batch", "symmetric", "row_proofs", "no_row_proofs", "probes", "slots", "band",
    ])]
    plan: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// Mask the rows, so that a client learns only the rows that the server grants
    #[arg(long)]
    symmetric: bool,
    /// Make a stack for lookups of up to B rows, or keys, in one round
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u16).range(1..=4096))]
    batch: Option<u16>,
    /// Cut the table into P parts and a front
    #[arg(long, value_name = "P", conflicts_with = "batch", value_parser = clap::value_parser!(u32).range(1..=9999))]
    parts: Option<u32>,
    /// Make only one part, counted from 0, or the front, which must be made first
    #[arg(long, value_name = "I|front", requires = "parts", value_parser = job::parse_part)]
    part: Option<job::PartArg>,
    /// Expected lookups of one client per epoch, which weigh what it fetches once against queries
    /// [default: 100; with --scheme: 1000]
    #[arg(long, value_name = "N")]
    lookups: Option<u64>,
    /// Goal of choosing the parameters of --scheme, if it has a choice [default: server-time]
    #[arg(long, value_parser = goal)]
    goal: Option<Goal>,
    /// Named parameter set of --scheme, in place of a goal; `sotto schemes NAME` lists them
    #[arg(long, visible_alias = "ring", value_name = "NAME")]
    set: Option<String>,
    /// Add row proofs, so that clients verify each row [default: if they add at most a tenth to
    /// bytes and work]
    #[arg(long, conflicts_with = "no_row_proofs")]
    row_proofs: bool,
    /// Add no row proofs
    #[arg(long)]
    no_row_proofs: bool,
    /// Threads for encoding [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// File of the signing key; created if missing [default: signing.key in the directory]
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
    /// Replace a table that has another kind of lookup, another scheme or other columns
    #[arg(long)]
    replace: bool,
    /// Attribution of the data, as its license requires it
    #[arg(long, value_name = "TEXT")]
    attribution: Option<String>,
    #[command(flatten)]
    publish: PublishArgs,
    // The last one: its heading is that of all arguments after it.
    #[command(flatten)]
    apple: AppleArgs,
}

impl Encode {
    pub(crate) fn run(mut self, screen: Screen) -> Result<Report> {
        if self.apple.is_requested() {
            if self.plan.is_some() {
                return Err(Failure::usage("--plan does not apply with --apple").fix("omit --plan"));
            }
            let Encode { source, out, set, symmetric, replace, threads, apple: args, .. } = &self;
            let set = set.as_deref();
            let (symmetric, replace, threads) = (*symmetric, *replace, *threads);
            return AppleJob { args, source, out, set, symmetric, replace, threads }.run(screen);
        }
        if let Some(path) = self.plan.take() {
            self.take(read_plan(&path)?)?;
        }
        let Some(input) = self.source.input().map(Path::to_owned) else {
            return Err(Failure::usage("no input file is given").fix("give the file to encode"));
        };
        job::check_symmetric(self.symmetric, self.batch.is_some(), self.source.is_keyed())?;
        let choice = match self.scheme {
            Some(_) => None,
            None => Some(self.choose(&input, screen)?),
        };
        let (entry, goal, lookups) = match (&choice, self.scheme) {
            (Some(choice), _) => (choice.entry, choice.goal, choice.lookups),
            (None, named) => (
                named.map(SchemeArg::entry).ok_or_else(|| Failure::internal("no scheme was chosen"))?,
                self.goal.unwrap_or_default(),
                self.lookups.unwrap_or(LOOKUPS_OF_NAMED),
            ),
        };
        let costing = CostModel {
            entry,
            lookups_per_client: lookups,
            goal,
            set: self.set.clone(),
            batch: self.batch.map(usize::from),
        };
        // Sums of rows prove none of them, and batch codes fetch rows.
        let bands = match (self.row_proofs, self.no_row_proofs, self.batch) {
            (true, ..) | (.., Some(_)) => BandPolicy::Never,
            (_, true, _) => BandPolicy::IfCheaper,
            _ => BandPolicy::IfNoRowProofs,
        };
        let (pieces, single) = job::combine(self.parts, self.part)?;
        let job = EncodeJob {
            pieces,
            input: &input,
            out: &self.out,
            name: self.table_name()?,
            scheme: entry,
            source: self.source.options(Some(costing), bands)?,
            headroom: self.source.headroom()?,
            replace: self.replace,
            lookups,
            goal,
            set: self.set.clone(),
            symmetric: self.symmetric,
            verified: match (self.row_proofs, self.no_row_proofs, self.batch) {
                (true, ..) => RowProofs::Yes,
                // The tables of a stack are queried together, so the cost of proofs is added many
                // times.
                (_, true, _) | (.., Some(_)) => RowProofs::No,
                _ => RowProofs::IfCheap,
            },
            threads: self.threads,
            key: self.signing_key.as_deref(),
            publish: self.publish.clone(),
            attribution: self.attribution.clone(),
        };
        if let Some(part) = single {
            return job.run_part(part, screen);
        }
        if let Some(max_batch) = self.batch {
            let done = job.run_batch(max_batch.into(), screen)?;
            let log = self.publish.write_with(&self.out, self.signing_key.as_deref())?;
            let read = self.source.description(done.summary.notes.lines);
            return Ok(done.report(read, self.source.input(), &self.out, log, choice.as_ref()));
        }
        let done = job.run(screen)?;
        let log = self.publish.write_with(&self.out, self.signing_key.as_deref())?;
        Ok(self.report(&done, log, lookups, choice.as_ref()))
    }

    /// Chooses a scheme, since none was named.
    fn choose(&self, input: &Path, screen: Screen) -> Result<SchemeChoice> {
        for (option, is_given) in [("--goal", self.goal.is_some()), ("--set", self.set.is_some())] {
            if is_given {
                return Err(Failure::usage(format!("{option} chooses parameters of a named scheme"))
                    .fix(format!("give --scheme too, or omit {option}")));
            }
        }
        let existing = if self.replace { None } else { latest_scheme(&self.out)? };
        let existing = existing.map(|id| scheme(&id)).transpose();
        let existing =
            existing.map_err(|why| Failure::new(Exit::Params, why).fix("give --scheme and --replace"))?;
        // Beside the table, since the system's temporary folder may be smaller.
        let beside = self.out.ancestors().skip(1).find(|folder| folder.is_dir());
        let (data, _) = self.source.survey(input, beside, screen)?;
        let request = SchemeRequest {
            data,
            lookups: self.lookups,
            batch: self.batch,
            parts: self.parts,
            symmetric: self.symmetric,
            verified: self.row_proofs,
            band: self.source.is_band(),
            existing: existing.map(SchemeArg::entry),
        };
        let bars = screen.bars();
        bars.at("choosing a scheme", 0, 0, StageUnit::Share);
        let choice = request.choose()?;
        bars.finish();
        Ok(choice)
    }

    fn table_name(&self) -> Result<TableName> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let folder = self.out.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        folder.to_ascii_lowercase().parse().map_err(|error| {
            Failure::usage(format!("directory name {folder:?} is not a table name: {error}"))
                .fix("give --name")
        })
    }

    fn report(
        &self,
        done: &EncodeOutcome,
        log: Option<LogUpdate>,
        lookups: u64,
        choice: Option<&SchemeChoice>,
    ) -> Report {
        let EncodeOutcome { summary, notes, scheme, image, public_key, stages, took } = done;
        let (catalog, public_key) = (image.catalog(), public_key.to_string());
        let mut text: Vec<String> = log.iter().map(log_line).collect();
        text.push(format!("{} ({})\n", summary.image.display(), units::bytes(summary.image_bytes)));
        text.push(self.source.description(notes.lines));
        text.extend(remarks(notes, summary.image_bytes, self.source.input()));
        let mut lines = table_summary::lines(catalog, Some(scheme), &public_key);
        match choice {
            Some(choice) => lines.extend(scheme_choice::lines(choice)),
            None => lines.extend(chosen_for(lookups, done)),
        }
        if summary.stored_rows_bytes > 0 {
            lines.push((
                "stored",
                format!("{} of rows, for updates", units::bytes(summary.stored_rows_bytes)),
            ));
        }
        lines.push(("time", table_summary::took(took.as_secs_f64(), stages)));
        text.push(format!("{}\n\nnext: sotto serve {}", grid::facts(lines), self.out.display()));
        let json = EncodeReport {
            summary,
            notes,
            table: &catalog.table,
            scheme,
            choice,
            snapshot: table_summary::snapshot(catalog.digest()),
            public_key,
            log,
            stages_s: stage_seconds(stages),
            seconds: took.as_secs_f64(),
        };
        Report::new(text.join("\n"), &json)
    }

    /// Applies the choice.
    pub(crate) fn take(&mut self, choice: PlanChoice) -> Result<()> {
        let named = scheme(&choice.scheme).map_err(|why| {
            Failure::new(Exit::Params, format!("the plan has scheme {}: {why}", choice.scheme))
                .fix("make the plan again with this build")
        })?;
        (self.scheme, self.goal) = (Some(named), Some(choice.goal()?));
        self.source.arrange(choice.keys)?;
        (self.set, self.lookups, self.batch) = (choice.set, Some(choice.lookups), choice.batch);
        (self.symmetric, self.row_proofs, self.no_row_proofs) =
            (choice.symmetric, choice.verified, !choice.verified);
        Ok(())
    }
}

/// An encoded table.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EncodeReport<'a> {
    summary: &'a EncodeSummary,
    notes: &'a Notes,
    /// Name of the table.
    table: &'a TableName,
    scheme: &'a SchemeInfo,
    /// The choice of the scheme, if it was not named.
    choice: Option<&'a SchemeChoice>,
    /// Digest of the catalog.
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

/// The reason for the shape of the table, and the bytes of a download if they are fewer.
fn chosen_for(lookups: u64, done: &EncodeOutcome) -> Vec<(&'static str, String)> {
    let scheme = &done.scheme;
    let each = scheme.query_bytes.saturating_add(scheme.answer_bytes);
    let once = scheme.artifact_bytes.saturating_add(scheme.keys_bytes);
    let all = once.saturating_add(lookups.saturating_mul(each));
    let catalog = done.image.catalog();
    let table = catalog.rows.saturating_mul(catalog.row_bytes);
    let chosen = format!(
        "{} in total for {} lookups of one client per epoch (--lookups), with {}",
        units::bytes(all),
        units::count(lookups),
        if scheme.keys_bytes > 0 { "keys" } else { "the hint" },
    );
    let download = || ("a download", format!("{}, which is less (--scheme trivial)", units::bytes(table)));
    std::iter::once(("chosen for", chosen)).chain((table < all).then(download)).collect()
}

/// Maximum bytes of a plan, which has some kilobytes for each layout.
const MAX_BYTES: u64 = 64 << 20;

/// Reads the choice from a plan's file.
pub(crate) fn read_plan(path: &Path) -> Result<PlanChoice> {
    PlanChoice::parse(&files::read("reading", path, MAX_BYTES)?).map_err(|error| {
        let failure = Failure::from(error);
        Failure { message: format!("{}: {}", path.display(), failure.message), ..failure }
    })
}
