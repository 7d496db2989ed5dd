//! `sotto merkle verify`: verifies a proof, or all tiles of a log, against the log's key.

use super::log_args::{self, LogArgs, OpenedLog};
use crate::failure::{Failure, Result};
use crate::screen::progress::StageUnit;
use crate::screen::{Screen, grid, units};
use serde_json::json;
use sotto_catalog::Hex32;
use sotto_tlog::proof::MAX_PROOF_BYTES;
use sotto_tlog::{InclusionProof, Tile};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "\
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
#[command(after_help = EXAMPLE)]
pub(super) struct Verify {
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
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        if self.path.is_dir() { self.log(screen) } else { self.proof(screen) }
    }

    fn proof(&self, screen: Screen) -> Result<()> {
        if self.entries {
            return Err(Failure::usage("--entries applies to a folder of a log only").fix("omit --entries"));
        }
        let Some(leaf) = log_args::leaf(self.entry.as_deref(), self.leaf.as_deref())? else {
            return Err(Failure::usage("a proof needs the entry that it is for")
                .fix("give --entry FILE, or --leaf HEX with its hash"));
        };
        let proof = InclusionProof::parse(&bytes(&self.path)?).map_err(log_args::failed)?;
        let key = self.copy.key(proof.checkpoint.as_bytes())?;
        let checkpoint = proof.verify(&leaf, &key).map_err(|error| {
            log_args::failed(error)
                .fix("check the entry and the key of its log; if both are right, do not trust the proof")
        })?;
        let (index, size) = (units::count(proof.index), units::count(checkpoint.size));
        screen.say(format!("verified: entry {index} of {}, {size} entries", checkpoint.origin))?;
        screen.report(&json!({
            "verified": true,
            "origin": checkpoint.origin,
            "index": proof.index,
            "entries": checkpoint.size,
            "leaf": Hex32::from(leaf).to_string(),
        }))
    }

    fn log(&self, screen: Screen) -> Result<()> {
        if self.entry.is_some() || self.leaf.is_some() {
            return Err(
                Failure::usage("--entry and --leaf apply to a proof only").fix("omit them, or give a proof")
            );
        }
        let bars = screen.bars();
        let OpenedLog { checkpoint, layout, mut log, .. } = self.copy.open(&self.path, &bars)?;
        for tile in 0..log.tiles() {
            // Includes the tiles above it, each of which is read with the first tile below it.
            log.leaves(tile).map_err(log_args::failed)?;
            if self.entries {
                log.entries(tile, |_, _| Ok(())).map_err(log_args::failed)?;
            }
            bars.at("checking", tile + 1, log.tiles(), StageUnit::Count("tiles of leaves"));
        }
        bars.finish();
        let (tiles, root) = (Tile::count(checkpoint.size), Hex32::from(checkpoint.root).to_string());
        let checked = if self.entries { "all tiles and entries" } else { "all tiles" };
        screen.say(grid::facts([
            ("log", format!("{}, {} entries", checkpoint.origin, units::count(checkpoint.size))),
            ("layout", layout.to_string()),
            ("root", root.clone()),
            ("verified", format!("{checked}: {}", units::count(tiles))),
        ]))?;
        screen.report(&json!({
            "verified": true,
            "origin": checkpoint.origin,
            "entries": checkpoint.size,
            "layout": layout.to_string(),
            "root": root,
            "tiles": tiles,
            "entries_checked": self.entries,
        }))
    }
}

/// Reads a file, up to the maximum size of a proof.
fn bytes(path: &Path) -> Result<Vec<u8>> {
    let failed = |e: std::io::Error| Failure::file("reading the proof", path, &e);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_PROOF_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
