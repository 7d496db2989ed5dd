//! The arguments for a table or a stack at an address: which one, which key to trust, and where to
//! store files; and the events and the durable state of its client.

use crate::failure::{Failure, Result};
use crate::files;
use crate::screen::progress::{ProgressLine, StageUnit};
use crate::screen::{Screen, units};
use sotto_catalog::{Anchor, Hex32, PublicKey, TableName};
use sotto_client::cache::Keyring;
use sotto_client::stack::BatchStack;
use sotto_client::table::{Builder, OpenOptions, Progress, Stage, TableEvent};
use sotto_client::{ClientError, Stack, Table, WitnessKey};
use sotto_core::{Artifact, Budget};
use sotto_tlog::Policy;
use sotto_tlog::policy::MAX_POLICY_BYTES;
use sotto_wire::ProblemCode;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

// Headings of the help. They are set at each argument, since the heading of a group applies to all
// arguments after it too.
const TRUST: &str = "Trust";
const STORAGE: &str = "State and cache";
const CONNECTION: &str = "Connection";

/// Arguments of every verb that opens a table.
#[derive(Debug, clap::Args)]
pub(crate) struct ConnectArgs {
    /// Address of the server, as `sotto serve` prints it; one per role where a scheme has several
    /// servers
    #[arg(long = "server", value_name = "URL", required = true)]
    pub(crate) servers: Vec<String>,
    /// Name of the table or stack
    #[arg(long, alias = "name", value_name = "NAME", required = true)]
    table: Option<TableName>,
    /// Accept only a table signed by this key, as `sotto encode` prints it
    /// (sotto-pq:... demands an ML-DSA-44 signature too)
    #[arg(long, value_name = "sotto-pk:...")]
    pin: Option<PublicKey>,
    /// Accept only the epoch with this snapshot digest, as `sotto inspect` prints it
    #[arg(long, value_name = "DIGEST", help_heading = TRUST)]
    snapshot: Option<Hex32>,
    /// Accept only an epoch made from this state of another system, such as a block of a chain
    /// (`sotto encode --anchor`)
    #[arg(long, value_name = "TEXT", help_heading = TRUST)]
    anchor: Option<Anchor>,
    /// Accept only what is in the publisher's log and this witness cosigned; repeatable
    #[arg(long = "witness", value_name = "NAME+ID+BASE64", help_heading = TRUST)]
    witnesses: Vec<WitnessKey>,
    /// Number of witnesses that must have cosigned [default: all]
    #[arg(long, value_name = "K", value_parser = at_least_one(), requires = "witnesses", help_heading = TRUST)]
    witness_quorum: Option<usize>,
    /// Accept only what is in a log of this policy (a C2SP tlog-policy file), with the cosignatures
    /// of its quorum
    #[arg(long, value_name = "FILE", conflicts_with_all = ["witnesses", "witness_quorum"], help_heading = TRUST)]
    policy: Option<PathBuf>,
    /// Maximum age of cosignatures in hours, for which a server could keep showing an old table
    #[arg(long, value_name = "HOURS", default_value = "24", help_heading = TRUST)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=8760))]
    witness_age: u64,
    /// Folder of hints, keys and known epochs [default: sotto/ in the user's cache folder]
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache", help_heading = STORAGE)]
    cache: Option<PathBuf>,
    /// Store nothing: fetch the hint again, and trust the first key seen
    #[arg(long, help_heading = STORAGE)]
    no_cache: bool,
    /// Folder of hints that queries spend [default: sotto/state/ in the user's data folder]
    #[arg(long, value_name = "DIR", help_heading = STORAGE)]
    pub(crate) state: Option<PathBuf>,
    /// Folder of the counter that exposes an old copy of the state [default: sotto/rollback/ in the
    /// user's state folder]
    #[arg(long, value_name = "DIR", help_heading = STORAGE)]
    rollback_dir: Option<PathBuf>,
    /// Limit of bytes per second for hints that are made in advance [default: none]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..), help_heading = STORAGE)]
    preparation_rate: Option<u64>,
    /// Register new keys for this call alone, so that the server cannot link it to others by its
    /// keys
    #[arg(long, help_heading = STORAGE)]
    pub(crate) fresh_keys: bool,
    /// File of the key that encrypts stored keys [default: sotto/keys.key in the user's data
    /// folder, else in the cache]
    #[arg(long, value_name = "FILE", conflicts_with = "no_cache", help_heading = STORAGE)]
    key_file: Option<PathBuf>,
    /// Time to wait for a busy server, or for another process that uses the same state or cache:
    /// 90, 90s or 2m
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration, help_heading = CONNECTION)]
    pub(crate) max_wait: Duration,
    /// Time limit of one request, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", help_heading = CONNECTION)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// PEM file of the root certificates to trust for https, in place of the web's
    #[arg(long, value_name = "FILE", help_heading = TRUST)]
    pub(crate) trust_root: Option<PathBuf>,
    /// Refuse a table without row proofs; where a table has them, they are always verified
    #[arg(long, help_heading = TRUST)]
    require_row_proofs: bool,
    /// Refuse a table unless its rows are verified and a refused answer tells its server nothing of the row
    #[arg(long, help_heading = TRUST)]
    require_authenticated_answers: bool,
    /// Allow plain http to several servers on other machines: whoever observes all connections
    /// learns what is looked up
    #[arg(long, help_heading = TRUST)]
    insecure_plaintext: bool,
}

/// An open table or stack.
pub(crate) enum TableOrStack {
    Table(Box<Table>),
    Stack(Box<BatchStack>),
}

impl ConnectArgs {
    /// Opens a table.
    pub(crate) fn open(&self, bars: &Arc<ProgressLine>, events: &EventLog) -> Result<Table> {
        let builder = Table::connect_all(&self.servers(), self.table());
        Ok(self.configure(builder, bars, events)?.open()?)
    }

    /// Opens a table or, if the server has none of that name, a stack with a batch code.
    pub(crate) fn open_either(&self, bars: &Arc<ProgressLine>, events: &EventLog) -> Result<TableOrStack> {
        let table = Table::connect_all(&self.servers(), self.table());
        let missing = match self.configure(table, bars, events)?.open() {
            Ok(table) => return Ok(TableOrStack::Table(Box::new(table))),
            Err(missing) if is_missing(&missing) => missing,
            Err(error) => return Err(Failure::from(error)),
        };
        let stack = Stack::connect_all(&self.servers(), self.table());
        match self.configure(stack, bars, events)?.open() {
            Ok(stack) => Ok(TableOrStack::Stack(Box::new(BatchStack::new(stack)?))),
            // Neither exists: the caller most likely meant a table.
            Err(error) if is_missing(&error) => Err(Failure::from(missing)),
            Err(error) => Err(Failure::from(error)),
        }
    }

    /// Opens a stack.
    pub(crate) fn stack(&self, bars: &Arc<ProgressLine>, events: &EventLog) -> Result<Stack> {
        let builder = Stack::connect_all(&self.servers(), self.table());
        Ok(self.configure(builder, bars, events)?.open()?)
    }

    fn servers(&self) -> Vec<&str> {
        self.servers.iter().map(String::as_str).collect()
    }

    fn table(&self) -> &str {
        self.table.as_ref().map_or("", TableName::as_str)
    }

    /// Sets the options of a table or a stack.
    fn configure<T>(
        &self,
        builder: Builder<T>,
        bars: &Arc<ProgressLine>,
        events: &EventLog,
    ) -> Result<Builder<T>> {
        let open = OpenOptions::default();
        let options = OpenOptions {
            pin: self.pin,
            snapshot: self.snapshot,
            anchor: self.anchor.clone(),
            witnesses: self.witnesses.clone(),
            witnesses_needed: self.witness_quorum,
            policy: self.policy.as_deref().map(read_policy).transpose()?.map(Arc::new),
            witness_age: Duration::from_secs(self.witness_age * 3600),
            cache_dir: self.cache()?,
            key_file: self.key_file.clone().or_else(default_key_file),
            max_keys_age: if self.fresh_keys { Duration::ZERO } else { open.max_keys_age },
            state_dir: self.state.clone().or_else(default_state_dir),
            rollback_dir: self.rollback_dir.clone(),
            require_row_proofs: self.require_row_proofs,
            require_authenticated_answers: self.require_authenticated_answers,
            preparation_rate: self.preparation_rate,
            max_wait: self.max_wait,
            timeout: Duration::from_secs(self.timeout),
            trust_root: self.trust_root.clone(),
            insecure_plaintext: self.insecure_plaintext,
            ..open
        };
        Ok(builder.options(options).progress(on(bars)).events(events.listener(bars)))
    }

    /// The cache folder, if there is one.
    pub(crate) fn cache(&self) -> Result<Option<PathBuf>> {
        match (&self.cache, self.no_cache) {
            (_, true) => Ok(None),
            (Some(dir), false) => Ok(Some(dir.clone())),
            (None, false) => default_cache().map(Some),
        }
    }

    /// The keyring, if keys are stored.
    pub(crate) fn keyring(&self) -> Result<Option<Keyring>> {
        if self.fresh_keys { Ok(None) } else { self.token_keyring() }
    }

    /// The keyring for tokens, which do not link one call to another.
    pub(crate) fn token_keyring(&self) -> Result<Option<Keyring>> {
        let Some(dir) = self.cache()? else { return Ok(None) };
        let key_file = self.key_file.clone().or_else(default_key_file);
        let ring = Keyring::open(&dir, key_file.as_deref());
        ring.map(Some).map_err(Failure::from)
    }
}

/// Reads a policy file.
pub(crate) fn read_policy(path: &Path) -> Result<Policy> {
    let bytes = files::read("reading", path, MAX_POLICY_BYTES as u64)?;
    Policy::parse(&bytes).map_err(|error| {
        Failure::input(format!("{}: {error}", path.display()))
            .fix("write the policy as c2sp.org/tlog-policy says: log, witness, group and quorum lines")
    })
}

/// Whether a server reports that it has nothing of that name.
fn is_missing(error: &ClientError) -> bool {
    matches!(error.root(), ClientError::Refused(problem) if problem.code == ProblemCode::NoSuchTable)
}

/// A callback that draws the progress of an opening, or of a streamed row.
pub(crate) fn on(bars: &Arc<ProgressLine>) -> impl FnMut(Progress) + Send + 'static {
    let bars = Arc::clone(bars);
    move |at| {
        let name = match at.stage {
            Stage::Catalog => "fetching the catalog",
            Stage::Waiting => "waiting for another download",
            Stage::Artifact(Artifact::Rows) => "streaming rows",
            Stage::Artifact(_) => "fetching the hint",
            Stage::Keys => "uploading keys",
            Stage::Hints => "waiting for hints",
            Stage::Row => "fetching the row",
            Stage::NextClient => "streaming rows for the next hints",
            _ => return bars.rest(),
        };
        bars.at(name, at.done, at.total, StageUnit::Bytes);
    }
}

/// Parses a number of witnesses, at least 1, since 0 would require nothing.
fn at_least_one() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..)
}

/// Parses a duration: seconds, or with its unit.
pub(crate) fn duration(text: &str) -> Result<Duration, &'static str> {
    let (number, seconds) = match text.trim_end_matches(char::is_alphabetic) {
        number if number.len() == text.len() => (number, 1),
        number => match &text[number.len()..] {
            "s" => (number, 1),
            "m" => (number, 60),
            "h" => (number, 3600),
            "d" => (number, 86_400),
            _ => return Err("expected a duration: a number of seconds, or a number with s, m, h or d"),
        },
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "expected a duration: a number of seconds, or a number with s, m, h or d")?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

/// The default file of the key that encrypts stored keys: not in the cache, which people copy.
pub(crate) fn default_key_file() -> Option<PathBuf> {
    data_dir().map(|folder| folder.join("keys.key"))
}

/// The user's cache folder.
pub(crate) fn default_cache() -> Result<PathBuf> {
    xdg_folder("XDG_CACHE_HOME", ".cache").ok_or_else(|| {
        Failure::usage("no cache folder: neither HOME nor XDG_CACHE_HOME is set")
            .fix("give --cache DIR, or --no-cache")
    })
}

/// The folder of sotto in one of the user's folders, by the XDG rules.
fn xdg_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set(variable).or_else(|| set("HOME").map(|home| home.join(in_home)));
    folder.map(|folder| folder.join("sotto"))
}

/// The events of a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventLog(Arc<Mutex<Vec<ReceivedEvent>>>);

#[derive(Debug)]
struct ReceivedEvent {
    text: String,
    /// Whether the event was printed when it happened.
    is_printed: bool,
}

impl EventLog {
    /// A callback for the events of a table. Waits are printed at once.
    pub(crate) fn listener(&self, bars: &Arc<ProgressLine>) -> impl FnMut(TableEvent) + Send + 'static {
        let (events, bars) = (self.clone(), Arc::clone(bars));
        move |event| {
            let (text, is_printed) =
                (event.to_string(), matches!(event, TableEvent::Waiting(..) | TableEvent::Repaired(_)));
            if is_printed {
                bars.note(&text);
            }
            events.all().push(ReceivedEvent { text, is_printed });
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<ReceivedEvent>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The texts of all events.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.all().iter().map(|event| event.text.clone()).collect()
    }

    /// The texts of events that were not printed yet.
    pub(crate) fn unprinted(&self) -> Vec<String> {
        self.all().iter().filter(|event| !event.is_printed).map(|event| event.text.clone()).collect()
    }

    /// Prints events that were not printed yet, and returns all of them.
    pub(crate) fn print(&self, screen: Screen) -> Result<Vec<String>> {
        self.unprinted().iter().try_for_each(|event| screen.print_text(format!("note: {event}")))?;
        Ok(self.texts())
    }
}

/// The default folder of states: the user's data folder, by the XDG rules. It is neither the one
/// for caches, which people empty, nor the one for rollback counters.
pub(crate) fn default_state_dir() -> Option<PathBuf> {
    data_dir().map(|folder| folder.join("state"))
}

/// The folder of sotto in the user's data folder.
fn data_dir() -> Option<PathBuf> {
    xdg_folder("XDG_DATA_HOME", ".local/share")
}

/// The number of queries left, if it is limited.
pub(crate) fn budget(table: &Table) -> Option<u64> {
    match table.budget() {
        Budget::Left(left) => Some(left),
        Budget::Unlimited => None,
    }
}

/// The number of queries left, in words.
pub(crate) fn left(table: &Table) -> String {
    let Some(left) = budget(table) else { return "unlimited queries".to_owned() };
    let what_then = match () {
        () if is_helped(table) => ", then more hints are requested",
        () if is_low(table) => ": --refill makes more in advance",
        () => ", then the rows are streamed again",
    };
    format!("{} queries{what_then}", units::count(left))
}

/// Whether one of the servers makes the hints.
fn is_helped(table: &Table) -> bool {
    table.session().scheme().hint_server.is_some()
}

/// Whether less than a quarter of a new client's queries is left.
fn is_low(table: &Table) -> bool {
    budget(table).is_some_and(|left| left < table.report().costs.budget / 4)
}

/// Spares the next call a wait: requests hints that are due, or prepares the next client if few are
/// left.
pub(crate) fn refill(table: &mut Table) -> sotto_client::Result<()> {
    if is_helped(table) {
        while table.refill_hints()? {}
    } else if is_low(table) {
        table.renew()?;
    }
    Ok(())
}
