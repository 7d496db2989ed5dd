//! One short TOML file. Every key has a default but `tables`, which a command line may add to; unknown keys are
//! refused, because a misspelt limit is a limit that is not there.

mod apple;
mod ohttp;

use crate::StartError;
use crate::listen::SendRate;
use crate::routes::origins::is_origin;
pub use apple::{AppleConfig, AppleKeys, TokenConfig};
pub use ohttp::OhttpConfig;
use serde::Deserialize;
pub use sotto_db::Residency;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a server is set up.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Where clients connect. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where health, metrics and reload are. Keep it off the public network: it has no password.
    pub admin_listen: SocketAddr,
    /// Names that requests to it may have as their host, beside addresses and `localhost`: no web page can pretend to be there by
    /// a name that is not listed.
    pub admin_hosts: Vec<String>,
    /// What is served.
    pub tables: Vec<TableConfig>,
    /// Folders of stacks: their tables are served too.
    pub stacks: Vec<PathBuf>,
    /// Folders of publishers' logs (`sotto encode --log`): clients can see there that everybody is shown the same catalogs.
    pub logs: Vec<PathBuf>,
    /// A folder whose files are served too, as they are when the server starts: a page for browsers.
    pub page: Option<PathBuf>,
    /// Which of a scheme's servers this one is, counted from 0, for every table that does not say so itself. The servers
    /// of a table are to be run by parties that do not share what they see: nobody runs two of them.
    pub role: u8,
    /// Threads of a pass over a table; 0 means one per core.
    pub threads: usize,
    /// Connections open at once. One that comes then takes the place of one that asks nothing, of the network that holds the
    /// most, so a stranger is always let in.
    pub max_connections: usize,
    /// Those of one client, told apart as in [`SessionConfig::per_client`]; one more takes the place of one of its own that asks
    /// nothing, and is closed if there is none. 0: any number, for servers behind a proxy.
    pub connections_per_client: usize,
    /// Memory for requests and their answers, in MiB, from the first byte of a request to the last of its answer; past it
    /// requests get `busy`. A client may have seven times what is then free, which is seven eighths for one that is alone (half
    /// for an IPv6 /64).
    pub max_in_flight_mib: u64,
    /// Asks that may wait for a pass. One more takes the place of one of the client that has the most, which gets `busy`; it gets
    /// that itself if nobody has more.
    pub max_queue: usize,
    /// Streams open at once, each with its prepared query in memory; more get `busy`.
    pub max_streams: usize,
    /// Streams of one client open at once, clients being told apart as in [`SessionConfig::per_client`]; more get
    /// `busy`. 0: any number.
    pub streams_per_client: usize,
    /// Orders of hints that wait or are being filled; more get `busy`. Hints are made one order after the other.
    pub max_orders: usize,
    /// Those of one client, told apart as for streams; more get `busy`. 0: any number.
    pub orders_per_client: usize,
    /// For how long hints are made for one client, in seconds: so many at once, and as many again with each hour; then its
    /// orders get `busy`. What is under way is
    /// finished. 0: any time, for servers behind a proxy. It should last for all hints of one client of the largest table.
    pub order_seconds_per_client: u64,
    /// Evaluations of symmetric tables for one client, over all tables: so many at once, and as many again with each hour, one
    /// after the other; then `busy`. It bounds how many rows one can learn, over restarts too where there is `state`. 0: any
    /// number, for servers behind a proxy.
    pub evaluations_per_client: u64,
    /// Threads that make hints; 0 means one per core. They are other threads than those of the passes, and take
    /// time from them.
    pub order_threads: usize,
    /// How long an ask may wait for a pass, in milliseconds; then it gets `deadline`.
    pub deadline_ms: u64,
    /// How long the body of a request may take to arrive, in milliseconds.
    pub read_timeout_ms: u64,
    /// How long a connection may be open without a request, how long the head of one may take, and how long a
    /// response may wait for its client to read, in milliseconds. Streams and downloads about an epoch that is not served any
    /// more go on for so long.
    pub idle_timeout_ms: u64,
    /// How slowly responses may be read, in bytes per second, on average and beyond `idle_timeout_ms`; slower ones are given up,
    /// with the memory that they take.
    pub min_send_bytes_per_second: u64,
    /// How often new epochs are looked for, in seconds; 0 means only when `POST /reload` says so.
    pub reload_seconds: u64,
    /// How long a shutdown waits for requests in flight, in seconds.
    pub drain_seconds: u64,
    /// Whether tables are scanned where their files are mapped, or in a copy on huge pages.
    pub residency: Residency,
    /// Memory that such copies may take if nobody asked for them, over all tables, in MiB. 0: half of what there is whenever a
    /// table is opened.
    pub max_copies_mib: u64,
    /// Whether images go live without being read through and compared with their digests: at once, and damaged ones too.
    pub trust_images: bool,
    /// Of how many epochs, the newest among them, the rows delta is served: how far behind a client with state of its own
    /// may be before it has to stream the rows anew.
    pub keep_deltas: u64,
    /// How asks are put together.
    pub batch: BatchConfig,
    /// How much of the server's time clients may have.
    pub scans: ScanConfig,
    /// How long clients' keys are held, for schemes that have keys.
    pub sessions: SessionConfig,
    /// A directory for what survives a restart: clients' keys. Without it they are in memory alone.
    pub state: Option<PathBuf>,
    /// Certificate and key; without them the server speaks plain HTTP.
    pub tls: Option<TlsConfig>,
    /// Speaks https with a certificate of its own making, for these names and addresses beside those of this machine. It is kept
    /// in `state`, if there is one, and made anew at each start otherwise.
    pub self_signed: Option<Vec<String>>,
    /// Origins whose pages may ask in a browser, such as `https://www.example.com`; `*` for all. Without any only pages of this
    /// server's own origin may.
    pub allow_origins: Vec<String>,
    /// Tables of Apple's private lookups, which phones ask.
    pub apple: AppleConfig,
    /// A gateway of Oblivious HTTP, for which a server is built with the feature `ohttp`.
    pub ohttp: Option<OhttpConfig>,
}

/// One table: exactly one of `dir` and `path`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableConfig {
    /// The directory of a table, of a stack or of a table of Apple's lookups, watched for new epochs.
    pub dir: Option<PathBuf>,
    /// A single image file.
    pub path: Option<PathBuf>,
    /// Which of the scheme's servers this one is, if not [`Config::role`]; 0 for schemes of one server.
    pub role: Option<u8>,
}

/// How asks of many clients are put together.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BatchConfig {
    /// Longest wait for company, in microseconds. An ask that finds the server idle never waits.
    pub max_wait_us: u64,
    /// Most queries in one pass. The scan kernels gain little beyond 8.
    pub max_queries: usize,
}

/// The time that is spent on the tables: passes, units of streams, orders of hints. What is made for several clients at once is
/// charged to each by its queries. Whoever has had what there is gets `busy` until there is more; what is under way is finished,
/// and a stream goes on at that pace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScanConfig {
    /// Of the time, for one client, in percent: 25 is a quarter of a second with each second. 0: any, as it is without this, and
    /// for servers behind a proxy.
    pub percent_per_client: u64,
    /// Seconds that one client may have at once.
    pub burst_seconds_per_client: u64,
    /// Of the time, for all clients together, in percent. 0: any. Hints are made beside the passes, so 200 may be in use.
    pub percent: u64,
    /// Seconds that all may have at once.
    pub burst_seconds: u64,
}

/// Limits on held keys, over all tables.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionConfig {
    /// Most bytes of admitted keys in memory; the least recently used of the client that has the most go first.
    pub max_bytes: u64,
    /// Most bytes of keys in the state directory; the same go first.
    pub max_stored_bytes: u64,
    /// How long unused keys are kept, in seconds.
    pub ttl_seconds: u64,
    /// Most sessions of one client, which is one address (of IPv6, the first 56 bits), and may be an office: its own least
    /// recently used goes first. 0: any number, for servers behind a proxy, where all clients have its address.
    pub per_client: usize,
    /// Registrations of one client that may come at once, and how many more each minute brings; others get `busy`, and are told
    /// when the next may come. 0: any number.
    pub per_minute: u32,
}

/// Files for TLS, in PEM.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// Certificate chain, the server's own first.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            admin_listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8081)),
            admin_hosts: Vec::new(),
            tables: Vec::new(),
            stacks: Vec::new(),
            logs: Vec::new(),
            page: None,
            role: 0,
            threads: 0,
            max_connections: 1024,
            connections_per_client: 256,
            max_in_flight_mib: 256,
            max_queue: 128,
            max_streams: 8,
            streams_per_client: 4,
            max_orders: 16,
            orders_per_client: 2,
            order_seconds_per_client: 600,
            evaluations_per_client: 1000,
            order_threads: 1,
            deadline_ms: 5_000,
            read_timeout_ms: 10_000,
            idle_timeout_ms: 60_000,
            min_send_bytes_per_second: 16_384,
            reload_seconds: 10,
            drain_seconds: 10,
            residency: Residency::Auto,
            max_copies_mib: 0,
            trust_images: false,
            keep_deltas: 16,
            batch: BatchConfig::default(),
            scans: ScanConfig::default(),
            sessions: SessionConfig::default(),
            state: None,
            tls: None,
            self_signed: None,
            allow_origins: Vec::new(),
            apple: AppleConfig::default(),
            ohttp: None,
        }
    }
}

impl Default for BatchConfig {
    fn default() -> Self {
        BatchConfig { max_wait_us: 500, max_queries: 8 }
    }
}

impl Default for ScanConfig {
    fn default() -> Self {
        ScanConfig { percent_per_client: 0, burst_seconds_per_client: 60, percent: 0, burst_seconds: 60 }
    }
}

impl Default for SessionConfig {
    fn default() -> Self {
        SessionConfig {
            max_bytes: 4 << 30,
            max_stored_bytes: 16 << 30,
            ttl_seconds: 86_400,
            per_client: 256,
            per_minute: 300,
        }
    }
}

impl TableConfig {
    /// A table directory.
    pub fn dir(dir: impl Into<PathBuf>) -> Self {
        TableConfig { dir: Some(dir.into()), ..TableConfig::default() }
    }

    /// A single image file.
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

    /// Reads a file. Relative paths in it are relative to the file.
    ///
    /// # Errors
    /// [`StartError::Config`], with file and line.
    pub fn read(file: &Path) -> Result<Self, StartError> {
        let wrong = |why: String| StartError::Config { file: file.to_owned(), why };
        let text = std::fs::read_to_string(file).map_err(|e| wrong(e.to_string()))?;
        let mut config = ServerConfig::parse(&text).map_err(wrong)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let tables = config.tables.iter_mut().flat_map(|table| [&mut table.dir, &mut table.path]).flatten();
        let tls = config.tls.iter_mut().flat_map(|tls| [&mut tls.cert, &mut tls.key]);
        let users = config.apple.tokens.iter_mut().map(|tokens| &mut tokens.users);
        let apple = config.apple.use_cases.iter_mut().chain(users).chain(&mut config.apple.reports);
        let folders = config.stacks.iter_mut().chain(&mut config.logs);
        let own = folders.chain(&mut config.state).chain(&mut config.page);
        for path in tables.chain(tls).chain(own).chain(apple) {
            *path = folder.join(&path);
        }
        Ok(config)
    }

    /// Puts what is named in `tables` where it belongs: folders of stacks into `stacks`, tables of Apple's lookups to their use
    /// cases. So a folder may be named in `tables` whatever it holds.
    ///
    /// # Errors
    /// [`StartError::Settings`] for one of these with a role of its own.
    pub fn recognize(&mut self) -> Result<(), StartError> {
        for table in std::mem::take(&mut self.tables) {
            let path = table.dir.as_deref().or(table.path.as_deref()).unwrap_or(Path::new("")).to_owned();
            // What cannot be read is opened like a table, which says why.
            let kind = sotto_db::PathKind::of(&path).unwrap_or(sotto_db::PathKind::File);
            match kind.other_title() {
                Some(title) if table.role.is_some() => {
                    return Err(StartError::Settings(format!(
                        "{}: this is {title}, which has no role of its own: leave `role` out",
                        path.display()
                    )));
                }
                Some(_) if matches!(kind, sotto_db::PathKind::Stack(_)) => self.stacks.push(path),
                Some(_) => self.apple.use_cases.push(path),
                None => self.tables.push(table),
            }
        }
        Ok(())
    }

    /// Parses and checks a text; the error says where and why.
    ///
    /// # Errors
    /// A message for a person, with the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: ServerConfig = toml::from_str(text).map_err(|e| e.to_string())?;
        config.check()?;
        Ok(config)
    }

    /// Checks what the types do not say.
    pub(crate) fn check(&self) -> Result<(), String> {
        for table in &self.tables {
            if table.dir.is_some() == table.path.is_some() {
                return Err("each of [[tables]] has either dir or path".into());
            }
        }
        if self.tls.is_some() && self.self_signed.is_some() {
            return Err(
                "there is a certificate in tls, and self_signed makes one: take one of the two".into()
            );
        }
        if let Some(other) = self.allow_origins.iter().find(|origin| !is_origin(origin)) {
            return Err(format!(
                "allow_origins: {other} is no origin: give one as https://www.example.com, in lower case and without a path, or *"
            ));
        }
        let least_one = [
            ("max_connections", self.max_connections as u64),
            ("max_in_flight_mib", self.max_in_flight_mib),
            ("max_queue", self.max_queue as u64),
            ("max_streams", self.max_streams as u64),
            ("max_orders", self.max_orders as u64),
            ("deadline_ms", self.deadline_ms),
            ("read_timeout_ms", self.read_timeout_ms),
            ("idle_timeout_ms", self.idle_timeout_ms),
            ("min_send_bytes_per_second", self.min_send_bytes_per_second),
            ("batch.max_queries", self.batch.max_queries as u64),
            ("scans.burst_seconds_per_client", self.scans.burst_seconds_per_client),
            ("scans.burst_seconds", self.scans.burst_seconds),
            ("apple.max_requests", self.apple.max_requests as u64),
        ];
        self.apple.tokens.iter().try_for_each(TokenConfig::check)?;
        self.ohttp.iter().try_for_each(OhttpConfig::check)?;
        match least_one.iter().find(|(_, value)| *value == 0) {
            Some((key, _)) => Err(format!("{key} must be at least 1")),
            None => Ok(()),
        }
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

#[cfg(test)]
mod tests;
