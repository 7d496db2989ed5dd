//! `sotto encode`: makes a servable table from a file, and prints the decisions.
//!
//! | module | contents |
//! |---|---|
//! | `apple` | a table of Apple's lookups |
//! | `batch` | a stack for several rows at once |
//! | `scheme_arg` | schemes and goals by their names |
//! | `encode_job` | the encoding of a table, for this verb and the demo |
//! | `parts` | a table in parts, or one of them |
//! | `from_plan` | the choice of a plan |
//! | `replace` | refusal to replace a table of another kind without `--replace` |
//! | `batch_cost` | the cost of a round over a stack, and how often it fails |
//! | `summary` | the final summary of a table |
//! | [`source`] | which file, which columns, which kind of table |
//! | `cleanup` | cleanup after an encoding that failed |

mod apple;
mod batch;
mod batch_cost;
mod cleanup;
mod encode_job;
mod from_plan;
mod parts;
mod replace;
mod scheme_arg;
pub(crate) mod source;
mod summary;

use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::verbs::publish_args::PublishArgs;
use crate::verbs::table_summary;
use apple::AppleArgs;
pub(super) use encode_job::{EncodeJob, EncodeOutcome, rng, signing_key};
pub(super) use replace::{Output, check_kind};
use scheme_arg::goal;
pub(super) use scheme_arg::{SchemeArg, scheme};
use serde_json::json;
use sotto_catalog::TableName;
use sotto_core::Goal;
use sotto_db::RowProofs;
use sotto_db::ingest::{BandPolicy, CostModel};
use source::SourceArgs;
use std::path::{Path, PathBuf};
pub(super) use summary::{stages_json, stages_text};

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
An index table has one line of the file per row, and is asked by row number. A range table (--start, --end) \
has one row per block of keys, and is asked by key: an address, say. A keyword table (--key) has a value for each \
of many keys, and is asked by key whether or not it has it. Encoding again into the same directory \
makes the table's next epoch; `sotto update` does that for a few changed rows in less time.

Values come back byte for byte. Where bytes (hex, base64, raw) have different lengths, each row says how long its \
value is, in 1 to 4 \
bytes; values of one length, raw rows, numbers and text take nothing more. \
--headroom N leaves room for N more rows, or keys, which updates then add. Spare rows cost what rows cost: work of the \
server, and bytes \
where those grow with the table. Without room a row at the end takes encoding the whole table again.

An epoch on top of a table that is asked in another way, or has another scheme or other columns, is refused without --replace.

Keys of a keyword table have a --key-form, which both ends bring them into, so that Example.COM. and example.com are one \
domain. All values look as long as the longest; --row-bytes sets a limit that leaves room for longer ones. How keys \
lie in rows is chosen by what a lookup costs \
with the scheme, for so many --lookups; --probes and --slots say otherwise. The rows stay beside the image, for updates. \
Some schemes add rows up: a key then lies in the sum of a few, which no client verifies. That is so where a lookup costs less \
and rows would not be verified either; or with --band.

With --batch B the directory gets a stack: several tables, made by a batch code. One round asks all of them and \
gives up to B rows, or the values of B keys. The server sees neither which nor how many. The tables are some copies \
of the rows on the disk, and another copy is there while they are written, mapped to memory that the system may take \
back. Beyond ten rows that is less work for the server than as many lookups. B is at most 4096, where a key lies in several \
rows less. A stack has at most 1024 tables, so large rounds want a scheme that has all buckets in one: vbpir, pirana, \
fastpir, sealpir.

With --symmetric a client learns the rows that the server grants it and nothing else, even if it does not follow the \
protocol. Each row is masked, and opens with one evaluation of a function. The function's key lies in the directory \
(oprf.key), beside the signing key. Keep both: an update needs them, and `sotto serve` needs oprf.key. The server \
sees that a row is opened, and not which. Masking takes a scalar multiplication for each row, and a row gets 24 \
bytes longer.

With --apple the table is one of Apple's lookups, which phones ask: `sotto serve --apple` serves it. Keys go into buckets as \
that protocol says, and an index table has its rows as they are. It has no catalog, and nobody signs it. With --symmetric, \
too, its rows are sealed as that protocol says, 16 bytes longer each, and sealing takes a millisecond for each row. A key that \
was opened once opens its row in every later epoch.

With --parts P the table lies in P parts and a front, which has what clients fetch. `sotto serve` answers from all parts \
at once, and every answer has the bytes that one image gives. Parts may lie elsewhere: each is of use to whoever answers in \
parts. --part front makes the front alone, and --part I then part I, from 0 on, of the same file with the same options: several \
at once, and again where one was lost. A part that is there and whole is left as it is. Cutting takes the table's room on the \
disk once more.

The directory gets a signing key of its own unless --signing-key names one. Whoever reads it can publish in your \
name; clients pin its public half, which is printed.

--plan takes what a plan chose; see `sotto plan`.";

/// Arguments of `sotto encode`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE, after_long_help = format!("{EXAMPLE}\n\n{DETAILS}"))]
#[command(mut_arg("input", |input| input.required(true)))]
pub(crate) struct Encode {
    /// The directory of the table; made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The table's name: a-z, 0-9 and '-' [default: that of the directory]
    #[arg(long)]
    name: Option<TableName>,
    /// The scheme; `sotto schemes` lists them
    #[arg(long, default_value = "simplepir/1", value_parser = scheme)]
    scheme: SchemeArg,
    /// Take the choice of a plan (`sotto plan --out FILE`): scheme, goal or set, proofs, masks, rounds, how keys lie in rows
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "scheme", "goal", "set", "lookups", "batch", "symmetric", "row_proofs", "no_row_proofs", "probes", "slots", "band",
    ])]
    plan: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// Mask the table, so that a client learns the row it asked for and nothing else
    #[arg(long)]
    symmetric: bool,
    /// Make a stack for up to so many rows, or keys, in one round
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u16).range(1..=4096))]
    batch: Option<u16>,
    /// Cut the table into so many parts and a front
    #[arg(long, value_name = "P", conflicts_with = "batch", value_parser = clap::value_parser!(u32).range(1..=9999))]
    parts: Option<u32>,
    /// Make this one alone: a part, counted from 0, or "front", which comes first
    #[arg(long, value_name = "I|front", requires = "parts", value_parser = parts::wanted)]
    part: Option<parts::PartArg>,
    /// How many lookups one client is expected to make per epoch: weighs the hint against each query
    #[arg(long, value_name = "N", default_value = "1000")]
    lookups: u64,
    /// What to choose parameters for, where the scheme has a choice
    #[arg(long, default_value = Goal::default().name(), value_parser = goal)]
    goal: Goal,
    /// One of the scheme's named parameter sets, in place of a goal; `sotto schemes NAME` lists them
    #[arg(long, visible_alias = "ring", value_name = "NAME")]
    set: Option<String>,
    /// Put proofs into the table, so that clients verify each row [default: if that adds at most a tenth to bytes and work]
    #[arg(long, conflicts_with = "no_row_proofs")]
    row_proofs: bool,
    /// Put no proofs into the table
    #[arg(long)]
    no_row_proofs: bool,
    /// Threads that encode [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The signing key; made if it is not there [default: signing.key in the directory]
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
    /// Put this table in the place of one that is asked in another way, or has another scheme or other columns
    #[arg(long)]
    replace: bool,
    /// Where the data comes from, in the words its license asks for
    #[arg(long, value_name = "TEXT")]
    attribution: Option<String>,
    #[command(flatten)]
    openly: PublishArgs,
    // The last one: its heading is that of all arguments after it.
    #[command(flatten)]
    apple: AppleArgs,
}

impl Encode {
    pub(crate) fn run(mut self, screen: Screen) -> Result<()> {
        if self.apple.is_wanted() {
            if self.plan.is_some() {
                return Err(Failure::usage("a plan is for tables of ours, and not for Apple's lookups")
                    .fix("leave --plan out"));
            }
            return self.run_apple(screen);
        }
        if let Some(path) = self.plan.take() {
            self.take(from_plan::read(&path)?)?;
        }
        let Some(input) = self.source.input().map(Path::to_owned) else {
            return Err(Failure::usage("which file is to be encoded?").fix("name it"));
        };
        let costing = CostModel {
            entry: self.scheme.entry(),
            lookups_per_client: self.lookups,
            goal: self.goal,
            set: self.set.clone(),
            batch: self.batch.map(usize::from),
        };
        // Sums of rows prove none of them, and batch codes fetch rows.
        let bands = match (self.row_proofs, self.no_row_proofs, self.batch) {
            (true, ..) | (.., Some(_)) => BandPolicy::Never,
            (_, true, _) => BandPolicy::IfCheaper,
            _ => BandPolicy::IfNoRowProofs,
        };
        let (pieces, alone) = parts::asked(self.parts, self.part)?;
        let job = EncodeJob {
            pieces,
            input: &input,
            out: &self.out,
            name: self.table_name()?,
            scheme: self.scheme.entry(),
            source: self.source.options(Some(costing), bands)?,
            room: self.source.headroom()?,
            replace: self.replace,
            lookups: self.lookups,
            goal: self.goal,
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
            lifetime: self.openly.lifetime(),
            attribution: self.attribution.clone(),
        };
        job.check_symmetric(self.batch.is_some())?;
        if let Some(cut) = alone {
            return job.run_part(cut, screen);
        }
        if let Some(most) = self.batch {
            let done = job.run_batch(most.into(), screen)?;
            screen.say(self.source.said(done.summary.notes.lines))?;
            let log = self.openly.write_with(&self.out, self.signing_key.as_deref(), screen)?;
            return done.say(self.source.input(), &self.out, log, screen);
        }
        let done = job.run(screen)?;
        let log = self.openly.write_with(&self.out, self.signing_key.as_deref(), screen)?;
        self.say(screen, &done)?;
        screen.report(&json!({
            "summary": done.summary,
            "notes": done.notes,
            "table": done.image.catalog().table,
            "scheme": done.scheme,
            "snapshot": table_summary::snapshot(done.image.catalog().digest()),
            "public_key": done.public_key.to_string(),
            "log": log,
            "stages_s": stages_json(&done.stages),
            "seconds": done.took.as_secs_f64(),
        }))
    }

    fn table_name(&self) -> Result<TableName> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let folder = self.out.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        folder.to_ascii_lowercase().parse().map_err(|error| {
            Failure::usage(format!("the directory's name {folder:?} is no table name: {error}"))
                .fix("give --name")
        })
    }
}
