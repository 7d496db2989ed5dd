//! A table or a stack that is to be opened: its servers, its name and its options.

use super::endpoints::Endpoints;
use super::event::Notifier;
use super::keys::KeyManager;
use super::options::{Callbacks, OpenOptions};
#[cfg(test)]
use super::pacing::Clock;
use super::preparation::PreparationPolicy;
#[cfg(test)]
use super::state_guard::StatePathsFactory;
use super::state_guard::{self, StateGuard};
use super::{Driver, Progress, Table, TableEvent};
use crate::cache::keyring::KeyLimits;
use crate::cache::{Cache, Keyring};
use crate::session::SetupConfig;
use crate::transport::Transport;
use crate::{ClientError, Result};
use sotto_catalog::{Anchor, Hex32, PublicKey};
use sotto_core::SchemeEntry;
use sotto_prg::ReseedingRng;
use sotto_tlog::{Policy, WitnessKey};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A table or a stack that is to be opened, at some servers and with some options.
#[must_use = "nothing happens before open()"]
pub struct Builder<T> {
    pub(crate) to: Endpoints,
    pub(crate) name: String,
    pub(crate) options: OpenOptions,
    opened: PhantomData<fn() -> T>,
}

/// A table that is to be opened.
pub type TableBuilder = Builder<Table>;

impl<T> Builder<T> {
    pub(crate) fn new(to: Endpoints, name: &str) -> Self {
        Builder { to, name: name.to_owned(), options: OpenOptions::default(), opened: PhantomData }
    }

    /// Replaces all options.
    pub fn options(mut self, options: OpenOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets [`OpenOptions::pin`].
    pub fn pin(mut self, key: PublicKey) -> Self {
        self.options.pin = Some(key);
        self
    }

    /// Sets [`OpenOptions::snapshot`].
    pub fn snapshot(mut self, digest: Hex32) -> Self {
        self.options.snapshot = Some(digest);
        self
    }

    /// Sets [`OpenOptions::anchor`].
    pub fn anchor(mut self, anchor: Anchor) -> Self {
        self.options.anchor = Some(anchor);
        self
    }

    /// Adds a witness to [`OpenOptions::witnesses`].
    pub fn witness(mut self, key: WitnessKey) -> Self {
        self.options.witnesses.push(key);
        self
    }

    /// Sets [`OpenOptions::witnesses_needed`].
    pub fn witnesses_needed(mut self, needed: usize) -> Self {
        self.options.witnesses_needed = Some(needed);
        self
    }

    /// Sets [`OpenOptions::policy`].
    pub fn policy(mut self, policy: Policy) -> Self {
        self.options.policy = Some(Arc::new(policy));
        self
    }

    /// Sets [`OpenOptions::witness_age`].
    pub fn witness_age(mut self, age: Duration) -> Self {
        self.options.witness_age = age;
        self
    }

    /// Sets [`OpenOptions::cache_dir`].
    pub fn cache_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.options.cache_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Sets [`OpenOptions::key_file`].
    pub fn key_file(mut self, file: impl AsRef<Path>) -> Self {
        self.options.key_file = Some(file.as_ref().to_owned());
        self
    }

    /// Sets [`OpenOptions::max_keys_age`].
    pub fn max_keys_age(mut self, age: Duration) -> Self {
        self.options.max_keys_age = age;
        self
    }

    /// Sets [`OpenOptions::max_keys_queries`].
    pub fn max_keys_queries(mut self, queries: u64) -> Self {
        self.options.max_keys_queries = queries;
        self
    }

    /// Sets [`OpenOptions::state_dir`].
    pub fn state_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.options.state_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Sets [`OpenOptions::rollback_dir`].
    pub fn rollback_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.options.rollback_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Sets [`OpenOptions::state_in_memory`].
    pub fn state_in_memory(mut self) -> Self {
        self.options.state_in_memory = true;
        self
    }

    /// Sets [`OpenOptions::require_row_proofs`].
    pub fn require_row_proofs(mut self) -> Self {
        self.options.require_row_proofs = true;
        self
    }

    /// Sets [`OpenOptions::require_authenticated_answers`].
    pub fn require_authenticated_answers(mut self) -> Self {
        self.options.require_authenticated_answers = true;
        self
    }

    /// Sets [`OpenOptions::low_water`].
    pub fn low_water(mut self, queries: u64) -> Self {
        self.options.low_water = Some(queries);
        self
    }

    /// Sets [`OpenOptions::preparation_rate`].
    pub fn preparation_rate(mut self, bytes_per_second: u64) -> Self {
        self.options.preparation_rate = Some(bytes_per_second);
        self
    }

    /// Sets [`OpenOptions::fail_when_exhausted`].
    pub fn fail_when_exhausted(mut self) -> Self {
        self.options.fail_when_exhausted = true;
        self
    }

    /// Sets [`OpenOptions::max_wait`].
    pub fn max_wait(mut self, limit: Duration) -> Self {
        self.options.max_wait = limit;
        self
    }

    /// Sets [`OpenOptions::timeout`].
    #[cfg(feature = "http")]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.options.timeout = limit;
        self
    }

    /// Sets [`OpenOptions::trust_root`].
    #[cfg(feature = "http")]
    pub fn trust_root(mut self, pem: impl AsRef<Path>) -> Self {
        self.options.trust_root = Some(pem.as_ref().to_owned());
        self
    }

    /// Sets [`OpenOptions::insecure_plaintext`].
    #[cfg(feature = "http")]
    pub fn insecure_plaintext(mut self) -> Self {
        self.options.insecure_plaintext = true;
        self
    }

    /// Sets [`OpenOptions::resolve`], in tests.
    pub fn resolve(mut self, resolve: fn(&str) -> Option<&'static SchemeEntry>) -> Self {
        self.options.resolve = resolve;
        self
    }

    /// Calls `progress` during this opening and later ones, possibly also from the thread that
    /// prepares the next client.
    pub fn progress(mut self, progress: impl FnMut(Progress) + Send + 'static) -> Self {
        self.options.callbacks.progress = Notifier::new(progress);
        self
    }

    /// Calls `events` for what happens to the client, its state and its stored files, possibly also
    /// from the thread that prepares the next client.
    pub fn events(mut self, events: impl FnMut(TableEvent) + Send + 'static) -> Self {
        self.options.callbacks.events = Notifier::new(events);
        self
    }

    /// Calls `check` for each row that a client with a state looks up, to decide whether the row is
    /// what the publisher wrote, by data in the row itself. A row that is not is
    /// [`sotto_core::Error::Unreadable`], and nothing that is sent later depends on it.
    pub fn check_rows(mut self, check: impl FnMut(u64, &[u8]) -> bool + Send + 'static) -> Self {
        self.options.callbacks.check = Some(Arc::new(Mutex::new(check)));
        self
    }

    /// Makes the transports with which the next client is prepared in the background, one to each
    /// server. Over HTTP there is a default; over other transports the next client is prepared in
    /// the foreground, once a lookup needs it.
    pub fn preparation_transports(
        mut self,
        mut make: impl FnMut() -> Vec<Box<dyn Transport>> + Send + 'static,
    ) -> Self {
        self.options.callbacks.transports = Some(Arc::new(Mutex::new(move || Ok(make()))));
        self
    }

    /// Replaces the clock, in tests.
    #[cfg(test)]
    pub(crate) fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.options.callbacks.clock = Arc::new(clock);
        self
    }

    /// Replaces the folders of states, in tests.
    #[cfg(test)]
    pub(crate) fn state_paths(mut self, state_paths: StatePathsFactory) -> Self {
        self.options.callbacks.state_paths = Some(state_paths);
        self
    }
}

impl Builder<Table> {
    /// Forgets the table in the cache, with its keys and its newest epoch, and returns whether it
    /// was known: the next catalog is believed as on a first visit. Nothing is sent. This is the
    /// only way back from what was seen, for a table whose publisher has started over, and so a
    /// person has to decide it.
    ///
    /// # Errors
    /// [`ClientError::Cache`]; an error for an invalid address.
    pub fn forget(mut self) -> Result<bool> {
        let Some(dir) = &self.options.cache_dir else { return Ok(false) };
        let cache = Cache::open(dir)?;
        Ok(cache.forget(&self.to.servers(&self.options)?.origin(), &self.name)?)
    }

    /// Opens the table: catalog, artifacts, keys.
    ///
    /// # Errors
    /// [`ClientError`], with whose fault it is and what to do. Completed downloads stay in the
    /// cache, if there is one.
    pub fn open(self) -> Result<Table> {
        let Builder { mut to, name, options, .. } = self;
        let table = name.parse()?;
        let (witnesses, wait_policy) = (options.required_witnesses(), options.wait_policy());
        let again = to.again(&options);
        let servers = to.servers(&options)?;
        let config = SetupConfig {
            pin: options.pin,
            snapshot: options.snapshot,
            anchor: options.anchor,
            witnesses,
            resolve: options.resolve,
            in_memory: options.state_in_memory,
            verified: options.require_row_proofs,
            authenticated: options.require_authenticated_answers,
            servers: servers.count(),
            ..SetupConfig::new(table)
        };
        let dir = options.cache_dir.as_deref();
        let cache = dir.map(Cache::open).transpose().map_err(ClientError::from)?;
        let ring = dir.map(|dir| Keyring::open(dir, options.key_file.as_deref())).transpose()?;
        let limits = KeyLimits { age: options.max_keys_age, queries: options.max_keys_queries.max(1) };
        let Callbacks { events, progress, check, transports, state_paths, clock } = options.callbacks;
        let counters = options.rollback_dir;
        let folders = |dir| state_guard::folders(dir, counters, wait_policy.clone());
        let paths_factory = state_paths.or_else(|| options.state_dir.map(folders));
        let driver = Driver {
            servers,
            state_guard: StateGuard { paths_factory, state: None, config: None, check, events },
            cache,
            slot: None,
            keys: KeyManager::new(ring, limits),
            wait_policy,
            progress,
            rng: ReseedingRng::open()?,
            stats: Default::default(),
        };
        let policy = PreparationPolicy {
            transports: transports.or(again),
            low_water: options.low_water,
            rate: options.preparation_rate,
            refuses: options.fail_when_exhausted,
            clock,
        };
        Table::open(driver, config, policy)
    }
}
