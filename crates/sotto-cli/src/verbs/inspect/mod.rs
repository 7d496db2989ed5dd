//! `sotto inspect`: describes a table or a stack in a directory, in an image file, or at an
//! address, as any client sees it; and the durable states of clients. `stack` inspects a stack: a
//! layer, and the tables below it.

pub(crate) mod stack;

use crate::download::fetch;
use crate::failure::{Failure, Result};
use crate::screen::{Report, Screen, grid, units};
use crate::verbs::inspect::stack::{StackInfo, StackReport};
use crate::{apple, download, is_url, table_summary};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::signed::MAX_SIGNED_BYTES;
use sotto_catalog::{Catalog, KeyKind, SignedCatalog, SignedStack, Stack, TableKind, TableNameError};
use sotto_client::state::inspect::{StateInfo, inspect as states};
use sotto_client::transport::Request;
use sotto_client::transport::http::HttpTransport;
use sotto_core::{Budget, Epoch};
use sotto_db::image::FileKind;
use sotto_db::inspect::{SchemeInfo, describe};
use sotto_db::parts::open_parts;
use sotto_db::residency::PageKind;
use sotto_db::{DbError, ImageFile, ImageProblem, Inspection, StackDir, TableDir};
use sotto_wire::routes;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLE: &str = "\
A directory shows its newest image (--epoch selects another). A server shows its tables and stacks, one \
per line. A stack shows its layer, the cost of a request, and its tables in brief; --table shows one table \
in full. Security, failure probability and sizes are not read from the file but computed from the \
parameters in it. --verify reads every byte (of a server: every static file) and compares it with its digest.

--state shows the stored state of clients whose queries spend hints: the epoch, and how many queries are \
left.

Example:
  sotto inspect tables/ip-country --verify
  sotto inspect tables/demo --table demo-0
  sotto inspect tables/ip-country/epoch-00000001.sotto --json
  sotto inspect https://lookup.example";

/// Arguments of `sotto inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Inspect {
    /// Directory of a table or stack, image file, or address of a server
    #[arg(value_name = "DIR|IMAGE|URL", required_unless_present = "state", default_value = "")]
    target: String,
    /// Folder of client states, as given to `sotto get --state`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["target", "verify", "epoch", "table"])]
    state: Option<PathBuf>,
    /// Compare every byte with its digest
    #[arg(long)]
    verify: bool,
    /// Epoch of a directory [default: the newest]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// Table of a server or stack [default: all]
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
}

impl Inspect {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        if let Some(dir) = &self.state {
            return inspect_states(dir);
        }
        match is_url(&self.target) {
            true => inspect_server(&self, screen),
            false => match apple::find(Path::new(&self.target), self.epoch)? {
                Some(path) => apple::inspect(&path, self.verify, screen),
                None => inspect_local(&self, screen),
            },
        }
    }
}

fn inspect_local(args: &Inspect, screen: Screen) -> Result<Report> {
    let target = Path::new(&args.target);
    let image = match (StackDir::find(target), &args.table) {
        (Some(dir), Some(name)) => {
            let name = name.parse().map_err(|e: TableNameError| Failure::usage(e.to_string()))?;
            open(&dir.table(&name), args.epoch)?
        }
        (Some(_), None) if args.epoch.is_some() => {
            return Err(Failure::usage(
                "--epoch does not apply to a stack, which names the epochs of its tables",
            )
            .fix("give --table too, or omit --epoch"));
        }
        (Some(dir), None) => return stack::inspect(&dir, args.verify, screen),
        (None, Some(_)) => {
            let text = "--table does not apply to a file";
            return Err(Failure::usage(text).fix("omit --table"));
        }
        (None, None) => open(target, args.epoch)?,
    };
    let entry = sotto_registry::find(&image.catalog().scheme);
    let found = sotto_db::inspect(&image, entry)?;
    if args.verify {
        let bars = screen.bars();
        let parts = open_parts(&image)?;
        for file in parts.iter().chain([&image]) {
            file.verify(&|at| bars.watch(None, at))?;
        }
    }
    report(&found, args.verify)
}

fn open(path: &Path, epoch: Option<u64>) -> Result<Arc<ImageFile>> {
    if !path.exists() {
        return Err(Failure::missing(format!("no such file or directory: {}", path.display()))
            .fix("give the directory of a table, an image file, or an address that starts with http"));
    }
    if path.is_file() {
        if epoch.is_some() {
            return Err(Failure::usage("--epoch does not apply to an image file"));
        }
        return match ImageFile::open(path) {
            Err(DbError::Image { problem: ImageProblem::Piece { .. }, .. }) => ImageFile::open_part(path),
            opened => opened,
        }
        .map_err(Failure::from);
    }
    let dir = TableDir::open(path)?;
    match epoch {
        Some(epoch) => dir.open_epoch(Epoch(epoch)),
        None => dir.open_latest(),
    }
    .map_err(Failure::from)
}

fn report(found: &Inspection, verified: bool) -> Result<Report> {
    let lines = table_summary::lines(&found.catalog, found.scheme.as_ref(), &found.public_key);
    let mut text =
        vec![format!("{} ({})\n", found.path.display(), units::bytes(found.bytes)), grid::facts(lines)];
    text.extend(table_summary::parameters(found.scheme.as_ref()));
    if found.piece != FileKind::Whole.to_string() {
        text.push(format!("\nThis is {}", found.piece));
    }
    text.extend(found.parts.iter().map(|part| {
        let name = part.path.file_name().unwrap_or_default().to_string_lossy();
        match (&part.held, &part.problem) {
            (Some((bytes, digest)), _) => format!("  {name}  {}  {digest}", units::bytes(*bytes)),
            (None, problem) => format!("  {name}: {}", problem.as_deref().unwrap_or("empty")),
        }
    }));
    let columns = "section | >offset | >bytes | BLAKE3";
    let rows = found.sections.iter().map(|section| {
        let (offset, bytes) = (units::count(section.offset), units::count(section.bytes));
        vec![section.name.to_owned(), offset, bytes, section.digest.clone()]
    });
    text.push(format!("\n{}", grid::grid(columns, rows)));
    text.extend(found.huge_share.map(|share| format!("\npages when mapped here: {}", PageKind::of(share))));
    let checked = match verified {
        true => "\nverified: every section matches its digest, and the catalog its signature",
        false => "\nheader, catalog and signature are valid; --verify compares every section with its digest",
    };
    text.push(checked.to_owned());
    let snapshot = table_summary::snapshot(found.catalog.digest());
    Ok(Report::new(text.join("\n"), &ImageReport { image: found, snapshot, verified }))
}

/// An image of a table.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ImageReport<'a> {
    #[serde(flatten)]
    image: &'a Inspection,
    /// Digest of the catalog.
    snapshot: String,
    /// Whether every section was compared with its digest (`--verify`).
    verified: bool,
}

/// The states of a client.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatesReport<'a> {
    states: Vec<StateReport<'a>>,
}

/// The state of a client for one table.
#[derive(Serialize, JsonSchema)]
struct StateReport<'a> {
    folder: &'a Path,
    /// Random name of the state.
    id: &'a str,
    /// Name of the table.
    table: &'a str,
    /// Origin of the server; several are separated by spaces.
    server: &'a str,
    /// Public key of the publisher.
    public_key: &'a str,
    /// Name of the scheme.
    scheme: &'a str,
    /// Epoch of the client; null before the first preparation has ended.
    epoch: Option<Epoch>,
    /// Number of queries that its hints still allow, if that is known.
    budget: Option<u64>,
    /// Number of requests that were made and are not settled.
    unsettled: u64,
    /// Number of requests made by all clients of the state, plus the number of clients.
    counter: u64,
    /// Number of clients that the state has had.
    clients: u64,
    /// Number of the newest snapshot.
    generation: Option<u64>,
    /// Bytes of all files.
    bytes: u64,
}

fn inspect_states(dir: &Path) -> Result<Report> {
    if !dir.is_dir() {
        return Err(Failure::missing(format!("no such folder: {}", dir.display()))
            .fix("give the folder of `sotto get --state`"));
    }
    let states = states(dir, sotto_registry::find)?;
    let text = match states.as_slice() {
        [] => "no client states in this folder".to_owned(),
        states => states.iter().map(facts).collect::<Vec<_>>().join("\n"),
    };
    Ok(Report::new(text, &StatesReport { states: states.iter().map(StateReport::new).collect() }))
}

fn left(state: &StateInfo) -> Option<u64> {
    match state.budget {
        Some(Budget::Left(left)) => Some(left),
        _ => None,
    }
}

fn facts(state: &StateInfo) -> String {
    let metadata = &state.metadata;
    let generation = metadata.snapshot.map(|snapshot| snapshot.generation.to_string());
    grid::facts([
        ("folder", state.path.display().to_string()),
        ("table", format!("{} at {}", metadata.table, metadata.origin)),
        ("signed by", metadata.public_key.clone()),
        ("scheme", metadata.scheme.clone()),
        ("epoch", state.epoch.map_or("none: not prepared yet".to_owned(), |epoch| epoch.to_string())),
        ("left", left(state).map_or("unknown".to_owned(), |left| format!("{} queries", units::count(left)))),
        ("unsettled", format!("{} requests", units::count(state.unsettled))),
        ("generation", generation.unwrap_or_else(|| "none".to_owned())),
        ("size", units::bytes(state.bytes)),
    ])
}

impl<'a> StateReport<'a> {
    fn new(state: &'a StateInfo) -> Self {
        let metadata = &state.metadata;
        StateReport {
            folder: &state.path,
            id: &metadata.id,
            table: &metadata.table,
            server: &metadata.origin,
            public_key: &metadata.public_key,
            scheme: &metadata.scheme,
            epoch: state.epoch,
            budget: left(state),
            unsettled: state.unsettled,
            counter: state.counter,
            clients: metadata.clients,
            generation: metadata.snapshot.map(|snapshot| snapshot.generation),
            bytes: state.bytes,
        }
    }
}

fn inspect_server(args: &Inspect, screen: Screen) -> Result<Report> {
    if args.epoch.is_some() {
        return Err(Failure::usage("--epoch does not apply to a server"));
    }
    let mut server = download::connect(&args.target, None)?;
    let list = download::tables(&mut server)?;
    let names = match &args.table {
        Some(name) => vec![name.clone()],
        None => list.tables,
    };
    // Tables of a stack are shown with it, unless one is requested by name.
    let names_of_stacks = if args.table.is_some() { &[][..] } else { &list.stacks };
    let mut stacks = Vec::new();
    for name in names_of_stacks {
        stacks.push(stack(&mut server, name)?);
    }
    let is_list = names.len() + stacks.len() > 1;
    let mut text = Vec::new();
    text.extend(stacks.iter().filter(|_| !is_list).map(|stack| stack.text() + "\n"));
    let within = |name: &str| {
        let shards = stacks.iter().flat_map(|stack| &stack.document.shards);
        shards.map(|shard| shard.table.as_str()).any(|table| table == name)
    };
    let mut rows: Vec<_> = stacks.iter().map(|stack| stack_row(&stack.document)).collect();
    let mut tables = Vec::new();
    for name in &names {
        let signed = fetch(&mut server, Request::get(routes::table(name, None), MAX_SIGNED_BYTES as u64))?;
        let signed = SignedCatalog::parse(&signed)?;
        let catalog = signed.verify(None)?;
        let entry = sotto_registry::find(&catalog.scheme);
        let scheme = entry.map(|entry| describe(&catalog, entry)).transpose()?;
        let public_key = signed.public_key().to_string();
        if args.verify {
            verify(&mut server, &catalog, screen)?;
        }
        let role = list.roles.get(name.as_str()).copied();
        if !within(name) && is_list {
            rows.push(table_row(&catalog));
        } else if !within(name) {
            text.push(described(&catalog, scheme.as_ref(), &public_key));
            text.extend(role.map(|role| format!("server {role} of {}\n", catalog.servers)));
        }
        let snapshot = table_summary::snapshot(catalog.digest());
        tables.push(TableReport { public_key, snapshot, catalog, scheme, role });
    }
    if is_list {
        text.push(format!("{}\n\n--table NAME shows one table in full", grid::grid(LIST, rows)));
    }
    if args.verify {
        let verified = "\nverified: every static file matches its digests, and every catalog its signature";
        text.push(verified.to_owned());
    }
    let stacks = stacks.iter().map(StackInfo::report).collect();
    let json = ServerReport { server: &args.target, stacks, tables, verified: args.verify };
    Ok(Report::new(text.join("\n"), &json))
}

/// The tables and stacks of a server.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ServerReport<'a> {
    /// Address of the server.
    server: &'a str,
    stacks: Vec<StackReport<'a>>,
    tables: Vec<TableReport>,
    /// Whether every static file was compared with its digests (`--verify`).
    verified: bool,
}

/// A table of a server.
#[derive(Serialize, JsonSchema)]
struct TableReport {
    /// Public key that signed the catalog.
    public_key: String,
    /// Digest of the catalog.
    snapshot: String,
    catalog: Catalog,
    /// What the scheme says of its parameters; null if this build does not have the scheme.
    scheme: Option<SchemeInfo>,
    /// Role of this server, of several.
    role: Option<u8>,
}

/// Columns of a list of tables and stacks.
const LIST: &str = "name | lookup by | >rows | >row | scheme | >epoch";

/// The line of a table in a list.
fn table_row(catalog: &Catalog) -> Vec<String> {
    let asked_by = match &catalog.kind {
        TableKind::Index => "row",
        TableKind::Keyword => "key",
        TableKind::Range { key: KeyKind::Ipv4, .. } => "address",
        _ => "number",
    };
    let rows = units::count(catalog.rows);
    let row = units::bytes(catalog.row_bytes);
    let (scheme, epoch) = (catalog.scheme.clone(), catalog.epoch.to_string());
    vec![catalog.table.to_string(), asked_by.to_owned(), rows, row, scheme, epoch]
}

/// The line of a stack in a list.
fn stack_row(stack: &Stack) -> Vec<String> {
    let layers: Vec<_> = stack.layers.iter().map(|layer| layer.name.as_str()).collect();
    let tables = format!("a stack of {} tables", stack.shards.len());
    let none = || "-".to_owned();
    vec![stack.stack.to_string(), layers.join(" over "), none(), none(), tables, stack.epoch.to_string()]
}

/// A stack, with the catalogs that it names.
fn stack(server: &mut HttpTransport, name: &str) -> Result<StackInfo> {
    let body = fetch(server, Request::get(routes::stack(name), SignedStack::MAX_BYTES as u64))?;
    let signed = SignedStack::parse(&body)?;
    let document = signed.verify(None)?;
    let mut catalogs = Vec::new();
    for shard in &document.shards {
        let path = routes::table(shard.table.as_str(), Some(shard.epoch));
        let catalog = SignedCatalog::parse(&fetch(server, Request::get(path, MAX_SIGNED_BYTES as u64))?);
        let catalog = catalog.and_then(|signed| signed.verify(None))?;
        if !shard.is(&catalog) {
            let text = format!("table {} differs from the one that stack {name} names", shard.table);
            return Err(Failure::peer(text)
                .fix("try again, in case of a new epoch; if the error persists, tell the operator"));
        }
        catalogs.push(catalog);
    }
    StackInfo::new(document, signed.public_key(), catalogs)
}

/// Downloads every static file and compares it with its digests.
fn verify(server: &mut HttpTransport, catalog: &Catalog, screen: Screen) -> Result<()> {
    let bars = screen.bars();
    catalog.artifacts.iter().try_for_each(|entry| download::whole(server, entry, &bars, &mut |_| Ok(())))
}

fn described(catalog: &Catalog, scheme: Option<&SchemeInfo>, public_key: &str) -> String {
    let mut text = vec![grid::facts(table_summary::lines(catalog, scheme, public_key))];
    text.extend(table_summary::parameters(scheme));
    if catalog.artifacts.is_empty() {
        return text.join("\n") + "\n";
    }
    let columns = "static file | >bytes | >since epoch | BLAKE3";
    let rows = catalog.artifacts.iter().map(|entry| {
        let from = entry.from_epoch.map_or_else(|| "-".to_owned(), |epoch| epoch.to_string());
        vec![entry.artifact.name().to_owned(), units::count(entry.bytes), from, entry.digest.to_string()]
    });
    text.push(format!("\n{}\n", grid::grid(columns, rows)));
    text.join("\n")
}
