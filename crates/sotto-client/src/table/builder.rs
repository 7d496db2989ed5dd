//! Which table, whom to trust, where to keep things.

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
use super::preparation::rate_limit::Clock;
use super::state_guard::StateGuard;
use super::state_paths::{self, Locations};
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

/// A table about to be opened.
#[must_use = "nothing happens before open()"]
pub struct TableBuilder {
    to: Endpoints,
    table: String,
    pin: Option<PublicKey>,
    snapshot: Option<Hex32>,
    asked: WitnessPolicy,
    cache_dir: Option<PathBuf>,
    key_file: Option<PathBuf>,
    key_limits: KeyLimits,
    state_dir: Option<PathBuf>,
    anchor_dir: Option<PathBuf>,
    locations: Option<Locations>,
    in_memory: bool,
    verified: bool,
    check: Option<RowCheck>,
    events: Notifier<TableEvent>,
    patience: Duration,
    progress: Notifier<Progress>,
    plan: PreparationPolicy,
    resolve: fn(&str) -> Option<&'static SchemeEntry>,
}

pub(super) struct TableOptions {
    pub(super) config: SetupConfig,
    pub(super) cache: Option<Cache>,
    pub(super) keys: KeyManager,
    pub(super) ledger: StateGuard,
    pub(super) patience: WaitPolicy,
    pub(super) progress: Notifier<Progress>,
    pub(super) plan: PreparationPolicy,
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
            asked: WitnessPolicy::default(),
            cache_dir: None,
            key_file: None,
            key_limits: KeyLimits::default(),
            state_dir: None,
            anchor_dir: None,
            locations: None,
            in_memory: false,
            verified: false,
            check: None,
            events: Notifier::new(Box::new(|_| {})),
            patience: wait_policy::DEFAULT,
            progress: Notifier::new(Box::new(|_| {})),
            plan: PreparationPolicy::default(),
            resolve: sotto_registry::find,
        }
    }

    /// Accepts a catalog signed by this key only.
    ///
    /// Without it the first key seen is believed ([`crate::Trust::FirstUse`]) and, if there is a cache, no
    /// other afterwards.
    pub fn pin(mut self, key: PublicKey) -> Self {
        self.pin = Some(key);
        self
    }

    /// Takes only the catalog with this digest ([`sotto_catalog::Catalog::digest`]), which names one epoch with all that is in
    /// it. Any other is [`ClientError::OtherSnapshot`], before a query leaves. Once the server answers about this epoch no more,
    /// lookups are that error too: the table never moves on by itself.
    pub fn snapshot(mut self, digest: Hex32) -> Self {
        self.snapshot = Some(digest);
        self
    }

    /// Takes only a catalog that its publisher shows to everybody: one that is in the publisher's log, under a checkpoint that
    /// this witness cosigned lately. May be said of several; all of them have to, unless `witnesses_needed` says otherwise.
    ///
    /// The log goes on from the one that was seen before, or it is an error that keeps both
    /// ([`WitnessError::Fork`](crate::session::WitnessError::Fork)); with a cache, also from process to process.
    pub fn witness(mut self, key: WitnessKey) -> Self {
        self.asked.keys.push(key);
        self
    }

    /// How many of the witnesses have to have cosigned: all of them unless said otherwise.
    pub fn witnesses_needed(mut self, needed: usize) -> Self {
        self.asked.needed = Some(needed);
        self
    }

    /// How long ago they may have cosigned: a day unless said otherwise. A server can keep an old catalog alive for so long.
    pub fn witness_age(mut self, age: Duration) -> Self {
        self.asked.age = Some(age);
        self
    }

    /// Keeps artifacts, keys and epochs in this directory. Without it every opening downloads anew, and registers new keys.
    pub fn cache_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.cache_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Puts the file with the key that encrypts kept keys here, instead of beside them in the cache. Whoever has both can
    /// read, from recorded traffic, what was asked; whoever has the cache alone cannot. See [`crate::cache::keyring`].
    pub fn key_file(mut self, file: impl AsRef<Path>) -> Self {
        self.key_file = Some(file.as_ref().to_owned());
        self
    }

    /// Uses registered keys for so long, also from opening to opening if there is a cache: an hour unless said otherwise. The
    /// server knows which asks were made under the same keys, and so by one client. With [`Duration::ZERO`] this opening
    /// registers keys of its own, and none are kept: it is tied to no other by its keys.
    ///
    /// Whoever sees what comes of answers, and spoils some, learns of the keys. So they end, by this age or by
    /// [`TableBuilder::max_keys_queries`], and never because of what came back. The next ones are made in the background in time.
    pub fn max_keys_age(mut self, age: Duration) -> Self {
        self.key_limits.age = age;
        self
    }

    /// Uses registered keys for so many queries at most: 256 unless said otherwise. All processes with one cache count together:
    /// each reserves uses there before it asks. Rows that are wider than a record take several each. See
    /// [`TableBuilder::max_keys_age`].
    pub fn max_keys_queries(mut self, queries: u64) -> Self {
        self.key_limits.queries = queries.max(1);
        self
    }

    /// Keeps the state of clients that must not lose it in this directory, and nowhere else: a client of one table has
    /// one state at one server, or at one list of servers in their order. Needed for schemes with hints that are used
    /// up ([`ClientError::StateNeeded`]).
    ///
    /// A copy of the directory, a restored backup and a cloned machine would use hints twice, and so give away what was
    /// asked. They are noticed by where the files lie and by an anchor in a second place ([`TableBuilder::anchor_dir`]); the
    /// state is then thrown away, its key with it, and the table's rows are streamed anew. What cannot be noticed is a
    /// machine that goes back in time whole, anchor and all.
    pub fn state_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.state_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Puts the anchor of a state into this directory: a few bytes that say how far the state was. Best on a disk that
    /// is not restored together with the state's. Otherwise it lies in the user's folder for states, by the XDG rules.
    pub fn anchor_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.anchor_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Lets a client that must not lose its state have it in memory alone. It is lost with the process: the table's
    /// rows are streamed anew by the next one, and what a process asks that was copied, or went back in time, is not
    /// private.
    pub fn state_in_memory(mut self) -> Self {
        self.in_memory = true;
        self
    }

    /// Is asked about each row that a client with a state looks up whether it is what the publisher wrote, by whatever
    /// the row itself proves. One that is not is [`sotto_core::Error::Unreadable`], and nothing that is sent later
    /// depends on it.
    pub fn check_rows(mut self, check: impl FnMut(u64, &[u8]) -> bool + Send + 'static) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    /// Is told what happens to the client's state. May be called by the thread that prepares the next client, too.
    pub fn events(mut self, events: impl FnMut(TableEvent) + Send + 'static) -> Self {
        self.events = Notifier::new(Box::new(events));
        self
    }

    /// Begins to prepare the next client once fewer than so many queries are left: a quarter of what a client begins with
    /// unless said otherwise, and 0 for never. That streams the table's rows in a thread of its own, over connections of its
    /// own, while lookups go on with the client there is; the next lookup after it is done goes to the new one. When it
    /// begins depends on how much was asked, never on what.
    ///
    /// A client with a state on disk goes on where it was after a crash. How far that is, [`TableBuilder::progress`] is told as
    /// [`Stage::NextClientFiles`](super::Stage::NextClientFiles).
    pub fn low_water(mut self, queries: u64) -> Self {
        self.plan.low_water = Some(queries);
        self
    }

    /// Lets rows that come in the background take no more than so many bytes a second, as long as no lookup waits for
    /// them. Any number unless said otherwise.
    pub fn preparation_rate(mut self, bytes_per_second: u64) -> Self {
        self.plan.rate = Some(bytes_per_second);
        self
    }

    /// Makes the transports for preparing the next client in the background, one to each server. Over HTTP there are some
    /// without this; elsewhere the next client is prepared in the foreground, once a lookup needs it.
    pub fn preparation_transports(
        mut self,
        mut make: impl FnMut() -> Vec<Box<dyn Transport>> + Send + 'static,
    ) -> Self {
        self.plan.transports = Some(Box::new(move || Ok(make())));
        self
    }

    /// A lookup for which there are not enough hints is [`sotto_core::Error::Exhausted`] from now on. Otherwise it waits
    /// until the next client is prepared.
    pub fn fail_when_exhausted(mut self) -> Self {
        self.plan.refuses = true;
        self
    }

    /// Tells time as a test says.
    #[cfg(test)]
    pub(crate) fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.plan.clock = Arc::new(clock);
        self
    }

    /// Keeps states where a test says.
    #[cfg(test)]
    pub(crate) fn locations(mut self, locations: Locations) -> Self {
        self.locations = Some(locations);
        self
    }

    /// Refuses a table whose rows cannot be verified one by one. In tables where they can, every row is verified anyway, and one
    /// that is not what its publisher has signed is [`ClientError::RowProofInvalid`].
    pub fn require_row_proofs(mut self) -> Self {
        self.verified = true;
        self
    }

    /// How long to wait for others: for a server that is busy, which may say for how long; for another process that has the
    /// same state open, registers keys or downloads the same file. Two minutes for each unless said otherwise. A wait of
    /// more than a second is told as [`TableEvent::Waiting`]. Means nothing for servers behind transports of the caller's, which
    /// can be wrapped into [`crate::transport::retry::RetryTransport`].
    pub fn max_wait(mut self, limit: Duration) -> Self {
        self.patience = limit;
        self
    }

    /// Is told how far the opening is, and later ones. May be called by the thread that prepares the next client, too.
    pub fn progress(mut self, progress: impl FnMut(Progress) + Send + 'static) -> Self {
        self.progress = Notifier::new(Box::new(progress));
        self
    }

    /// Finds schemes elsewhere than in the registry. For tests: a scheme that was not registered was not
    /// reviewed.
    pub fn resolve(mut self, resolve: fn(&str) -> Option<&'static SchemeEntry>) -> Self {
        self.resolve = resolve;
        self
    }

    /// Has the cache forget the table, its keys and its newest epoch, and gives whether it knew it: what is shown next is
    /// believed as on a first visit. Nothing is sent. It is the only way back from what was seen, for a table that its
    /// publisher has made anew, and so for a person to decide.
    ///
    /// # Errors
    /// [`ClientError::Cache`]; an address that is none.
    pub fn forget(self) -> Result<bool> {
        let Some(dir) = &self.cache_dir else { return Ok(false) };
        let cache = Cache::open(dir)?;
        let patience = WaitPolicy { limit: self.patience, events: self.events };
        Ok(cache.forget(&self.to.servers(&patience)?.origin(), &self.table)?)
    }

    /// Opens the table: catalog, artifacts, keys.
    ///
    /// # Errors
    /// [`ClientError`], with whose fault and what to do. What was downloaded is kept if there is a cache.
    pub fn open(self) -> Result<Table> {
        let mut config = SetupConfig::new(self.table.parse()?);
        config.pin = self.pin;
        config.snapshot = self.snapshot;
        config.witnesses = self.asked.witnesses();
        config.resolve = self.resolve;
        config.in_memory = self.in_memory;
        config.verified = self.verified;
        let patience = WaitPolicy { limit: self.patience, events: self.events.clone() };
        let folders = |dir| state_paths::folders(dir, self.anchor_dir, patience.clone());
        let locations = self.locations.or_else(|| self.state_dir.map(folders));
        let ledger =
            StateGuard { locations, held: None, config: None, check: self.check, events: self.events };
        let mut plan = self.plan;
        plan.transports = plan.transports.or_else(|| self.to.again(plan.rate, &patience));
        let servers = self.to.servers(&patience)?;
        config.servers = servers.count();
        let dir = self.cache_dir.as_deref();
        let cache = dir.map(Cache::open).transpose().map_err(ClientError::from)?;
        let ring = dir.map(|dir| Keyring::open(dir, self.key_file.as_deref())).transpose()?;
        let keys = KeyManager::new(ring, self.key_limits);
        let options = TableOptions { config, cache, keys, ledger, patience, progress: self.progress, plan };
        Table::open(servers, options)
    }
}

#[cfg(feature = "http")]
http_options!(TableBuilder, Endpoints);
