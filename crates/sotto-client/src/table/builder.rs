//! Which table to open, which key to trust, where to store files.

use super::endpoints::Endpoints;
#[cfg(feature = "http")]
use super::endpoints::HttpEndpoints;
#[cfg(feature = "http")]
use super::endpoints::http_options;
use super::event::Notifier;
use super::freshness::WitnessPolicy;
use super::keys::KeyManager;
use super::preparation::PreparationPolicy;
#[cfg(test)]
use super::preparation::pacing::Clock;
use super::state_guard::StateGuard;
use super::state_paths::{self, StatePathsFactory};
use super::wait_policy::{self, WaitPolicy};
use super::{Progress, Table, TableEvent};
use crate::cache::keyring::KeyLimits;
use crate::cache::{Cache, Keyring};
use crate::session::SetupConfig;
use crate::session::durable_query::RowCheck;
use crate::transport::Transport;
use crate::{ClientError, Result};
use sotto_catalog::{Hex32, PublicKey};
use sotto_core::SchemeEntry;
use sotto_tlog::WitnessKey;
use std::path::{Path, PathBuf};
#[cfg(test)]
use std::sync::Arc;
use std::time::Duration;

/// Options for opening a table.
#[must_use = "nothing happens before open()"]
pub struct TableBuilder {
    to: Endpoints,
    table: String,
    pin: Option<PublicKey>,
    snapshot: Option<Hex32>,
    witnesses: WitnessPolicy,
    cache_dir: Option<PathBuf>,
    key_file: Option<PathBuf>,
    key_limits: KeyLimits,
    state_dir: Option<PathBuf>,
    anchor_dir: Option<PathBuf>,
    state_paths: Option<StatePathsFactory>,
    in_memory: bool,
    verified: bool,
    check: Option<RowCheck>,
    events: Notifier<TableEvent>,
    max_wait: Duration,
    progress: Notifier<Progress>,
    policy: PreparationPolicy,
    resolve: fn(&str) -> Option<&'static SchemeEntry>,
}

pub(super) struct TableOptions {
    pub(super) config: SetupConfig,
    pub(super) cache: Option<Cache>,
    pub(super) keys: KeyManager,
    pub(super) state_guard: StateGuard,
    pub(super) wait_policy: WaitPolicy,
    pub(super) progress: Notifier<Progress>,
    pub(super) policy: PreparationPolicy,
}

impl TableBuilder {
    #[cfg(feature = "http")]
    pub(super) fn connect(urls: &[&str], table: &str) -> Self {
        TableBuilder::at(HttpEndpoints::new(urls), table)
    }

    #[cfg(feature = "http")]
    pub(crate) fn at(urls: HttpEndpoints, table: &str) -> Self {
        TableBuilder::new(Endpoints::Urls(urls), table)
    }

    pub(super) fn over(transports: Vec<Box<dyn Transport>>, table: &str) -> Self {
        TableBuilder::new(Endpoints::Transports(transports), table)
    }

    fn new(to: Endpoints, table: &str) -> Self {
        TableBuilder {
            to,
            table: table.to_owned(),
            pin: None,
            snapshot: None,
            witnesses: WitnessPolicy::default(),
            cache_dir: None,
            key_file: None,
            key_limits: KeyLimits::default(),
            state_dir: None,
            anchor_dir: None,
            state_paths: None,
            in_memory: false,
            verified: false,
            check: None,
            events: Notifier::new(Box::new(|_| {})),
            max_wait: wait_policy::DEFAULT,
            progress: Notifier::new(Box::new(|_| {})),
            policy: PreparationPolicy::default(),
            resolve: sotto_registry::find,
        }
    }

    /// Accepts only a catalog that is signed by this key.
    ///
    /// Without a pin the first key seen is trusted ([`crate::Trust::FirstUse`]) and, with a cache,
    /// no other afterwards.
    pub fn pin(mut self, key: PublicKey) -> Self {
        self.pin = Some(key);
        self
    }

    /// Accepts only the catalog with this digest ([`sotto_catalog::Catalog::digest`]), which names
    /// one epoch with all its contents. Any other is [`ClientError::OtherSnapshot`], before a query
    /// is sent. Once the server no longer answers queries for this epoch, lookups fail with that
    /// error too: the table never moves on by itself.
    pub fn snapshot(mut self, digest: Hex32) -> Self {
        self.snapshot = Some(digest);
        self
    }

    /// Accepts only a catalog that its publisher shows to everybody: one that is in the publisher's
    /// log, under a checkpoint that this witness cosigned recently. Can be called for several
    /// witnesses; all of them are required, unless [`Self::witnesses_needed`] says otherwise.
    ///
    /// If the log does not extend the one seen before, the error stores both checkpoints
    /// ([`WitnessError::Fork`](crate::session::WitnessError::Fork)); with a cache, this holds from
    /// process to process.
    pub fn witness(mut self, key: WitnessKey) -> Self {
        self.witnesses.keys.push(key);
        self
    }

    /// Number of witnesses that have to have cosigned; by default, all of them.
    pub fn witnesses_needed(mut self, needed: usize) -> Self {
        self.witnesses.needed = Some(needed);
        self
    }

    /// Maximum age of a cosignature; by default, a day. A server can present an old catalog for
    /// that long.
    pub fn witness_age(mut self, age: Duration) -> Self {
        self.witnesses.age = Some(age);
        self
    }

    /// Stores artifacts, keys and epochs in this directory. Without a cache every opening downloads
    /// the artifacts again, and registers new keys.
    pub fn cache_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.cache_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Stores the key that encrypts cached client keys in this file, instead of in the cache.
    /// Anyone who has both can read, from recorded traffic, what was looked up; anyone who has the
    /// cache alone cannot. See [`crate::cache::keyring`].
    pub fn key_file(mut self, file: impl AsRef<Path>) -> Self {
        self.key_file = Some(file.as_ref().to_owned());
        self
    }

    /// Maximum age of registered keys, by default an hour; with a cache, keys are reused from
    /// opening to opening. The server knows which queries were made under the same keys, and so by
    /// one client. With [`Duration::ZERO`] this opening registers keys of its own, and none are
    /// stored: its keys link it to no other opening.
    ///
    /// An attacker who sees the effect of answers, and damages some, learns something about the
    /// keys. So keys end at this age or after [`TableBuilder::max_keys_queries`], and never because
    /// of an answer. The next keys are made in the background in time.
    pub fn max_keys_age(mut self, age: Duration) -> Self {
        self.key_limits.age = age;
        self
    }

    /// Maximum number of queries under registered keys, by default 256. All processes with one
    /// cache count together: each reserves uses there before it makes queries. A row that is wider
    /// than a record takes several. See [`TableBuilder::max_keys_age`].
    pub fn max_keys_queries(mut self, queries: u64) -> Self {
        self.key_limits.queries = queries.max(1);
        self
    }

    /// Stores the durable state of clients in this directory, and nowhere else: a client of one
    /// table has one state at one server, or at one list of servers in their order. Required for
    /// schemes with hints that are used up ([`ClientError::StateNeeded`]).
    ///
    /// A copy of the directory, a restored backup or a cloned machine would use hints twice, and so
    /// reveal which rows were looked up. They are detected by the identity of the files and by a
    /// rollback counter in a second place ([`TableBuilder::anchor_dir`]); the state is then
    /// discarded with its key, and the table's rows are streamed again. A machine that goes back in
    /// time as a whole, counter included, cannot be detected.
    pub fn state_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.state_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Stores the rollback counter of a state in this directory: a few bytes that count the state's
    /// requests. It is best on a disk that is not restored together with the state's. By default it
    /// is in the user's folder for states, by the XDG rules.
    pub fn anchor_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.anchor_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Lets a client with durable state have it in memory alone. It is lost with the process: the
    /// next process streams the table's rows again, and lookups of a process that was copied, or
    /// went back in time, are not private.
    pub fn state_in_memory(mut self) -> Self {
        self.in_memory = true;
        self
    }

    /// Calls `check` for each row that a client with a state looks up, to decide whether the row is
    /// what the publisher wrote, by data in the row itself. A row that is not is
    /// [`sotto_core::Error::Unreadable`], and nothing that is sent later depends on it.
    pub fn check_rows(mut self, check: impl FnMut(u64, &[u8]) -> bool + Send + 'static) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    /// Calls `events` for what happens to the client's state, possibly also from the thread that
    /// prepares the next client.
    pub fn events(mut self, events: impl FnMut(TableEvent) + Send + 'static) -> Self {
        self.events = Notifier::new(Box::new(events));
        self
    }

    /// Prepares the next client once fewer than this number of queries are left: by default a
    /// quarter of a new client's budget, and 0 for never. A thread of its own streams the table's
    /// rows, over connections of its own, while lookups go on with the current client; the next
    /// lookup after that uses the new client. When it begins depends on how many queries were made,
    /// never on their rows.
    ///
    /// A client with a state on disk continues where it was after a crash.
    /// [`TableBuilder::progress`] reports the progress as
    /// [`Stage::NextClient`](super::Stage::NextClient).
    pub fn low_water(mut self, queries: u64) -> Self {
        self.policy.low_water = Some(queries);
        self
    }

    /// Limits the bytes per second of rows that are streamed in the background, as long as no
    /// lookup waits for them. There is no limit by default.
    pub fn preparation_rate(mut self, bytes_per_second: u64) -> Self {
        self.policy.rate = Some(bytes_per_second);
        self
    }

    /// Makes the transports with which the next client is prepared in the background, one to each
    /// server. Over HTTP there is a default; over other transports the next client is prepared in
    /// the foreground, once a lookup needs it.
    pub fn preparation_transports(
        mut self,
        mut make: impl FnMut() -> Vec<Box<dyn Transport>> + Send + 'static,
    ) -> Self {
        self.policy.transports = Some(Box::new(move || Ok(make())));
        self
    }

    /// Makes a lookup for which there are not enough hints fail with
    /// [`sotto_core::Error::Exhausted`]. By default it waits until the next client is prepared.
    pub fn fail_when_exhausted(mut self) -> Self {
        self.policy.refuses = true;
        self
    }

    /// Replaces the clock, in tests.
    #[cfg(test)]
    pub(crate) fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.policy.clock = Arc::new(clock);
        self
    }

    /// Replaces the folders of states, in tests.
    #[cfg(test)]
    pub(crate) fn state_paths(mut self, state_paths: StatePathsFactory) -> Self {
        self.state_paths = Some(state_paths);
        self
    }

    /// Refuses a table without row proofs. In tables that have them, every row is verified anyway,
    /// and one that is not what its publisher has signed is [`ClientError::RowProofInvalid`].
    pub fn require_row_proofs(mut self) -> Self {
        self.verified = true;
        self
    }

    /// Maximum time to wait for a busy server, which may name a time, and for another process that
    /// has the same state open, registers keys or downloads the same file. The default is two
    /// minutes for each. A wait of more than a second is reported as [`TableEvent::Waiting`]. The
    /// limit has no effect on servers behind transports of the caller, which can be wrapped in a
    /// [`crate::transport::retry::RetryTransport`].
    pub fn max_wait(mut self, limit: Duration) -> Self {
        self.max_wait = limit;
        self
    }

    /// Calls `progress` during this opening and later ones, possibly also from the thread that
    /// prepares the next client.
    pub fn progress(mut self, progress: impl FnMut(Progress) + Send + 'static) -> Self {
        self.progress = Notifier::new(Box::new(progress));
        self
    }

    /// Replaces the registry of schemes, for tests: a scheme that was not registered was not
    /// reviewed.
    pub fn resolve(mut self, resolve: fn(&str) -> Option<&'static SchemeEntry>) -> Self {
        self.resolve = resolve;
        self
    }

    /// Forgets the table in the cache, with its keys and its newest epoch, and returns whether it
    /// was known: the next catalog is believed as on a first visit. Nothing is sent. This is the
    /// only way back from what was seen, for a table whose publisher has started over, and so a
    /// person has to decide it.
    ///
    /// # Errors
    /// [`ClientError::Cache`]; an error for an invalid address.
    pub fn forget(self) -> Result<bool> {
        let Some(dir) = &self.cache_dir else { return Ok(false) };
        let cache = Cache::open(dir)?;
        let wait_policy = WaitPolicy { limit: self.max_wait, events: self.events };
        Ok(cache.forget(&self.to.servers(&wait_policy)?.origin(), &self.table)?)
    }

    /// Opens the table: catalog, artifacts, keys.
    ///
    /// # Errors
    /// [`ClientError`], with whose fault it is and what to do. Completed downloads stay in the
    /// cache, if there is one.
    pub fn open(self) -> Result<Table> {
        let mut config = SetupConfig::new(self.table.parse()?);
        config.pin = self.pin;
        config.snapshot = self.snapshot;
        config.witnesses = self.witnesses.witnesses();
        config.resolve = self.resolve;
        config.in_memory = self.in_memory;
        config.verified = self.verified;
        let wait_policy = WaitPolicy { limit: self.max_wait, events: self.events.clone() };
        let folders = |dir| state_paths::folders(dir, self.anchor_dir, wait_policy.clone());
        let state_paths = self.state_paths.or_else(|| self.state_dir.map(folders));
        let state_guard = StateGuard {
            paths_factory: state_paths,
            state: None,
            config: None,
            check: self.check,
            events: self.events,
        };
        let mut policy = self.policy;
        policy.transports = policy.transports.or_else(|| self.to.again(policy.rate, &wait_policy));
        let servers = self.to.servers(&wait_policy)?;
        config.servers = servers.count();
        let dir = self.cache_dir.as_deref();
        let cache = dir.map(Cache::open).transpose().map_err(ClientError::from)?;
        let ring = dir.map(|dir| Keyring::open(dir, self.key_file.as_deref())).transpose()?;
        let keys = KeyManager::new(ring, self.key_limits);
        let options =
            TableOptions { config, cache, keys, state_guard, wait_policy, progress: self.progress, policy };
        Table::open(servers, options)
    }
}

#[cfg(feature = "http")]
http_options!(TableBuilder, Endpoints);
