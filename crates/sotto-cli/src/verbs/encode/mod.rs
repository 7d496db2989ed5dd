//! `sotto encode`: a file in, a table that can be served out; and what was decided on the way.
//!
//! | module | what lives there |
//! |---|---|
//! | `batch` | a stack for several rows at once |
//! | [`list`] | which schemes and parameter sets there are |
//! | `replace` | what is in the directory already, and may not be put away without a word |
//! | `round` | what a round over such a stack costs, and how often it fails |
//! | [`source`] | which file, which columns, which kind of table |
//! | [`traces`] | what is removed again if nothing comes of it |

mod batch;
pub(crate) mod list;
mod replace;
mod round;
pub(crate) mod source;
mod traces;

use crate::blame;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, grid, units};
use crate::verbs::openly::Openly;
use crate::verbs::promise;
use serde_json::json;
use sotto_catalog::{Masked, PublicKey, TableName};
use sotto_core::{Goal, SchemeEntry};
use sotto_db::ingest::{Bands, Costing, Layout};
use sotto_db::inspect::SchemeInfo;
use sotto_db::mask::Masker;
use sotto_db::{
    EncodeOptions, EncodeSummary, ImageFile, IngestOptions, Ingested, StackDir, TableDir, Verified, WriteLock,
};
use sotto_prg::SystemRng;
use source::Source;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use traces::Traces;

const EXAMPLE: &str = "\
An index table has one line of the file per row, and is asked by row number. A range table (--start, --end) \
has one row per block of keys, and is asked by key: an address, say. A keyword table (--key) has a value for each \
of many keys, and is asked by key whether or not it has it. Encoding again into the same directory \
makes the table's next epoch; `sotto update` does that for a few changed rows in less time.

Values come back byte for byte. Where bytes (hex, base64, raw) have different lengths, each row says how long its \
value is, in 1 to 4 \
bytes; values of one length, raw rows, numbers and text take nothing more. \
--room N leaves room for N more rows, or keys, which updates then add. Spare rows cost what rows cost: work of the \
server, and bytes \
where those grow with the table. Without room a row at the end takes encoding the whole table again.

An epoch on top of a table that is asked in another way, or has another scheme or other columns, is refused without --replace.

Keys of a keyword table have a --form, which both ends bring them into, so that Example.COM. and example.com are one \
domain. All values look as long as the longest; --row-bytes sets a limit that leaves room for longer ones. How keys \
lie in rows is chosen by what a lookup costs \
with the scheme, for so many --lookups; --probes and --slots say otherwise. The rows stay beside the image, for updates. \
Some schemes add rows up: a key then lies in the sum of a few, which no client verifies. That is so where a lookup costs less \
and rows would not be verified either; or with --band.

With --batch B the directory gets a stack: several tables, made by a batch code. One round asks all of them and \
gives up to B rows, or the values of B keys. The server sees neither which nor how many. The tables are some copies \
of the rows on the disk, and another copy is there while they are written, mapped to memory that the system may take \
back. Beyond ten rows that is less work for the server than as many lookups.

With --symmetric a client learns the rows that the server grants it and nothing else, even if it does not follow the \
protocol. Each row is masked, and opens with one evaluation of a function. The function's key lies in the directory \
(oprf.key), beside the signing key. Keep both: an update needs them, and `sotto serve` needs oprf.key. The server \
sees that a row is opened, and not which. Masking takes a scalar multiplication for each row, and a row gets 24 \
bytes longer.

The directory gets a signing key of its own unless --signing-key names one. Whoever reads it can publish in your \
name; clients pin its public half, which is printed.

Example:
  sotto encode words.csv --value meaning --out tables/words
  sotto encode blocked.csv --key domain --form domain --value verdict --out tables/blocked
  sotto encode ip.csv.gz --keys ipv4 --start 1 --end 2 --value 3 --block 256 --out tables/ip-country
  sotto encode hashes.bin --row-bytes 32 --out tables/hashes
  sotto encode hashes.bin --row-bytes 32 --symmetric --out tables/sold
  sotto encode hashes.bin --row-bytes 32 --batch 20 --out tables/twenty";

/// Arguments of `sotto encode`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Encode {
    /// The directory of the table; made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The table's name: a-z, 0-9 and '-' [default: that of the directory]
    #[arg(long)]
    name: Option<TableName>,
    /// The scheme; `sotto encode --scheme ?` lists them
    #[arg(long, default_value = "simplepir/1", value_parser = scheme)]
    scheme: Scheme,
    #[command(flatten)]
    source: Source,
    /// Mask the table, so that a client learns the row it asked for and nothing else
    #[arg(long)]
    symmetric: bool,
    /// Make a stack for up to so many rows, or keys, in one round
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u16).range(1..=256))]
    batch: Option<u16>,
    /// How many lookups one client is expected to make per epoch: weighs the hint against each query
    #[arg(long, value_name = "N", default_value = "1000")]
    lookups: u64,
    /// What to choose parameters for, where the scheme has a choice
    #[arg(long, default_value = Goal::default().name(), value_parser = goal)]
    goal: Goal,
    /// One of the scheme's named parameter sets, in place of a goal; `--set ?` lists them
    #[arg(long, visible_alias = "ring", value_name = "NAME")]
    set: Option<String>,
    /// Put proofs into the table, so that clients verify each row [default: if that adds at most a tenth to bytes and work]
    #[arg(long, conflicts_with = "unverified")]
    verified: bool,
    /// Put no proofs into the table
    #[arg(long)]
    unverified: bool,
    /// Threads that encode [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The signing key; made if it is not there [default: signing.key in the directory]
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
    /// Put this table in the place of one that is asked in another way, or has another scheme or other columns
    #[arg(long)]
    replace: bool,
    /// Where the data comes from, in the words its licence asks for
    #[arg(long, value_name = "TEXT")]
    attribution: Option<String>,
    #[command(flatten)]
    openly: Openly,
}

/// A scheme, by name.
#[derive(Clone, Copy)]
pub(super) struct Scheme(&'static SchemeEntry);

impl Scheme {
    pub(super) fn entry(self) -> &'static SchemeEntry {
        self.0
    }
}

impl std::fmt::Debug for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.id)
    }
}

fn goal(name: &str) -> Result<Goal, String> {
    let known = || Goal::ALL.map(Goal::name).join(", ");
    Goal::ALL
        .into_iter()
        .find(|goal| goal.name() == name)
        .ok_or_else(|| format!("a goal is one of {}", known()))
}

/// A scheme by its id, or by its name alone: the last of its versions in the registry.
pub(super) fn scheme(id: &str) -> Result<Scheme, String> {
    let known = || sotto_registry::SCHEMES.iter().map(|entry| entry.id.0).collect::<Vec<_>>().join(", ");
    let named = |entry: &&SchemeEntry| entry.id.0.split('/').next() == Some(id);
    let last = || sotto_registry::SCHEMES.iter().copied().rfind(named);
    sotto_registry::find(id).or_else(last).map(Scheme).ok_or_else(|| format!("this build has: {}", known()))
}

/// What to encode, and how: what `sotto encode` and the demo have in common.
pub(super) struct Job<'a> {
    pub(super) input: &'a Path,
    pub(super) out: &'a Path,
    pub(super) name: TableName,
    pub(super) scheme: &'static SchemeEntry,
    pub(super) source: IngestOptions,
    /// Rows that there is to be room for. Keys have theirs in the source's options.
    pub(super) room: u64,
    /// Whether it may take the place of a table of another kind.
    pub(super) replace: bool,
    pub(super) lookups: u64,
    pub(super) goal: Goal,
    pub(super) set: Option<String>,
    pub(super) symmetric: bool,
    pub(super) verified: Verified,
    pub(super) threads: Option<usize>,
    pub(super) key: Option<&'a Path>,
    /// For how many seconds clients believe it.
    pub(super) lifetime: Option<u64>,
    pub(super) attribution: Option<String>,
}

/// What came of a job.
pub(super) struct Done {
    pub(super) summary: EncodeSummary,
    pub(super) notes: sotto_db::ingest::Notes,
    pub(super) scheme: SchemeInfo,
    pub(super) image: Arc<ImageFile>,
    pub(super) public_key: PublicKey,
    pub(super) stages: Vec<(String, Duration)>,
    pub(super) took: Duration,
}

impl Job<'_> {
    /// Refuses what cannot be masked yet.
    fn check_symmetric(&self, is_batch: bool) -> Result<()> {
        match self.source.layout {
            _ if !self.symmetric => Ok(()),
            _ if is_batch => {
                Err(Failure::usage("a stack cannot be symmetric: each of its tables would take evaluations")
                    .fix(
                        "leave --batch out; `sotto get` opens several rows of a symmetric table in one call",
                    ))
            }
            Layout::Keyword(_) => Err(Failure::usage("a table that is asked by key cannot be symmetric")
                .fix("leave --key out, and ask by row number or by range")),
            _ => Ok(()),
        }
    }

    pub(super) fn run(self, screen: Screen) -> Result<Done> {
        let began = Instant::now();
        // A mistyped input should not leave a directory behind.
        std::fs::metadata(self.input).map_err(|error| Failure::file("reading", self.input, &error))?;
        replace::check_set(self.scheme, self.set.as_deref())?;
        let traces = Traces::before(self.out);
        let dir = TableDir::create(self.out).map_err(blame::db)?;
        let lock = dir.lock().map_err(blame::db)?;
        let traces = traces.locked(&lock);
        let done = self.encode(began, &lock, screen);
        if done.is_err() {
            traces.remove(&lock);
        }
        done
    }

    fn encode(self, began: Instant, lock: &WriteLock, screen: Screen) -> Result<Done> {
        if StackDir::find(self.out).is_some() {
            return Err(Failure::usage("the directory holds a stack, and not a table")
                .fix("give another directory, or --batch as before"));
        }
        self.check_replaced()?;
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let Ingested { mut table, kind, value, mut layers, origin, notes } =
            sotto_db::ingest(self.input, &self.source, self.out, &watch).map_err(blame::db)?;
        let key = signing_key(lock.dir(), self.key)?;
        if self.symmetric {
            let oprf = lock.oprf_key(&mut rng()?).map_err(blame::db)?;
            let epoch = lock.next().map_err(blame::db)?;
            let masker = Masker { table: &self.name, epoch, key: &oprf };
            let masked = masker.table(table.as_ref(), self.out, self.threads, &watch).map_err(blame::db)?;
            table = Box::new(masked);
            // From the scheme up: what is masked is the row with all that is in it.
            layers.insert(0, Masked::layer(&oprf.public()));
        }
        let options = EncodeOptions {
            table: self.name,
            kind,
            value,
            layers,
            room: self.room,
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
        let summary = sotto_db::encode_table(self.scheme, table.as_ref(), lock, &options, &watch);
        let summary = summary.map_err(blame::db)?;
        lock.keep_origin(&origin).map_err(blame::db)?;
        let stages = bars.finish();
        let image = ImageFile::open(&summary.image).map_err(blame::db)?;
        let found = sotto_db::inspect(&image, Some(self.scheme)).map_err(blame::db)?;
        let scheme = found.scheme.ok_or_else(|| Failure::internal("the scheme was not described"))?;
        let public_key = key.public();
        Ok(Done { summary, notes, scheme, image, public_key, stages, took: began.elapsed() })
    }
}

/// The system's randomness.
pub(super) fn rng() -> Result<SystemRng> {
    sotto_prg::system_rng()
        .map_err(|error| Failure::internal(error.to_string()).fix("mend the system's random device"))
}

/// The key that signs the table in `dir`.
pub(super) fn signing_key(dir: &TableDir, path: Option<&Path>) -> Result<sotto_catalog::SigningKey> {
    dir.signing_key(path, &mut rng()?).map_err(blame::db)
}

impl Encode {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        let costing = Costing {
            entry: self.scheme.0,
            lookups_per_client: self.lookups,
            goal: self.goal,
            set: self.set.clone(),
        };
        // Sums of rows prove none of them, and codes fetch rows.
        let bands = match (self.verified, self.unverified, self.batch) {
            (true, ..) | (.., Some(_)) => Bands::Never,
            (_, true, _) => Bands::IfCheaper,
            _ => Bands::IfUnproven,
        };
        let job = Job {
            input: self.source.input(),
            out: &self.out,
            name: self.table_name()?,
            scheme: self.scheme.0,
            source: self.source.options(costing, bands)?,
            room: self.source.room()?,
            replace: self.replace,
            lookups: self.lookups,
            goal: self.goal,
            set: self.set.clone(),
            symmetric: self.symmetric,
            verified: match (self.verified, self.unverified, self.batch) {
                (true, ..) => Verified::Yes,
                // The tables of a stack are asked together, so that what each adds is added many times.
                (_, true, _) | (.., Some(_)) => Verified::No,
                _ => Verified::IfCheap,
            },
            threads: self.threads,
            key: self.signing_key.as_deref(),
            lifetime: self.openly.lifetime(),
            attribution: self.attribution.clone(),
        };
        job.check_symmetric(self.batch.is_some())?;
        if let Some(most) = self.batch {
            let done = job.run_batch(most.into(), screen)?;
            screen.say(self.source.said(done.summary.notes.lines))?;
            let log = self.openly.write_with(&self.out, self.signing_key.as_deref(), screen)?;
            return done.say(&self.out, log, screen);
        }
        let done = job.run(screen)?;
        let log = self.openly.write_with(&self.out, self.signing_key.as_deref(), screen)?;
        self.say(screen, &done)?;
        screen.report(&json!({
            "summary": done.summary,
            "notes": done.notes,
            "table": done.image.catalog().table,
            "scheme": done.scheme,
            "snapshot": promise::snapshot(done.image.catalog().digest()),
            "public_key": done.public_key.to_string(),
            "log": log,
            "stages_s": stages_json(&done.stages),
            "seconds": done.took.as_secs_f64(),
        }))
    }

    fn say(&self, screen: Screen, done: &Done) -> Result<()> {
        let summary = &done.summary;
        screen.say(format!("{} ({})\n", summary.image.display(), units::bytes(summary.image_bytes)))?;
        screen.say(self.source.said(done.notes.lines))?;
        for note in notes(&done.notes) {
            screen.say(format!("note: {note}"))?;
        }
        let mut lines =
            promise::lines(done.image.catalog(), Some(&done.scheme), &done.public_key.to_string());
        lines.push(("chosen for", chosen_for(self.lookups, done)));
        if summary.kept_bytes > 0 {
            lines.push(("kept here", format!("{} of rows, for updates", units::bytes(summary.kept_bytes))));
        }
        lines.push(("time", format!("{} ({})", units::time(done.took), stages_text(&done.stages))));
        screen.say(grid::facts(lines))?;
        screen.say(format!("\nnext: sotto serve {}", self.out.display()))
    }

    fn table_name(&self) -> Result<TableName> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let folder = self.out.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        folder.to_ascii_lowercase().parse().map_err(|error: sotto_catalog::CatalogError| {
            Failure::usage(format!("the directory's name {folder:?} is no table name: {error}"))
                .fix("give --name")
        })
    }
}

/// Why the table has the shape it has.
fn chosen_for(lookups: u64, done: &Done) -> String {
    let scheme = &done.scheme;
    let each = scheme.query_bytes.saturating_add(scheme.answer_bytes);
    let once = scheme.artifact_bytes.saturating_add(scheme.keys_bytes);
    let all = once.saturating_add(lookups.saturating_mul(each));
    format!(
        "{} in all for {} lookups by one client per epoch (--lookups), with {}",
        units::bytes(all),
        units::count(lookups),
        if scheme.keys_bytes > 0 { "keys" } else { "the hint" },
    )
}

fn notes(notes: &sotto_db::ingest::Notes) -> impl Iterator<Item = String> {
    let missing = (notes.missing_rows > 0).then(|| {
        format!("{} rows had no line in the file and hold zero bytes", units::count(notes.missing_rows))
    });
    let mixed = (notes.mixed_blocks > 0).then(|| {
        format!(
            "{} blocks have keys of several values, of which a row holds one (see --rule)",
            units::count(notes.mixed_blocks)
        )
    });
    missing.into_iter().chain(mixed)
}

/// Stages and their times, in one line.
pub(super) fn stages_text(stages: &[(String, Duration)]) -> String {
    let stages: Vec<_> = stages.iter().map(|(name, time)| format!("{name} {}", units::time(*time))).collect();
    stages.join(", ")
}

/// Stages and their times, in seconds.
pub(super) fn stages_json(stages: &[(String, Duration)]) -> serde_json::Value {
    stages.iter().map(|(name, time)| (name.clone(), json!(time.as_secs_f64()))).collect()
}
