//! `sotto leakage`: a page about what a table reveals and to whom, with measurements next to
//! statements. It uses existing servers, or servers that are started for a folder and end with it.
//!
//! | module | contents |
//! |---|---|
//! | `measure` | different lookups, compared by what is seen of requests |
//! | `page` | what follows from the scheme and the catalog, and the page |

mod measure;
mod page;

use crate::download::http_settings;
use crate::failure::{Failure, FileContext, Result};
use crate::lab::leakage::measure::{LeakageReport, measure};
use crate::lab::leakage::page::Observer;
use crate::screen::{Report, Screen};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::{Catalog, TableName};
use sotto_client::transport::http::HttpSettings;
use sotto_core::Epoch;
use sotto_db::inspect::describe;
use sotto_db::{ImageFile, StackDir, TableDir};
use sotto_server::{RunningServer, Server, ServerConfig, TableConfig};
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "\
The report states what the server learns, what an observer of the network learns, what clients learn about \
other rows, and what is left of deleted rows. It makes different lookups, some of them for rows or keys \
that the table does not have, and compares what is visible of each: requests, their order, their sizes, \
and the sizes of answers. If lookups can be told apart, the report says how, and the exit code is 1 (the \
client's requests differ) or 5 (only the answers differ).

For a table of keys, give a key that it has (--key): the report then compares present keys with missing \
ones. Times are not compared: `make constant-time` does that for the client, instruction by instruction.

Example:
  sotto leakage tables/people > people.md
  sotto leakage tables/blocked --key example.com --out blocked.md
  sotto leakage https://lookup.example --table people
  sotto leakage https://one.example --server https://other.example --table people --json";

/// Arguments of `sotto leakage`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Leakage {
    /// Directory of a table or stack, image file, or address of a server
    #[arg(value_name = "DIR|IMAGE|URL")]
    target: String,
    /// Name of the table, with the address of a server
    #[arg(long, value_name = "NAME", conflicts_with = "stack")]
    table: Option<String>,
    /// Name of the stack, with the address of a server
    #[arg(long, value_name = "NAME")]
    stack: Option<String>,
    /// Addresses of the scheme's other servers, in the order of their roles
    #[arg(long = "server", value_name = "URL")]
    others: Vec<String>,
    /// Key that the table has, such as an address; repeatable
    #[arg(long = "key", value_name = "KEY")]
    keys: Vec<String>,
    /// PEM file of the root certificates to trust for https, in place of the web's
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
    /// File to write the report to
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Leakage {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        let target = self.target()?;
        let bars = screen.bars();
        let measured = measure(&target, &self.keys, &bars)?;
        bars.finish();
        let Some(catalog) = measured.catalogs.first() else {
            return Err(Failure::internal("no catalog of the table"));
        };
        let entry = sotto_registry::find(&catalog.scheme)
            .ok_or_else(|| Failure::internal("no such scheme in this build"))?;
        let scheme = describe(catalog, entry)?;
        let table = page::DescribedTable { catalog, scheme: &scheme, entry };
        let parts = page::parts(&target, &measured, &table);
        let page = page::page(&target, &measured, &table, &parts);
        let text = match &self.out {
            Some(file) => {
                std::fs::write(file, &page).doing("writing", file)?;
                format!("written: {}", file.display())
            }
            None => page,
        };
        let json = TableLeakage {
            name: &target.name,
            tables: measured.catalogs.len(),
            table: &catalog.table,
            epoch: catalog.epoch,
            scheme: &catalog.scheme,
            parts,
            measured: &measured,
        };
        Ok(Report::new(text, &json).but(verdict(&measured)))
    }

    fn target(&self) -> Result<LeakageTarget> {
        if !crate::is_url(&self.target) {
            if self.table.is_some() || self.stack.is_some() || !self.others.is_empty() {
                let text = "--table, --stack and --server apply to the address of a server only";
                return Err(Failure::usage(text).fix("omit them"));
            }
            return LeakageTarget::of_files(Path::new(&self.target));
        }
        let (name, stack) = match (&self.table, &self.stack) {
            (Some(table), _) => (table.clone(), false),
            (None, Some(stack)) => (stack.clone(), true),
            (None, None) => {
                let text = "no table of the server is given";
                return Err(
                    Failure::usage(text).fix("give --table or --stack; `sotto inspect URL` lists both")
                );
            }
        };
        let settings = http_settings(self.trust_root.as_deref())?;
        let urls = std::iter::once(&self.target).chain(&self.others).cloned().collect();
        Ok(LeakageTarget { urls, settings, name, stack, epochs: Vec::new(), _running: Vec::new() })
    }
}

/// What a table reveals, and to whom.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TableLeakage<'a> {
    /// Name of the table or stack.
    name: &'a str,
    /// Number of tables.
    tables: usize,
    /// Name of the first table.
    table: &'a TableName,
    epoch: Epoch,
    /// Name of the scheme.
    scheme: &'a str,
    /// What each observer learns.
    parts: Vec<Observer>,
    /// What was measured of lookups.
    measured: &'a LeakageReport,
}

/// The failure if lookups can be told apart.
fn verdict(measured: &LeakageReport) -> Option<Failure> {
    let apart = measured.apart.iter().max_by_key(|apart| apart.sent)?;
    let text = format!("{} is distinguishable from {} by the requests", apart.one, apart.other);
    Some(match apart.sent {
        true => Failure::internal(text).fix("please report it with the report, which says what differs"),
        false => {
            Failure::peer(text).fix("ask the operator why the server's answers differ in size or status")
        }
    })
}

/// Servers, and the table or stack to query.
pub(crate) struct LeakageTarget {
    /// Addresses of the servers, in the order of their roles.
    pub(crate) urls: Vec<String>,
    pub(crate) settings: HttpSettings,
    /// Name of the table or stack.
    pub(crate) name: String,
    /// Whether it is a stack.
    pub(crate) stack: bool,
    /// Epochs in the folder, if there is one.
    pub(crate) epochs: Vec<u64>,
    /// Servers that were started, held during the measurement.
    _running: Vec<RunningServer>,
}

impl LeakageTarget {
    /// Starts each server of a table's or stack's folder, or of an image, on loopback.
    fn of_files(path: &Path) -> Result<Self> {
        if !path.exists() {
            let text = format!("no such file or folder: {}", path.display());
            return Err(
                Failure::missing(text).fix("give the directory of a table or stack, an image, or an address")
            );
        }
        if let Some(dir) = StackDir::find(path) {
            let (_, stack) = dir.read()?;
            let first = stack.shards.first().map(|shard| dir.table(&shard.table));
            let first = first.ok_or_else(|| Failure::internal("the stack has no tables"))?;
            let image = TableDir::open(&first).and_then(|dir| dir.open_latest())?;
            let config = ServerConfig { stacks: vec![path.to_owned()], ..ServerConfig::on_free_ports() };
            return Self::started(config, stack.stack.to_string(), image.catalog(), Vec::new(), true);
        }
        let (table, image, epochs) = match path.is_file() {
            true => (TableConfig::path(path), ImageFile::open(path)?, Vec::new()),
            false => {
                let dir = TableDir::open(path)?;
                let epochs = dir.epochs()?.into_iter().map(|epoch| epoch.0).collect();
                (TableConfig::dir(PathBuf::from(path)), dir.open_latest()?, epochs)
            }
        };
        let config = ServerConfig { tables: vec![table], ..ServerConfig::on_free_ports() };
        Self::started(config, image.catalog().table.to_string(), image.catalog(), epochs, false)
    }

    fn started(
        config: ServerConfig,
        name: String,
        catalog: &Catalog,
        epochs: Vec<u64>,
        stack: bool,
    ) -> Result<Self> {
        let start = |role| {
            Server::start(&ServerConfig { role, reload_seconds: 0, ..config.clone() }).map_err(Failure::from)
        };
        let roles = 0..u8::try_from(catalog.servers).unwrap_or(u8::MAX);
        let running = roles.map(start).collect::<Result<Vec<_>>>()?;
        let urls = running.iter().map(|server| format!("http://{}", server.public)).collect();
        Ok(LeakageTarget { urls, settings: HttpSettings::default(), name, stack, epochs, _running: running })
    }
}
