//! `sotto merkle build`: makes the next epoch of a stack from a log's tiles, verified against its
//! checkpoint. Design and scheme are as given, as in the existing stack, or the cheapest.

use crate::failure::{Exit, Failure, FileContext, Result};
use crate::publication::{Output, PublishArgs, check_kind, log_line};
use crate::screen::progress::StageUnit;
use crate::screen::{Report, Screen, grid, units};
use crate::source_args::{SchemeArg, scheme};
use crate::table_summary;
use crate::verbs::merkle::layout::{Kind, Layout, families, height, title};
use crate::verbs::merkle::log::{LogArgs, LogTables, Nodes, OpenedLog};
use crate::verbs::merkle::plan::{CostArgs, PlanRequest, can_be_chosen, choose};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::stack::{FORMAT, Shard, StackFile};
use sotto_catalog::{LayerEntry, SigningKey, Stack, TableName};
use sotto_core::{Epoch, SchemeEntry};
use sotto_db::table::{Buckets, grouped};
use sotto_db::{EncodeOptions, LogUpdate, StackDir, TableDir, TableSource, encode_buckets};
use sotto_layers::ProofLayout;
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::proof_layout::BatchLayout;
use sotto_prg::PublicSeed;
use std::path::PathBuf;
use std::time::Instant;

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
pub(crate) struct Build {
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

/// A stack from which proofs of a log are fetched.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BuildReport {
    /// Name of the stack.
    stack: TableName,
    /// Number of the epoch.
    epoch: u64,
    /// Number of entries of the log.
    entries: u64,
    /// Name of the layout.
    design: String,
    /// Name of the scheme.
    scheme: String,
    /// Reason of the choice.
    why: String,
    /// Number of lookups of a proof.
    lookups: usize,
    /// Number of queries of a proof.
    queries: usize,
    /// Number of tables.
    tables: usize,
    /// Bytes of public files.
    public_bytes: usize,
    /// Public key of the publisher.
    public_key: String,
    /// What was added to the publisher's log, if there is one.
    log: Option<LogUpdate>,
    seconds: f64,
}

impl Build {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        let began = Instant::now();
        let name = self.stack_name()?;
        let bars = screen.bars();
        let OpenedLog { note, checkpoint, mut log, .. } = self.copy.open(&self.log, &bars)?;
        if checkpoint.size == 0 {
            return Err(Failure::input("the log has no entries"));
        }
        bars.at("choosing a design", 0, 0, StageUnit::Share);

        check_kind(&self.out, Output::Stack)?;
        let dir = StackDir::create(&self.out)?;
        let root = dir.root()?;
        let lock = root.lock()?;
        let before = StackDir::find(&self.out).map(|dir| dir.read()).transpose()?;
        if let Some((_, before)) = before.as_ref().filter(|(_, before)| before.stack != name) {
            return Err(Failure::usage(format!("the stack in this directory is named {}", before.stack))
                .fix("build into another directory"));
        }
        let choice = match &before {
            Some((_, before)) => self.design_args.existing(&dir, before, checkpoint.size)?,
            None => self.design_args.fresh(checkpoint.size)?,
        };
        bars.finish();
        let (design, scheme) = (choice.design, choice.scheme);
        let key = self.publish.signing_key(&root, self.signing_key.as_deref())?;
        self.remove_leftovers()?;
        let folder = tempfile::Builder::new().prefix(ROWS).tempdir_in(&self.out);
        let folder = folder.doing("writing", &self.out)?;
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
        let created = crate::unix_time();
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
            anchor: self.publish.anchor.clone(),
            attribution: None,
            created,
            expires: self.publish.lifetime().map(|lifetime| created.saturating_add(lifetime)),
        };
        let bytes: Vec<Vec<u8>> = files.into_iter().map(|(_, bytes)| bytes).collect();
        dir.publish(&stack, &bytes, &key)?;
        drop(lock);
        bars.finish();

        let lookups = table_summary::lookups(visits.len(), queries);
        let public: usize = bytes.iter().map(Vec::len).sum();
        let facts = grid::facts([
            ("log", format!("{}, {} entries", checkpoint.origin, units::count(checkpoint.size))),
            ("stack", format!("{name}, epoch {epoch}")),
            ("design", format!("{}: {lookups} with {}", design.name(), scheme.id)),
            ("public", units::bytes(public as u64)),
            ("took", units::time(began.elapsed())),
            ("pin", key.public().to_string()),
        ]);
        let logged = self.publish.write(&self.out, &key)?;
        let mut text = vec![format!("design: {}\n\n{facts}", choice.why)];
        text.extend(logged.as_ref().map(log_line));
        text.push(format!("next: sotto serve {}", self.out.display()));
        let json = BuildReport {
            stack: name,
            epoch,
            entries: checkpoint.size,
            design: design.name().to_owned(),
            scheme: scheme.id.to_string(),
            why: choice.why,
            lookups: visits.len(),
            queries,
            tables: stack.shards.len(),
            public_bytes: public,
            public_key: key.public().to_string(),
            log: logged,
            seconds: began.elapsed().as_secs_f64(),
        };
        Ok(Report::new(text.join("\n"), &json))
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
        let folder = TableDir::create(&dir.table(&name))?;
        let lock = folder.lock()?;
        let options = EncodeOptions {
            lookups_per_client: self.design_args.weights.lookups,
            together: of as u64,
            goal: self.design_args.weights.goal.goal(),
            threads: self.threads,
            ..EncodeOptions::new(name, key)
        };
        let written = encode_buckets(scheme, tables, &lock, &options, watch)?;
        let image = folder.open_epoch(written.epoch)?;
        Shard::of(image.catalog()).map_err(|e| Failure::internal(e.to_string()))
    }
}

/// Maximum number of public layers: 2^24 hashes.
const MAX_PUBLIC: u8 = 24;

/// What may be said of the design.
#[derive(Debug, clap::Args)]
pub(crate) struct DesignArgs {
    /// Layout of proofs: tile, tiles, color or pbc [default: the stack's; for a new stack the
    /// cheapest]
    #[arg(long, value_parser = ["tile", "tiles", "color", "pbc"])]
    design: Option<String>,
    /// Number of top layers that are public, by color [default: the cheapest]
    #[arg(long, value_name = "LAYERS", value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_PUBLIC)))]
    public_layers: Option<u8>,
    /// Scheme of the tables; `sotto schemes` lists them [default: the stack's; for a new
    /// stack the cheapest]
    #[arg(long, value_parser = scheme)]
    scheme: Option<SchemeArg>,
    #[command(flatten)]
    pub(crate) weights: CostArgs,
}

/// The design and scheme of a build.
pub(crate) struct DesignChoice {
    pub(crate) design: ProofLayout,
    pub(crate) scheme: &'static SchemeEntry,
    /// Reason of the choice, in one line.
    pub(crate) why: String,
}

impl DesignArgs {
    /// The choice for a log without a stack.
    pub(crate) fn fresh(&self, leaves: u64) -> Result<DesignChoice> {
        let request = PlanRequest {
            leaves,
            lookups: self.weights.lookups,
            goal: self.weights.goal,
            scheme: self.scheme,
        };
        let plan = choose(&request, self.layouts(leaves)?)?;
        let why = plan.summary(&request);
        let best = plan.best().map(|best| (best.layout.kind, best.price.scheme));
        match best {
            Some((Kind::Design(design), scheme)) => Ok(DesignChoice { design, scheme, why }),
            Some((Kind::Batch(CodeSizes { copies, buckets, spare, .. }), scheme)) => {
                let code = BatchLayout {
                    copies,
                    buckets,
                    spare,
                    seed: PublicSeed::fresh(&mut sotto_prg::system_rng()?),
                };
                Ok(DesignChoice { design: ProofLayout::Batch(code), scheme, why })
            }
            _ => Err(Failure::internal("the chosen layout cannot be built")),
        }
    }

    /// The layouts that remain to choose from.
    fn layouts(&self, leaves: u64) -> Result<Vec<Vec<Layout>>> {
        let one = |design| Ok(vec![vec![Layout::of(design, leaves)?]]);
        let height = height(leaves);
        let color = |public: u8| ProofLayout::Color { layers: height - public, public };
        match (self.design.as_deref(), self.public_layers) {
            (Some("tile" | "tiles" | "pbc"), Some(_)) => {
                Err(Failure::usage("--public-layers applies to --design color only"))
            }
            (Some("pbc"), None) => {
                let batch = Layout::batch(leaves);
                let long = || Failure::usage(format!("no batch code fits a log of {leaves} entries"));
                batch.map(|layout| vec![vec![layout]]).ok_or_else(long)
            }
            (Some("tile"), None) => one(ProofLayout::Tile { levels: 1 }),
            (Some("tiles"), None) => one(ProofLayout::Tile { levels: 2 }),
            (_, Some(public)) => one(color(public.min(height - 1))),
            (Some(_), None) => Ok(vec![Layout::colors(leaves)?]),
            (None, None) => {
                let mut families = families(leaves)?;
                families.iter_mut().for_each(|family| family.retain(can_be_chosen));
                Ok(families)
            }
        }
    }

    /// The choice for a log with a stack: that of the stack, so that clients can continue.
    pub(crate) fn existing(&self, dir: &StackDir, before: &Stack, leaves: u64) -> Result<DesignChoice> {
        let fix = "build into another directory";
        let design = match before.layers.as_slice() {
            [layer] => ProofLayout::parse(&layer.name, &layer.params).ok(),
            _ => None,
        };
        let Some((mut design, known)) = design else {
            return Err(Failure::input("the stack in this directory is not of a log").fix(fix));
        };
        let mut grown = false;
        if let ProofLayout::Color { layers, public } = &mut design {
            // With the same number of layers in tables every row keeps its position, and tables get
            // longer: new layers are public.
            let needed = height(leaves).saturating_sub(*layers);
            grown = needed > *public;
            *public = needed.max(*public);
            if *public > MAX_PUBLIC {
                let message = format!(
                    "the log has {leaves} entries: {public} layers would be public, at most {MAX_PUBLIC} are allowed"
                );
                return Err(Failure::usage(message).fix(fix));
            }
        }
        if !self.is_met_by(design, leaves) {
            return Err(Failure::usage(format!("the stack has another layout: {}", title(design))).fix(
                "build into another directory, or omit --design and --public-layers to keep the layout",
            ));
        }
        if let ProofLayout::Batch(code) = &mut design {
            // Another number of rows moves them all anyway, so the proofs that fail may change too.
            code.seed = PublicSeed::fresh(&mut sotto_prg::system_rng()?);
            code.sizes(leaves).check().map_err(|_| {
                Failure::usage(format!(
                    "the log has {leaves} entries, too many for the buckets of its batch code"
                ))
                .fix(
                    "build into another directory, and serve both until clients use the new name; other \
                     designs grow in place",
                )
            })?;
        }
        if known > leaves {
            let text = format!("the stack is of {known} entries, but the log has {leaves}");
            return Err(Failure::input(text).fix(fix));
        }
        let scheme = match self.scheme {
            Some(scheme) => scheme.entry(),
            None => its_scheme(dir, before)?,
        };
        let before =
            if grown { "with more public layers, since the log passed a power of two" } else { "unchanged" };
        Ok(DesignChoice { design, scheme, why: format!("{} with {}, {before}", title(design), scheme.id) })
    }

    fn is_met_by(&self, design: ProofLayout, leaves: u64) -> bool {
        let name = match design {
            ProofLayout::Tile { levels: 1 } => "tile",
            ProofLayout::Tile { .. } => "tiles",
            ProofLayout::Color { .. } => "color",
            ProofLayout::Batch(_) => "pbc",
        };
        let public = match design {
            ProofLayout::Color { public, .. } => {
                self.public_layers.is_none_or(|requested| requested.min(height(leaves) - 1) == public)
            }
            ProofLayout::Tile { .. } | ProofLayout::Batch(_) => self.public_layers.is_none(),
        };
        self.design.as_deref().is_none_or(|requested| requested == name) && public
    }
}

/// The scheme of a stack's tables.
fn its_scheme(dir: &StackDir, stack: &Stack) -> Result<&'static SchemeEntry> {
    let Some(shard) = stack.shards.first() else {
        return Err(Failure::input("the stack in this directory has no tables"));
    };
    let table = TableDir::open(&dir.table(&shard.table))?;
    let image = table.open_epoch(shard.epoch)?;
    let id = &image.catalog().scheme;
    sotto_registry::find(id).ok_or_else(|| {
        Failure::new(Exit::Params, format!("scheme {id:?} of the stack is not in this build"))
            .fix("use a build of sotto that has the scheme, or give --scheme")
    })
}
