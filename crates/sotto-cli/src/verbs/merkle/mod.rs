//! `sotto merkle`: proofs from a transparency log, without revealing the entry to the server.
//!
//! `generate` makes a synthetic log for experiments, and `verify` checks a proof, or all tiles of a
//! log, against the log's key.
//!
//! | module | contents |
//! |---|---|
//! | [`plan`] | the cost of each layout of a log, and the choice of the cheapest |
//! | `layout` | the layouts, and the cost of each with a scheme |
//! | [`mod@build`] | a log's tiles to a stack of tables that can be served, and the choice of its design |
//! | [`mod@prove`] | an inclusion proof, privately fetched and verified |
//! | `log` | the arguments for a log and its key, and which hash goes to which row |

pub(crate) mod build;
mod layout;
mod log;
pub(crate) mod plan;
pub(crate) mod prove;

use crate::failure::{Failure, FileContext, Result};
use crate::files;
use crate::screen::progress::StageUnit;
use crate::screen::{Report, Screen, grid, units};
use crate::verbs::merkle::build::Build;
use crate::verbs::merkle::log::{LogArgs, OpenedLog};
use crate::verbs::merkle::plan::Plan;
use crate::verbs::merkle::prove::Prove;
pub(crate) use crate::verbs::merkle::prove::known as prove;
use clap::{Args, Command, FromArgMatches, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::Hex32;
use sotto_tlog::generate::{self, Entries};
use sotto_tlog::proof::MAX_PROOF_BYTES;
use sotto_tlog::{InclusionProof, LogLayout, Tile};
use std::ffi::OsString;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

const EXAMPLE: &str = "\
A log is a folder with a checkpoint and tiles (c2sp.org/tlog-tiles), or a copy of one. `build` verifies \
all of it against the log's key and makes a stack, `sotto serve` serves the stack, and `prove` prints a \
proof that any verifier of c2sp.org/tlog-proof accepts, such as `verify`.

Example:
  sotto merkle generate logs/demo --entries 100000 --origin example.com/demo
  sotto merkle build logs/demo --log-key logs/demo.pub --out tables/demo
  sotto serve tables/demo &
  sotto merkle prove --server http://127.0.0.1:8080 --table demo --log-key logs/demo.pub --index 4711";

/// Arguments of `sotto merkle`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Merkle {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a log of synthetic entries or of the lines of a file, or extend one
    Generate(Generate),
    /// Show what each layout of a log would cost
    Plan(Plan),
    /// Encode a log's tiles as tables that can be served
    Build(Box<Build>),
    /// Fetch an inclusion proof privately, verify it, and print it
    Prove(Box<Prove>),
    /// Check a proof, or all tiles of a log, against the log's key
    Verify(Box<Verify>),
}

impl Merkle {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        match self.verb {
            Verb::Generate(verb) => verb.run(),
            Verb::Plan(verb) => verb.run(),
            Verb::Build(verb) => verb.run(screen),
            Verb::Prove(verb) => verb.run(screen),
            Verb::Verify(verb) => verb.run(screen),
        }
    }
}

/// Runs `sotto merkle build` with these arguments for the demo.
pub(crate) fn build(
    args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    screen: Screen,
) -> Result<()> {
    let wrong = |error: clap::Error| Failure::internal(error.to_string());
    let command = Build::augment_args(Command::new("build").no_binary_name(true));
    let matches = command.try_get_matches_from(args).map_err(wrong)?;
    Build::from_arg_matches(&matches).map_err(wrong)?.run(screen).map(drop)
}

const GENERATE_EXAMPLE: &str = "\
The log's signing key is written beside the folder as DIR.key, and its public key as DIR.pub. --grow \
extends a log that this command made to the given number of entries, or by the lines that the file has \
beyond its entries, with a new checkpoint. An entry of --lines is a line with its line feed.

Example:
  sotto merkle generate logs/demo --entries 1048576 --origin example.com/demo
  sotto merkle generate logs/demo --entries 1050000 --grow
  sotto merkle generate logs/ranges --lines ranges.csv --origin chain.example/ranges";

/// Arguments of `sotto merkle generate`.
#[derive(Debug, clap::Args)]
#[command(after_help = GENERATE_EXAMPLE)]
struct Generate {
    /// Folder of the log
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Number of synthetic entries of the log afterwards
    #[arg(long, value_name = "N", required_unless_present = "lines")]
    entries: Option<u64>,
    /// File whose lines are the entries; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "entries")]
    lines: Option<PathBuf>,
    /// Layout of the log's files: tlog-tiles, static-ct or sumdb
    #[arg(long, value_name = "LAYOUT", default_value = "tlog-tiles")]
    layout: LogLayout,
    /// Origin line of the log
    #[arg(long, value_name = "NAME", default_value = "example.com/synthetic")]
    origin: String,
    /// Extend a log that this command made before
    #[arg(long)]
    grow: bool,
}

impl Generate {
    fn run(self) -> Result<Report> {
        let entries = match (&self.lines, self.entries) {
            (Some(path), _) if path.as_os_str() == "-" => Entries::Lines(Box::new(std::io::stdin().lock())),
            (Some(path), _) => {
                let file = File::open(path).doing("reading the entries", path)?;
                Entries::Lines(Box::new(BufReader::new(file)))
            }
            (None, entries) => Entries::Synthetic(entries.unwrap_or(0)),
        };
        let size = if self.grow {
            generate::grow(&self.folder, self.layout, entries).map_err(log::failed)?.size
        } else {
            if let Some(above) = self.folder.parent() {
                std::fs::create_dir_all(above).doing("making", above)?;
            }
            let mut rng = sotto_prg::system_rng()?;
            let made = generate::create(&self.folder, self.layout, &self.origin, entries, &mut rng);
            made.map_err(log::failed)?.1.size
        };
        let (folder, entries) = (self.folder.display(), units::count(size));
        let text = format!("{folder}: a log of {entries} entries, with its public key in {folder}.pub");
        Ok(Report::new(text, &GenerateReport { folder: self.folder, entries: size }))
    }
}

/// A log that was generated.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GenerateReport {
    /// Folder of the log.
    folder: PathBuf,
    /// Number of entries.
    entries: u64,
}

const VERIFY_EXAMPLE: &str = "\
A proof is a file as `sotto merkle prove` prints it (c2sp.org/tlog-proof). It says that the log has a \
certain entry at a certain index, so it is checked against an entry: --entry or --leaf.

A folder is a log. Its checkpoint is checked against the key, every tile against the checkpoint, and with \
--entries the entries against the tiles. Missing and damaged tiles are named. --missing FILE lists all \
missing tiles, for a program that downloads them.

The tiles that the go command has fetched are such a folder, though seldom a complete log:
  sotto merkle verify ~/go/pkg/mod/cache/download/sumdb --missing missing.txt \\
    --log-key sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8

Example:
  sotto merkle verify logs/demo --log-key logs/demo.pub
  sotto merkle verify 4711.proof --log-key logs/demo.pub --entry 4711.entry";

/// Arguments of `sotto merkle verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = VERIFY_EXAMPLE)]
struct Verify {
    /// Proof, or folder of a log
    #[arg(value_name = "PROOF|LOG")]
    path: PathBuf,
    #[command(flatten)]
    copy: LogArgs,
    /// For a proof: file of the bytes that the log hashes for the entry (RFC 6962: the
    /// MerkleTreeLeaf)
    #[arg(long, value_name = "FILE")]
    entry: Option<PathBuf>,
    /// For a proof: leaf hash of the entry, in hexadecimal
    #[arg(long, value_name = "HEX", conflicts_with = "entry")]
    leaf: Option<String>,
    /// For a log: check its entries too
    #[arg(long)]
    entries: bool,
}

impl Verify {
    fn run(self, screen: Screen) -> Result<Report> {
        if self.path.is_dir() { self.log(screen) } else { self.proof() }
    }

    fn proof(&self) -> Result<Report> {
        if self.entries {
            return Err(Failure::usage("--entries applies to a folder of a log only").fix("omit --entries"));
        }
        let Some(leaf) = log::leaf(self.entry.as_deref(), self.leaf.as_deref())? else {
            return Err(Failure::usage("a proof needs the entry that it is for")
                .fix("give --entry FILE, or --leaf HEX with its hash"));
        };
        let proof =
            InclusionProof::parse(&files::read("reading the proof", &self.path, MAX_PROOF_BYTES as u64)?)
                .map_err(log::failed)?;
        let key = self.copy.key(proof.checkpoint.as_bytes())?;
        let checkpoint = proof.verify(&leaf, &key).map_err(|error| {
            log::failed(error)
                .fix("check the entry and the key of its log; if both are right, do not trust the proof")
        })?;
        let (index, size) = (units::count(proof.index), units::count(checkpoint.size));
        let text = format!("verified: entry {index} of {}, {size} entries", checkpoint.origin);
        let json = VerifiedProof {
            verified: true,
            origin: checkpoint.origin,
            index: proof.index,
            entries: checkpoint.size,
            leaf: Hex32::from(leaf),
        };
        Ok(Report::new(text, &json))
    }

    fn log(&self, screen: Screen) -> Result<Report> {
        if self.entry.is_some() || self.leaf.is_some() {
            return Err(
                Failure::usage("--entry and --leaf apply to a proof only").fix("omit them, or give a proof")
            );
        }
        let bars = screen.bars();
        let OpenedLog { checkpoint, layout, log: mut tree, .. } = self.copy.open(&self.path, &bars)?;
        for tile in 0..tree.tiles() {
            // Includes the tiles above it, each of which is read with the first tile below it.
            tree.leaves(tile).map_err(log::failed)?;
            if self.entries {
                tree.entries(tile, |_, _| Ok(())).map_err(log::failed)?;
            }
            bars.at("checking", tile + 1, tree.tiles(), StageUnit::Count("tiles of leaves"));
        }
        bars.finish();
        let (tiles, root) = (Tile::count(checkpoint.size), Hex32::from(checkpoint.root).to_string());
        let checked = if self.entries { "all tiles and entries" } else { "all tiles" };
        let text = grid::facts([
            ("log", format!("{}, {} entries", checkpoint.origin, units::count(checkpoint.size))),
            ("layout", layout.to_string()),
            ("root", root.clone()),
            ("verified", format!("{checked}: {}", units::count(tiles))),
        ]);
        let json = VerifiedLog {
            verified: true,
            origin: checkpoint.origin,
            entries: checkpoint.size,
            layout: layout.to_string(),
            root,
            tiles,
            entries_checked: self.entries,
        };
        Ok(Report::new(text, &json))
    }
}

/// A proof that was verified.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerifiedProof {
    /// Always true: a wrong proof is an error.
    verified: bool,
    /// Origin line of the log.
    origin: String,
    /// Number of the entry.
    index: u64,
    /// Number of entries of the log.
    entries: u64,
    /// Hash of the entry.
    leaf: Hex32,
}

/// A log that was verified.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerifiedLog {
    /// Always true: a wrong log is an error.
    verified: bool,
    /// Origin line of the log.
    origin: String,
    /// Number of entries.
    entries: u64,
    /// Layout of the log's files.
    layout: String,
    /// Root of the log's tree, in hexadecimal.
    root: String,
    /// Number of tiles that were read.
    tiles: u64,
    /// Whether entries were compared with their hashes (`--entries`).
    entries_checked: bool,
}
