//! The configuration, one short TOML file. Every key but `tables` has a default, and a command line
//! may add to `tables`; unknown keys are refused, since a misspelled limit would not be enforced.

mod defaults;

use crate::StartError;
use serde::Deserialize;
use sotto_db::PathKind;
pub use sotto_db::Residency;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, ValueDeserializer};

/// Configuration of a server.
///
/// ```
/// use sotto_server::ServerConfig;
///
/// let text = "listen = '127.0.0.1:8080'\n[[tables]]\npath = 'squares'\n";
/// let config = ServerConfig::parse(text)?;
/// assert_eq!((config.listen.port(), config.tables.len()), (8080, 1));
/// assert!(ServerConfig::parse("lisen = '127.0.0.1:8080'").is_err(), "unknown keys are refused");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Address for clients. Port 0 chooses a free one.
    pub listen: SocketAddr,
    /// Address for health, metrics and reload. Keep it off the public network: it has no password.
    pub admin_listen: SocketAddr,
    /// Host names that requests to the admin address may have, besides addresses and `localhost`:
    /// no web page can use a name that is not listed.
    pub admin_hosts: Vec<String>,
    /// Tables to serve.
    pub tables: Vec<TableConfig>,
    /// Folders of stacks, whose tables are served too.
    pub stacks: Vec<PathBuf>,
    /// Folders of publishers' logs (`sotto encode --catalog-log`), with which clients verify that everybody
    /// is shown the same catalogs.
    pub logs: Vec<PathBuf>,
    /// Folder of a web page, whose files are served as they are when the server starts.
    pub static_dir: Option<PathBuf>,
    /// Number of this server among a scheme's servers, counted from 0, for every table without a
    /// role of its own. The servers of a table have to be run by parties that do not share what
    /// they see: nobody runs two of them.
    pub role: u8,
    /// Number of threads of a pass over a table; 0 means one per core.
    pub threads: usize,
    /// Maximum number of open connections. A further one replaces an idle one of the network that
    /// has the most, so that a new client is always let in.
    pub max_connections: usize,
    /// Maximum number of connections of one client, as in [`SessionConfig::sessions_per_client`]; a further
    /// one replaces an idle one of the same client, and is closed if there is none. 0: any number,
    /// for servers behind a proxy.
    pub connections_per_client: usize,
    /// Memory for requests and their answers, in MiB, from the first byte of a request to the last
    /// of its answer; requests beyond it get `busy`. A client may have seven times what is then
    /// free, which is seven eighths for one that is alone (half for an IPv6 /64).
    pub request_memory_mib: u64,
    /// Maximum number of query requests that wait for a pass. A further one replaces one of the
    /// client that has the most, which gets `busy`; if no client has more than the sender, the
    /// further one gets it.
    pub max_queue: usize,
    /// Maximum number of open streams, each with its expanded query in memory; further ones get
    /// `busy`.
    pub max_streams: usize,
    /// Maximum number of open streams of one client, as in [`SessionConfig::sessions_per_client`]; further
    /// ones get `busy`. 0: any number.
    pub streams_per_client: usize,
    /// Maximum number of hint requests that wait or are being answered; further ones get `busy`.
    /// They are answered one after the other.
    pub max_hint_requests: usize,
    /// Maximum number of hint requests of one client, as for streams; further ones get `busy`. 0:
    /// any number.
    pub hint_requests_per_client: usize,
    /// Time in seconds for which hints are made for one client: at once, and again with each hour;
    /// then its hint requests get `busy`. A request in progress is finished. 0: any time, for
    /// servers behind a proxy. It should suffice for all hints of one client of the largest table.
    pub hint_seconds_per_client: u64,
    /// Number of evaluations of symmetric tables for one client, over all tables: at once, and
    /// again with each hour, spread evenly; then `busy`. It bounds the number of rows that one
    /// client can learn, across restarts too if there is a `state`. 0: any number, for servers
    /// behind a proxy.
    pub evaluations_per_client: u64,
    /// Number of threads that make hints; 0 means one per core. They are separate from those of the
    /// passes, and take processor time from them.
    pub hint_threads: usize,
    /// Maximum time in milliseconds that a query request waits for a pass; then it gets `deadline`.
    pub deadline_ms: u64,
    /// Maximum time in milliseconds for the body of a request to arrive.
    pub read_timeout_ms: u64,
    /// Maximum time in milliseconds for which a connection may be open without a request, for the
    /// head of a request to arrive, and for which a response may wait for its client to read.
    /// Streams and downloads of an epoch that is no longer served may continue for this time.
    pub idle_timeout_ms: u64,
    /// Minimum average rate in bytes per second at which responses are read, beyond
    /// `idle_timeout_ms`; slower ones are closed, and their memory is released.
    pub min_send_bytes_per_second: u64,
    /// Interval in seconds between checks for new epochs; 0 means only on `POST /reload`.
    pub reload_seconds: u64,
    /// Maximum time in seconds for which a shutdown waits for requests in flight.
    pub drain_seconds: u64,
    /// Whether a graphics card makes the passes over tables whose scheme has them for one, in a program
    /// that was built for it.
    pub gpu: bool,
    /// Memory of the card that tables may take, in MiB. 0: as much as its driver gives.
    pub gpu_memory_mib: u64,
    /// Whether tables are scanned where their files are mapped, or in a copy on huge pages.
    pub residency: Residency,
    /// Maximum memory in MiB for such copies if `residency` does not demand them, over all tables.
    /// 0: half of the memory that is available when a table is opened.
    pub copy_memory_mib: u64,
    /// Whether images go live without being verified against their digests: at once, and damaged
    /// ones too.
    pub skip_image_check: bool,
    /// Number of epochs, the newest included, whose rows delta is served: how far a client with
    /// state may be behind before it has to stream the rows again.
    pub keep_deltas: u64,
    /// How query requests are batched.
    pub batch: BatchConfig,
    /// Limits on the server's time that clients may use.
    pub scan_budget: ScanConfig,
    /// Limits on the keys of clients, for schemes with keys.
    pub sessions: SessionConfig,
    /// Directory for state that outlives a restart, such as clients' keys. Without it they are in
    /// memory alone.
    pub state: Option<PathBuf>,
    /// Certificate and key; without them the server speaks plain HTTP.
    pub tls: Option<TlsConfig>,
    /// Names and addresses for a self-signed certificate, besides those of this machine; the server
    /// then speaks https. The certificate is stored in `state`, if there is one, and otherwise made
    /// again at each start.
    pub self_signed: Option<Vec<String>>,
    /// Origins whose pages may make requests in a browser, such as `https://www.example.com`; `*`
    /// for all. By default only pages of this server's own origin may.
    pub allow_origins: Vec<String>,
}

/// Configuration of one table: exactly one of `dir` and `path`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableConfig {
    /// Directory of a table or of a stack, checked for new epochs.
    pub dir: Option<PathBuf>,
    /// Path of a single image file.
    pub path: Option<PathBuf>,
    /// Number of this server among the scheme's servers, instead of [`ServerConfig::role`]; 0 for
    /// schemes with one server.
    pub role: Option<u8>,
}

/// How query requests of many clients are batched.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BatchConfig {
    /// Maximum wait for further requests, in microseconds. A request that finds the server idle
    /// never waits.
    pub max_wait_us: u64,
    /// Maximum number of queries in one pass. Beyond 8 a pass takes more only while its queries share
    /// most of its work, as measured in the passes before.
    pub max_queries: usize,
}

/// Limits on the time that is spent on the tables: passes, units of streams, hint requests. Work
/// for several clients at once is charged to each by its queries. A client whose time is used up
/// gets `busy` until it has more; work in progress is finished, and a stream continues at that
/// pace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScanConfig {
    /// Share of the time for one client, in percent: 25 is a quarter of a second per second. 0:
    /// any, which is the default, and is for servers behind a proxy.
    pub percent_per_client: u64,
    /// Seconds that one client may use at once.
    pub burst_seconds_per_client: u64,
    /// Share of the time for all clients together, in percent. 0: any. Hints are made in parallel
    /// to the passes, so up to 200 may be in use.
    pub percent: u64,
    /// Seconds that all clients together may use at once.
    pub burst_seconds: u64,
}

/// Limits on the keys of clients, over all tables.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionConfig {
    /// Maximum bytes of admitted keys in memory; the least recently used of the client that has the
    /// most are evicted first.
    pub max_bytes: u64,
    /// Maximum bytes of keys in the state directory, evicted in the same order.
    pub max_stored_bytes: u64,
    /// Time in seconds after which unused keys expire.
    pub ttl_seconds: u64,
    /// Maximum number of sessions of one client, which is one address (for IPv6, its first 56
    /// bits), and may be an office: its own least recently used one is evicted first. 0: any
    /// number, for servers behind a proxy, where all clients have its address.
    pub sessions_per_client: usize,
    /// Number of registrations of one client that may arrive at once, and how many more each minute
    /// allows; others get `busy`, with the time of the next one. 0: any number.
    pub registrations_per_minute: u32,
}

/// Files for TLS, in PEM.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// Certificate chain, the server's own first.
    pub cert: PathBuf,
    /// Private key of the server's certificate.
    pub key: PathBuf,
}

impl TableConfig {
    /// A configuration for a table directory.
    pub fn dir(dir: impl Into<PathBuf>) -> Self {
        TableConfig { dir: Some(dir.into()), ..TableConfig::default() }
    }

    /// A configuration for a single image file.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        TableConfig { path: Some(path.into()), ..TableConfig::default() }
    }
}

impl ServerConfig {
    /// A configuration for tests and demos: free ports on the loopback interface.
    pub fn on_free_ports() -> Self {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        ServerConfig { listen: any, admin_listen: any, ..ServerConfig::default() }
    }

    /// Reads a configuration file. Relative paths in it are relative to the file.
    ///
    /// # Errors
    /// [`StartError::Config`], with file and line.
    pub fn read(file: &Path) -> Result<Self, StartError> {
        Ok(ServerConfig::read_with(file, |_| Ok(()))?.0)
    }

    /// Reads a configuration file as [`ServerConfig::read`] does, after `take` has taken the
    /// sections of extensions.
    ///
    /// # Errors
    /// [`StartError::Config`], with file and line.
    pub fn read_with<T>(
        file: &Path,
        take: impl FnOnce(&mut ConfigText<'_>) -> Result<T, String>,
    ) -> Result<(Self, T), StartError> {
        let wrong = |why: String| StartError::Config { file: file.to_owned(), why };
        let text = std::fs::read_to_string(file).map_err(|e| wrong(e.to_string()))?;
        let (mut config, taken) = ServerConfig::parse_with(&text, take).map_err(wrong)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let tables = config.tables.iter_mut().flat_map(|table| [&mut table.dir, &mut table.path]).flatten();
        let tls = config.tls.iter_mut().flat_map(|tls| [&mut tls.cert, &mut tls.key]);
        let folders = config.stacks.iter_mut().chain(&mut config.logs);
        let own = folders.chain(&mut config.state).chain(&mut config.static_dir);
        for path in tables.chain(tls).chain(own) {
            *path = folder.join(&path);
        }
        Ok((config, taken))
    }

    /// Moves folders of stacks from `tables` to `stacks`, and returns the tables of other protocols
    /// in `tables`. So a folder may be named there whatever it contains.
    ///
    /// # Errors
    /// [`StartError::Settings`] for a table of these with a role of its own.
    pub fn recognize(&mut self) -> Result<Vec<PathBuf>, StartError> {
        let mut foreign = Vec::new();
        for table in std::mem::take(&mut self.tables) {
            let path = table.dir.as_deref().or(table.path.as_deref()).unwrap_or(Path::new("")).to_owned();
            // A path that cannot be read is opened like a table, which reports the error.
            let kind = PathKind::of(&path).unwrap_or(PathKind::File);
            match kind.other_title() {
                Some(title) if table.role.is_some() => {
                    return Err(StartError::Settings(format!(
                        "{}: {title} has no server role: leave `role` out",
                        path.display()
                    )));
                }
                Some(_) if matches!(kind, PathKind::Stack(_)) => self.stacks.push(path),
                Some(_) => foreign.push(path),
                None => self.tables.push(table),
            }
        }
        Ok(foreign)
    }

    /// Parses and checks the text of a configuration.
    ///
    /// # Errors
    /// A message for a person, with the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(ServerConfig::parse_with(text, |_| Ok(()))?.0)
    }

    /// Parses and checks the text of a configuration, after `take` has taken the sections of
    /// extensions.
    ///
    /// # Errors
    /// A message for a person, with the line.
    pub fn parse_with<T>(
        text: &str,
        take: impl FnOnce(&mut ConfigText<'_>) -> Result<T, String>,
    ) -> Result<(Self, T), String> {
        let mut rest = ConfigText { text, table: DeTable::parse(text).map_err(|e| e.to_string())? };
        let taken = take(&mut rest)?;
        let config = ServerConfig::deserialize(toml::Deserializer::from(rest.table));
        let config = config.map_err(|error| described(error, text))?;
        config.check()?;
        Ok((config, taken))
    }

    /// Checks the rules that the types do not express.
    pub(crate) fn check(&self) -> Result<(), String> {
        for table in &self.tables {
            if table.dir.is_some() == table.path.is_some() {
                return Err("an entry of [[tables]] must have either dir or path".into());
            }
        }
        if self.tls.is_some() && self.self_signed.is_some() {
            return Err("tls has both a certificate and self_signed: give one of the two".into());
        }
        if let Some(other) = self.allow_origins.iter().find(|origin| !is_origin(origin)) {
            return Err(format!(
                "allow_origins: {other} is not an origin: give one such as https://www.example.com, in lower case \
                 and without a path, or *"
            ));
        }
        let least_one = [
            ("max_connections", self.max_connections as u64),
            ("request_memory_mib", self.request_memory_mib),
            ("max_queue", self.max_queue as u64),
            ("max_streams", self.max_streams as u64),
            ("max_hint_requests", self.max_hint_requests as u64),
            ("deadline_ms", self.deadline_ms),
            ("read_timeout_ms", self.read_timeout_ms),
            ("idle_timeout_ms", self.idle_timeout_ms),
            ("min_send_bytes_per_second", self.min_send_bytes_per_second),
            ("batch.max_queries", self.batch.max_queries as u64),
            ("scan_budget.burst_seconds_per_client", self.scan_budget.burst_seconds_per_client),
            ("scan_budget.burst_seconds", self.scan_budget.burst_seconds),
        ];
        at_least_one(&least_one)
    }

    pub(crate) fn read_timeout(&self) -> Duration {
        Duration::from_millis(self.read_timeout_ms)
    }

    pub(crate) fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.idle_timeout_ms)
    }

    pub(crate) fn send_rate(&self) -> SendRate {
        SendRate { grace: self.idle_timeout(), bytes_per_second: self.min_send_bytes_per_second }
    }
}

/// Value of `allow_origins` that stands for all origins.
pub(crate) const ANY_ORIGIN: &str = "*";

/// Whether a text is an origin as browsers send it, or stands for all.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let plain = |host: &str| {
        host.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.:[]_".contains(&b))
    };
    text == ANY_ORIGIN || host.is_some_and(|host| !host.is_empty() && plain(host))
}

/// Checks that none of these settings is 0.
///
/// # Errors
/// A message that names the first that is.
pub fn at_least_one(settings: &[(&str, u64)]) -> Result<(), String> {
    match settings.iter().find(|(_, value)| *value == 0) {
        Some((key, _)) => Err(format!("{key} must be at least 1")),
        None => Ok(()),
    }
}

/// The text of a configuration, from which extensions take their sections before the rest is read.
pub struct ConfigText<'a> {
    text: &'a str,
    table: Spanned<DeTable<'a>>,
}

impl<'a> ConfigText<'a> {
    /// Takes the section of this name, if there is one.
    ///
    /// # Errors
    /// A message for a person, with the line.
    pub fn take<T: Deserialize<'a>>(&mut self, name: &str) -> Result<Option<T>, String> {
        let Some(section) = self.table.get_mut().remove(name) else { return Ok(None) };
        T::deserialize(ValueDeserializer::from(section))
            .map(Some)
            .map_err(|error| described(error, self.text))
    }
}

fn described(mut error: toml::de::Error, text: &str) -> String {
    error.set_input(Some(text));
    error.to_string()
}

/// The slowest rate at which responses may be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendRate {
    /// Maximum time for which nothing at all may be read.
    pub(crate) grace: Duration,
    /// Minimum bytes read per second beyond that time.
    pub(crate) bytes_per_second: u64,
}

#[cfg(test)]
mod tests;
