//! `sotto serve`: serves tables. It prints what it serves and where, then runs until it is asked to
//! end.

mod logging;
pub(crate) mod startup;

use crate::cards;
use crate::failure::{Failure, Result};
use crate::screen::{Report, Screen};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::{PublicKey, Stack};
use sotto_db::{StackDir, publish_log};
use sotto_guest_server::GuestConfig;
use sotto_server::{OpeningProgress, Residency, ServerConfig, TableConfig, TlsConfig};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "\
Example:
  sotto serve tables/ip-country
  sotto serve tables/people --role 0
  sotto serve tables/people --role 1 --listen 127.0.0.1:8082 --admin-listen 127.0.0.1:8083
  sotto serve tables/ip-country --self-signed=pir.example.com --listen 0.0.0.0:8443 --state state
  sotto serve --apple tables/callers --state state --self-signed=pir.example.com
  sotto serve --config sotto.toml --listen 0.0.0.0:443 --tls-cert chain.pem --tls-key key.pem";

const DETAILS: &str = "\
Directories are watched: an epoch that `sotto update` makes goes live by itself, and the previous one \
stays live for clients that still use it. Health, metrics and reload are on the admin address, which has \
no password: keep it off public networks. Ctrl-C or SIGTERM finishes requests in flight, then ends.

An image is compared with its digests before it is served. A damaged one is refused by name, and the other \
tables are served. Large images are checked in the background: until then clients get 503 with \
Retry-After, and /readyz on the admin address shows the progress. Replace an image by renaming (cp to \
another name, then mv), never by writing into the file. A table whose file was overwritten or truncated is \
refused (503) until a reload finds a good one: every --reload-seconds, or with `curl -X POST \
http://127.0.0.1:8081/reload`.

A pass over a table is fastest on huge pages (2 MiB). Mapped files have them on some file systems. \
Elsewhere a table is copied to memory that has them, as long as copies take at most half of the memory \
(--residency, --copy-memory-mib). The startup message, the log and the metric sotto_table_bytes say where \
each table is.

With --gpu a graphics card makes the passes of simplepir, doublepir, ypir, ypir-sp and the other schemes \
whose table is a matrix of bytes: `cargo build --release -p sotto-cli --features gpu` builds for it, and \
`sotto doctor` names the cards. A new epoch is copied beside the current one, so tables take up to twice \
their bytes of the card's memory. The processor makes the passes over a table that does not fit, of another \
scheme, or after the card failed: startup message, log and the metric sotto_accelerated_bytes say so. A card \
makes one pass for up to 128 queries of simplepir or doublepir, if --batch-queries allows as many.

A scheme such as dpf queries two servers, and hides a row from each as long as they do not collude. \
Different operators must run them: serve the same image under --role 0 here and under --role 1 elsewhere. \
An operator of both would see every lookup. To try both on one machine, give each its own --listen and \
--admin-listen.

A symmetric table (`sotto encode --symmetric`) needs the key beside its images (oprf.key), at server 0. \
--evaluations-per-client limits what clients learn of it.

Limits for one address (for IPv6, one /64 network) are high enough for an office of 50 behind one address. \
They are keys of the configuration file. Behind a proxy, where all clients have one address, set them to 0:
  connections_per_client = 256             open connections; a further one closes an idle one
  sessions.sessions_per_client = 256       registered keys; the least recently used are evicted first
  sessions.registrations_per_minute = 300  registrations at once, and in each minute after
  streams_per_client = 4                   concurrent row streams
  hint_requests_per_client = 2             queued hint requests
  hint_seconds_per_client = 600            seconds of making hints at once, and in each hour after
  evaluations_per_client = 1000            of symmetric tables at once, and in each hour after; --state \
keeps the counts
  scan_budget.percent_per_client = 0       percent of the server's time; 0: no limit
A request over a limit gets 429 with Retry-After, the number of seconds to wait.

The queue is fair among addresses. Each turn gives an address a quarter of a pass, so a query waits for \
one turn of each other address, and not for all of their queries. When the queue is full (max_queue), the \
address with the most queries in it gets 429. To limit what one address uses over time, give it a share: \
--scan-percent-per-client 25 is a quarter of each second, after the scan_budget.burst_seconds_per_client = \
60 that it may use at once.

A configuration file has the same settings and more; options on the command line take precedence:
  listen = \"0.0.0.0:8080\"
  tables = [{ dir = \"tables/ip-country\" }]";

/// Parses an address to listen at: `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let addresses = text.to_socket_addrs().map_err(|error| match text.rsplit_once(':') {
        Some(_) => error.to_string(),
        None => "expected host and port, such as 127.0.0.1:8080".to_owned(),
    })?;
    // If a name has both, the one that clients try first: that of the default address.
    let (four, six): (Vec<_>, Vec<_>) = addresses.partition(SocketAddr::is_ipv4);
    four.into_iter().chain(six).next().ok_or_else(|| "the name resolves to no address".to_owned())
}

/// Arguments of `sotto serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE, after_long_help = format!("{EXAMPLE}\n\n{DETAILS}"))]
pub(crate) struct Serve {
    /// Directories of tables, stacks or Apple's tables, or single image files
    #[arg(value_name = "DIR", required_unless_present_any = ["config", "apple"])]
    tables: Vec<PathBuf>,
    /// Tables of Apple's private lookups: files of `sotto encode --apple`, or folders of their
    /// epochs
    #[arg(long, value_name = "PATH", num_args = 1..)]
    apple: Vec<PathBuf>,
    /// Serve Apple's tables even with parameters of less than 128 bits of security
    #[arg(long, requires = "apple")]
    allow_insecure_params: bool,
    /// Configuration file in TOML; unknown keys are refused
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Which of a scheme's servers this one is, from 0; other operators run the others [default: 0]
    #[arg(long, value_name = "N")]
    role: Option<u8>,
    /// Address for clients; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Address for health and metrics, different for each server on a machine [default:
    /// 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    admin_listen: Option<SocketAddr>,
    /// Evaluations of symmetric tables for one address, at once and in each hour after; 0: no
    /// limit, for use behind a proxy [default: 1000]
    #[arg(long, value_name = "N")]
    evaluations_per_client: Option<u64>,
    /// Share of the server's time for one address, with passes, streams and hints, in percent of
    /// each second; 0: no limit [default: 0]
    #[arg(long, value_name = "PERCENT")]
    scan_percent_per_client: Option<u64>,
    /// Share of the server's time for all addresses together, in percent of each second; 0: no
    /// limit [default: 0]
    #[arg(long, value_name = "PERCENT")]
    scan_percent: Option<u64>,
    /// Threads of one pass over a table [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Maximum wait for queries of other clients that share a pass, in microseconds [default: 500]
    #[arg(long, value_name = "US")]
    batch_wait_us: Option<u64>,
    /// Maximum number of queries in one pass; beyond 8 a pass takes more only while its queries share
    /// most of its work [default: 32]
    #[arg(long, value_name = "N")]
    batch_queries: Option<usize>,
    /// Interval between checks for new epochs, in seconds; 0: only on POST /reload [default: 10]
    #[arg(long, value_name = "SECONDS")]
    reload_seconds: Option<u64>,
    /// Number of epochs whose rows delta is served, to clients with state that missed them
    /// [default: 16]
    #[arg(long, value_name = "N")]
    keep_deltas: Option<u64>,
    /// Folder of what survives a restart: registered keys, and counts of evaluations. Without it
    /// both are in memory only: after a restart clients upload keys again, and counts start at 0
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Serve https with the certificate chain in this PEM file
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// PEM file of the certificate's private key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Serve https with a generated certificate for this machine's names and those given; it is
    /// printed, and kept with --state. Clients trust it with --trust-root FILE
    #[arg(
        long,
        value_name = "NAME,...",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "tls_cert"
    )]
    self_signed: Option<String>,
    /// Origin whose pages may make lookups in a browser, such as `https://www.example.com`; `*` for
    /// all [default: the server's own origin]
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    allow_origins: Vec<String>,
    /// Folders of publishers' catalog logs to serve (`sotto encode --catalog-log`). The logs of
    /// tables published on this machine are served by default
    #[arg(long = "catalog-log", value_name = "DIR")]
    catalog_logs: Vec<PathBuf>,
    /// Folder of a static site to serve at /, such as the page that `make page` builds
    #[arg(long, value_name = "DIR")]
    static_dir: Option<PathBuf>,
    /// Where tables are in memory: the mapped file (map), a copy on huge pages (copy), or a copy
    /// where the file's pages are small and it fits (auto) [default: auto]
    #[arg(long, value_name = "WHERE", value_parser = residency)]
    residency: Option<Residency>,
    /// Memory that copies of all tables may take with --residency auto, in MiB [default: half of
    /// the machine's]
    #[arg(long, value_name = "MIB")]
    copy_memory_mib: Option<u64>,
    /// Have a graphics card make the passes over tables whose scheme is a matrix of bytes and that fit
    /// its memory, with the same answers; needs a build with --features gpu
    #[arg(long)]
    gpu: bool,
    /// Memory of the card that tables may take, two epochs of each together, in MiB [default: as much
    /// as its driver gives]
    #[arg(long, value_name = "MIB")]
    gpu_memory_mib: Option<u64>,
    /// Serve images without checking their digests first: at once, and damaged ones too
    #[arg(long)]
    skip_image_check: bool,
    /// Log level on stderr: error, warn, info or debug. The log never holds a row, a key or a
    /// client
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = ["error", "warn", "info", "debug"])]
    log: String,
}

impl Serve {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        // Kept until the server has ended.
        let _log_guard = logging::start(&self.log, screen.is_json())?;
        let (config, guests) = self.settings()?;
        let stacks = config.stacks.iter().map(|path| stacked(path)).collect::<Result<Vec<_>>>()?;
        raise_file_limit();
        let kernels = crate::calibration::use_kernel_shapes();
        // Failed output is no reason not to serve.
        let watch = move |at: &OpeningProgress| drop(screen.print_text(at.to_string()));
        let running = guests.start(&config, cards::accelerator(&config)?, watch)?;
        screen.print(startup::report(&config, &running, &stacks, &kernels))?;
        let shutdown = running
            .run_until_signal()
            .map_err(|error| Failure::internal(format!("cannot listen for signals: {error}")))?;
        let cut_off = shutdown.unfinished;
        let text = format!("ended; {cut_off} connections were closed before they finished");
        Ok(Report::new(text, &EndReport { event: "ended", cut_off }))
    }

    /// The configuration file, if there is one, with the command line's options applied.
    fn settings(&self) -> Result<(ServerConfig, GuestConfig)> {
        let (mut config, mut guests) = match &self.config {
            Some(file) if !file.exists() => {
                return Err(Failure::missing(format!("no such file: {}", file.display())));
            }
            Some(file) => GuestConfig::read(file)?,
            None => Default::default(),
        };
        config.tables.extend(self.tables.iter().map(|path| match path.is_file() {
            true => TableConfig::path(path),
            false => TableConfig::dir(path),
        }));
        guests.recognize(&mut config)?;
        guests.apple.use_cases.extend(self.apple.iter().cloned());
        guests.apple.allow_insecure_params |= self.allow_insecure_params;
        config.logs.extend(self.catalog_logs.iter().cloned());
        for path in &self.tables {
            let log = publish_log::log_folder(path)?.filter(|log| log.is_dir());
            config.logs.extend(log.filter(|log| !config.logs.iter().any(|other| is_same(other, log))));
        }
        if let (Some(cert), Some(key)) = (&self.tls_cert, &self.tls_key) {
            config.tls = Some(TlsConfig { cert: cert.clone(), key: key.clone() });
        }
        if let Some(names) = &self.self_signed {
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            config.self_signed = Some(names.map(str::to_owned).collect());
            config.tls = None;
        }
        config.static_dir = self.static_dir.clone().or(config.static_dir);
        config.skip_image_check |= self.skip_image_check;
        config.gpu |= self.gpu;
        config.gpu_memory_mib = self.gpu_memory_mib.unwrap_or(config.gpu_memory_mib);
        config.residency = self.residency.unwrap_or(config.residency);
        config.copy_memory_mib = self.copy_memory_mib.unwrap_or(config.copy_memory_mib);
        config.allow_origins.extend(self.allow_origins.iter().cloned());
        config.state = self.state.clone().or(config.state);
        config.role = self.role.unwrap_or(config.role);
        config.listen = self.listen.unwrap_or(config.listen);
        config.admin_listen = self.admin_listen.unwrap_or(config.admin_listen);
        config.evaluations_per_client = self.evaluations_per_client.unwrap_or(config.evaluations_per_client);
        let scan_budget = &mut config.scan_budget;
        scan_budget.percent_per_client =
            self.scan_percent_per_client.unwrap_or(scan_budget.percent_per_client);
        scan_budget.percent = self.scan_percent.unwrap_or(scan_budget.percent);
        config.threads = self.threads.unwrap_or(config.threads);
        config.batch.max_wait_us = self.batch_wait_us.unwrap_or(config.batch.max_wait_us);
        config.batch.max_queries = self.batch_queries.unwrap_or(config.batch.max_queries);
        config.reload_seconds = self.reload_seconds.unwrap_or(config.reload_seconds);
        config.keep_deltas = self.keep_deltas.unwrap_or(config.keep_deltas);
        Ok((config, guests))
    }
}

fn residency(text: &str) -> Result<Residency, String> {
    match text {
        "auto" => Ok(Residency::Auto),
        "copy" => Ok(Residency::Copy),
        "map" => Ok(Residency::Map),
        _ => Err("expected auto, copy or map".to_owned()),
    }
}

/// Whether two paths are one folder.
fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// A stack, and its signer.
fn stacked(path: &Path) -> Result<(Stack, PublicKey)> {
    let missing = || Failure::missing(format!("no stack is published in {}", path.display()));
    let (signed, stack) = StackDir::find(path).ok_or_else(missing)?.read()?;
    Ok((stack, signed.public_key()))
}

/// Raises the limit of open files as far as the system allows: each connection is one. An error is
/// ignored; a connection beyond the limit replaces an idle one.
#[cfg(unix)]
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let most = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
}

#[cfg(not(unix))]
fn raise_file_limit() {}

/// The end of a server.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EndReport {
    /// Always `ended`.
    event: &'static str,
    /// Number of connections that were closed before they finished.
    cut_off: usize,
}
