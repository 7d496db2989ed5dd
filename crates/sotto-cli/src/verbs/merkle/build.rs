//! `sotto merkle build`: makes the next epoch of a stack from a log's tiles, verified against its
//! checkpoint.

use super::design_choice::DesignArgs;
use super::log_args::{LogArgs, OpenedLog};
use super::rows::{LogTables, Nodes};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::progress::StageUnit;
use crate::screen::{Screen, grid, units};
use crate::verbs::encode::{Output, check_kind};
use crate::verbs::publish_args::{PublishArgs, signing_key};
use crate::verbs::table_summary;
use serde_json::json;
use sotto_catalog::stack::{FORMAT, Shard, StackFile};
use sotto_catalog::{LayerEntry, SigningKey, Stack, TableName};
use sotto_core::{Epoch, SchemeEntry};
use sotto_db::table::{Buckets, grouped};
use sotto_db::{EncodeOptions, StackDir, TableDir, TableSource, encode_buckets};
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Prefix of the temporary folder of rows during encoding.
const ROWS: &str = ".rows-";

const EXAMPLE: &str = "\
Designs:
  tile   one lookup of 8,192 bytes: the 256 hashes beside the entry; hashes above them are public
  tiles  two such lookups; hashes above are public, 1/256 as many
  color  one lookup of 32 bytes for each layer of the tree that is not public (--public-layers)
  pbc    all hashes in the buckets of a batch code, for comparison with color

Without --design and --scheme a new stack gets the cheapest, as `sotto merkle plan` shows it: by --goal, \
for --lookups proofs per client. A log that grew keeps the design and scheme of its stack; with color, one \
more layer becomes public whenever the log passes a power of two.

Building again into the same directory, after the log has grown, makes the next epoch. Clients meanwhile \
see the complete old epoch or the complete new one.

Example:
  sotto merkle build logs/demo --log-key logs/demo.pub --out tables/demo
  sotto merkle build logs/demo --log-key logs/demo.pub --out tables/demo --design color --public-layers 8 --scheme simplepir";

/// Arguments of `sotto merkle build`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Build {
    /// Folder of the log, with checkpoint and tiles
    #[arg(value_name = "LOG")]
    log: PathBuf,
    #[command(flatten)]
    copy: LogArgs,
    /// Directory of the stack; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Name of the stack, of a-z, 0-9 and '-' [default: the directory's]
    #[arg(long)]
    name: Option<TableName>,
    #[command(flatten)]
    design_args: DesignArgs,
    /// Threads for encoding [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// File of the stack's signing key; created if missing [default: signing.key in the directory]
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
    #[command(flatten)]
    publish: PublishArgs,
}

/// The stack that a table belongs to, and the number of queries that a proof takes in all of its
/// tables.
struct Member<'a> {
    stack: &'a TableName,
    number: usize,
    of: usize,
}

impl Build {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        let began = Instant::now();
        let name = self.stack_name()?;
        let bars = screen.bars();
        let OpenedLog { note, checkpoint, mut log, .. } = self.copy.open(&self.log, &bars)?;
        if checkpoint.size == 0 {
            return Err(Failure::input("the log has no entries"));
        }
        bars.at("choosing a design", 0, 0, StageUnit::Share);

        check_kind(&self.out, Output::Stack)?;
        let dir = StackDir::create(&self.out).map_err(exit_mapping::db)?;
        let root = dir.root().map_err(exit_mapping::db)?;
        let lock = root.lock().map_err(exit_mapping::db)?;
        let before = StackDir::find(&self.out).map(|dir| dir.read()).transpose().map_err(exit_mapping::db)?;
        if let Some((_, before)) = before.as_ref().filter(|(_, before)| before.stack != name) {
            return Err(Failure::usage(format!("the stack in this directory is named {}", before.stack))
                .fix("build into another directory"));
        }
        let choice = match &before {
            Some((_, before)) => self.design_args.existing(&dir, before, checkpoint.size)?,
            None => self.design_args.fresh(checkpoint.size)?,
        };
        bars.finish();
        screen.say(format!("design: {}\n", choice.why))?;
        let (design, scheme) = (choice.design, choice.scheme);
        let key = signing_key(&root, self.signing_key.as_deref())?;
        self.remove_leftovers()?;
        let folder = tempfile::Builder::new().prefix(ROWS).tempdir_in(&self.out);
        let folder = folder.map_err(|e| Failure::file("writing", &self.out, &e))?;
        let report_progress =
            |done| bars.at("reading hashes", done, checkpoint.size, StageUnit::Count("leaves"));
        let rows = LogTables::of(&mut log, design, folder.path(), report_progress)?;

        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let nodes = Nodes::of(design, &rows, folder.path(), &watch)?;
        let buckets = nodes.as_ref().map(Nodes::buckets).transpose()?;
        let buckets = buckets.as_ref().map(Buckets::tables);
        let tables: Vec<&dyn TableSource> = match &buckets {
            Some(buckets) => buckets.iter().map(|bucket| bucket as &dyn TableSource).collect(),
            None => rows.tables.iter().map(|table| table as &dyn TableSource).collect(),
        };
        let visits = design.visits(checkpoint.size).map_err(|e| Failure::internal(e.to_string()))?;
        let mut shards = Vec::new();
        let groups = grouped(scheme, &tables, design.alike());
        // Tables of a group are visited at once.
        let queries = visits.len() + groups.len() - tables.len();
        for (i, group) in groups.iter().enumerate() {
            let watch = |at: sotto_db::Progress| bars.watch(Some((i, groups.len())), at);
            let place = Member { stack: &name, number: i, of: queries };
            shards.push(self.encode(&dir, place, scheme, group, &key, &watch)?);
        }
        let files =
            [("checkpoint", note), ("peaks", rows.peaks.hashes().concat()), ("public", rows.public.concat())];
        let epoch = before.map_or(1, |(_, before)| before.epoch.0 + 1);
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let stack = Stack {
            format: FORMAT.to_owned(),
            stack: name.clone(),
            epoch: Epoch(epoch),
            layers: vec![LayerEntry {
                name: design.name().to_owned(),
                params: design.params(checkpoint.size),
            }],
            shards,
            files: files
                .iter()
                .map(|(name, bytes)| Ok(StackFile::of(name.parse()?, bytes)))
                .collect::<sotto_catalog::Result<_>>()
                .map_err(|e| Failure::internal(e.to_string()))?,
            attribution: None,
            created,
            expires: self.publish.lifetime().map(|lifetime| created.saturating_add(lifetime)),
        };
        let bytes: Vec<Vec<u8>> = files.into_iter().map(|(_, bytes)| bytes).collect();
        dir.publish(&stack, &bytes, &key).map_err(exit_mapping::db)?;
        drop(lock);
        bars.finish();

        let public: usize = bytes.iter().map(Vec::len).sum();
        screen.say(grid::facts([
            ("log", format!("{}, {} entries", checkpoint.origin, units::count(checkpoint.size))),
            ("stack", format!("{name}, epoch {epoch}")),
            (
                "design",
                format!(
                    "{}: {} with {}",
                    design.name(),
                    table_summary::lookups(visits.len(), queries),
                    scheme.id
                ),
            ),
            ("public", units::bytes(public as u64)),
            ("took", units::time(began.elapsed())),
            ("pin", key.public().to_string()),
        ]))?;
        let logged = self.publish.write(&self.out, &key, screen)?;
        screen.say(format!("next: sotto serve {}", self.out.display()))?;
        screen.report(&json!({
            "stack": name,
            "epoch": epoch,
            "entries": checkpoint.size,
            "design": design.name(),
            "scheme": scheme.id.to_string(),
            "why": choice.why,
            "lookups": visits.len(),
            "queries": queries,
            "tables": stack.shards.len(),
            "public_bytes": public,
            "public_key": key.public().to_string(),
            "log": logged,
            "seconds": began.elapsed().as_secs_f64(),
        }))
    }

    /// Removes rows of a killed build. Only the holder of the folder's lock writes rows.
    fn remove_leftovers(&self) -> Result<()> {
        let failed = |e: std::io::Error| Failure::file("removing leftovers in", &self.out, &e);
        for entry in std::fs::read_dir(&self.out).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(ROWS)) {
                std::fs::remove_dir_all(entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn stack_name(&self) -> Result<TableName> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let name = self.out.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.parse().map_err(|_| {
            Failure::usage(format!("{name:?} is not a name of a stack")).fix("give --name: a-z, 0-9 and '-'")
        })
    }

    fn encode(
        &self,
        dir: &StackDir,
        Member { stack, number, of }: Member<'_>,
        scheme: &'static SchemeEntry,
        tables: &[&dyn TableSource],
        key: &SigningKey,
        watch: &(dyn Fn(sotto_db::Progress) + Sync),
    ) -> Result<Shard> {
        let name: TableName = format!("{stack}-{number}").parse().map_err(|_| {
            Failure::usage("the stack's name is too long for the names of its tables")
                .fix("give a shorter --name")
        })?;
        let folder = TableDir::create(&dir.table(&name)).map_err(exit_mapping::db)?;
        let lock = folder.lock().map_err(exit_mapping::db)?;
        let options = EncodeOptions {
            lookups_per_client: self.design_args.weights.lookups,
            together: of as u64,
            goal: self.design_args.weights.goal.goal(),
            threads: self.threads,
            ..EncodeOptions::new(name, key)
        };
        let written = encode_buckets(scheme, tables, &lock, &options, watch).map_err(exit_mapping::db)?;
        let image = folder.open_epoch(written.epoch).map_err(exit_mapping::db)?;
        Shard::of(image.catalog()).map_err(|e| Failure::internal(e.to_string()))
    }
}
