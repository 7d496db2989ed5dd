//! `sotto serve`: answers. Prints what it serves and where, then runs until it is asked to end.

use crate::blame;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, units};
use serde_json::json;
use sotto_catalog::{Catalog, PublicKey, Stack, TableKind};
use sotto_db::{ImageFile, StackDir, TableDir};
use sotto_server::{Config, Server, TableConfig, TlsConfig};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracing_subscriber::EnvFilter;

const EXAMPLE: &str = "\
Directories are watched: the epoch that `sotto update` makes goes live by itself, and the one before stays \
live for clients that are not there yet. Health, metrics and reload are on the admin address, which has no \
password: keep it off the public network. Ctrl-C or SIGTERM finishes what is in flight, then ends.

A scheme such as dpf asks two servers, and hides a row from each of them as long as they do not put together what \
they see. So they are for two operators: serve the same image under --role 0 and, elsewhere, by somebody else, \
under --role 1. One operator of both would see every question.

A symmetric table (`sotto encode --symmetric`) needs the key that lies beside its images (oprf.key), at server 0 of those its scheme asks. What \
clients learn of it is bounded by --evaluations-per-client.

A configuration file holds the same and more; options given here win over it:
  listen = \"0.0.0.0:8080\"
  tables = [{ dir = \"tables/ip-country\" }]

Example:
  sotto serve tables/ip-country
  sotto serve tables/people --role 1
  sotto serve --config sotto.toml --listen 0.0.0.0:443 --tls-cert chain.pem --tls-key key.pem";

/// Arguments of `sotto serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Serve {
    /// Table directories, stack directories, or single image files
    #[arg(value_name = "DIR", required_unless_present = "config")]
    tables: Vec<PathBuf>,
    /// A TOML file; unknown keys in it are refused
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Which of a scheme's servers this one is [default: 0]; the others are for other operators
    #[arg(long, value_name = "N")]
    role: Option<u8>,
    /// Where clients connect [default: 127.0.0.1:8080]; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Where health and metrics are [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<SocketAddr>,
    /// Evaluations of symmetric tables for one address in an hour [default: 1000]; 0: any number, behind a proxy
    #[arg(long, value_name = "N")]
    evaluations_per_client: Option<u64>,
    /// Threads of one pass over a table [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Longest wait for other clients' queries to share a pass with, in microseconds [default: 500]
    #[arg(long, value_name = "US")]
    batch_wait_us: Option<u64>,
    /// Most queries in one pass [default: 8]
    #[arg(long, value_name = "N")]
    batch_queries: Option<usize>,
    /// How often to look for new epochs, in seconds [default: 10]; 0: only when told to (POST /reload)
    #[arg(long, value_name = "SECONDS")]
    reload_seconds: Option<u64>,
    /// Of how many epochs the rows delta is served, to clients that hold state of their own and were away [default: 16]
    #[arg(long, value_name = "N")]
    keep_deltas: Option<u64>,
    /// A directory for what survives a restart: the keys clients have registered. Without it they are in memory
    /// alone, and clients upload them again
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Certificate chain in PEM: serve https
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// What to log on stderr: error, warn, info or debug. Never holds a row, a key or a client
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = ["error", "warn", "info", "debug"])]
    log: String,
}

/// A table as it is announced.
struct Announced {
    catalog: Catalog,
    key: PublicKey,
    role: u8,
}

impl Serve {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        log(&self.log, screen.is_json());
        let config = self.settings()?;
        let announce = |table| announce(table, config.role);
        let announced = config.tables.iter().map(announce).collect::<Result<Vec<_>>>()?;
        let stacks = config.stacks.iter().map(|path| stacked(path)).collect::<Result<Vec<_>>>()?;
        let running = Server::start(&config).map_err(blame::start)?;
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let (public, admin) = (format!("{scheme}://{}", running.public), format!("http://{}", running.admin));
        for table in &announced {
            screen.say(table.line())?;
        }
        for (stack, key) in &stacks {
            let (name, tables) = (&stack.stack, stack.shards.len());
            let layers: Vec<_> = stack.layers.iter().map(|layer| layer.name.as_str()).collect();
            let layers = layers.join(" over ");
            screen.say(format!(
                "stack {name}: epoch {}, {layers} over {tables} tables\n  pin {key}",
                stack.epoch
            ))?;
        }
        screen.say(format!("serving on {public}, health and metrics on {admin}; Ctrl-C ends it"))?;
        if let Some(table) = announced.first() {
            screen.say(table.next(&public))?;
        }
        screen.report(&json!({
            "event": "serving",
            "public": public,
            "admin": admin,
            "tables": announced.iter().map(Announced::json).collect::<Vec<_>>(),
            "stacks": stacks.iter().map(|(stack, key)| stack_json(stack, key)).collect::<Vec<_>>(),
        }))?;
        let shutdown = running
            .run_until_signal()
            .map_err(|error| Failure::internal(format!("signals cannot be listened for: {error}")))?;
        screen.say(format!("ended; {} connections had to be cut off", shutdown.cut_off))?;
        screen.report(&json!({ "event": "ended", "cut_off": shutdown.cut_off }))
    }

    /// The file, if there is one, and what was given here on top.
    fn settings(&self) -> Result<Config> {
        let mut config = match &self.config {
            Some(file) if !file.exists() => {
                return Err(Failure::missing(format!("there is no file {}", file.display())));
            }
            Some(file) => Config::read(file).map_err(blame::start)?,
            None => Config::default(),
        };
        for path in &self.tables {
            match StackDir::find(path) {
                Some(_) => config.stacks.push(path.clone()),
                None if path.is_file() => config.tables.push(TableConfig::path(path)),
                None => config.tables.push(TableConfig::dir(path)),
            }
        }
        if let (Some(cert), Some(key)) = (&self.tls_cert, &self.tls_key) {
            config.tls = Some(TlsConfig { cert: cert.clone(), key: key.clone() });
        }
        config.state = self.state.clone().or(config.state);
        config.role = self.role.unwrap_or(config.role);
        config.listen = self.listen.unwrap_or(config.listen);
        config.admin_listen = self.admin_listen.unwrap_or(config.admin_listen);
        config.evaluations_per_client = self.evaluations_per_client.unwrap_or(config.evaluations_per_client);
        config.threads = self.threads.unwrap_or(config.threads);
        config.batch.max_wait_us = self.batch_wait_us.unwrap_or(config.batch.max_wait_us);
        config.batch.max_queries = self.batch_queries.unwrap_or(config.batch.max_queries);
        config.reload_seconds = self.reload_seconds.unwrap_or(config.reload_seconds);
        config.keep_deltas = self.keep_deltas.unwrap_or(config.keep_deltas);
        Ok(config)
    }
}

/// Structured logs on stderr; JSON with `--json`.
fn log(level: &str, json: bool) {
    let builder =
        tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(EnvFilter::new(level));
    if json { builder.json().init() } else { builder.with_ansi(false).init() }
}

fn announce(table: &TableConfig, role: u8) -> Result<Announced> {
    let image = match (&table.dir, &table.path) {
        (Some(dir), _) => newest(dir)?,
        (None, Some(path)) => ImageFile::open(path).map_err(blame::db)?,
        (None, None) => return Err(Failure::input("one of [[tables]] has neither dir nor path")),
    };
    let role = table.role.unwrap_or(role);
    Ok(Announced { catalog: image.catalog().clone(), key: image.signed_catalog().public_key(), role })
}

/// A stack, and who signed it.
fn stacked(path: &Path) -> Result<(Stack, PublicKey)> {
    let missing = || Failure::missing(format!("no stack was published in {}", path.display()));
    let (signed, stack) = StackDir::find(path).ok_or_else(missing)?.read().map_err(blame::db)?;
    Ok((stack, signed.public_key()))
}

fn stack_json(stack: &Stack, key: &PublicKey) -> serde_json::Value {
    json!({
        "stack": stack.stack,
        "epoch": stack.epoch,
        "layers": stack.layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>(),
        "tables": stack.shards.iter().map(|shard| &shard.table).collect::<Vec<_>>(),
        "public_key": key.to_string(),
    })
}

/// The newest image of a table directory.
fn newest(dir: &Path) -> Result<Arc<ImageFile>> {
    TableDir::open(dir).and_then(|dir| dir.open_latest()).map_err(blame::db)
}

impl Announced {
    fn is_symmetric(&self) -> bool {
        self.catalog.masked().is_ok_and(|masked| masked.is_some())
    }

    fn line(&self) -> String {
        let catalog = &self.catalog;
        let (name, rows) = (&catalog.table, units::count(catalog.rows));
        let masked = if self.is_symmetric() { ", symmetric" } else { "" };
        let bytes = catalog.item_bytes().unwrap_or(catalog.row_bytes);
        let role = match catalog.servers {
            1 => String::new(),
            servers => format!(", server {} of {servers}", self.role),
        };
        format!(
            "table {name}: epoch {}, {rows} rows of {bytes} bytes, {}{masked}{role}\n  pin {}",
            catalog.epoch, catalog.scheme, self.key
        )
    }

    fn next(&self, public: &str) -> String {
        let server = |server| match server == u32::from(self.role) {
            true => format!("--server {public}"),
            false => format!("--server (the address of server {server}, of another operator)"),
        };
        let servers: Vec<_> = (0..self.catalog.servers).map(server).collect();
        let (servers, table) = (servers.join(" "), &self.catalog.table);
        let what = if self.catalog.kind == TableKind::Keyword { "--key KEY" } else { "--row 0" };
        format!("next: sotto get {servers} --table {table} {what} --pin {}", self.key)
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "table": self.catalog.table,
            "epoch": self.catalog.epoch,
            "rows": self.catalog.rows,
            "row_bytes": self.catalog.row_bytes,
            "symmetric": self.is_symmetric(),
            "scheme": self.catalog.scheme,
            "servers": self.catalog.servers,
            "role": self.role,
            "public_key": self.key.to_string(),
        })
    }
}
