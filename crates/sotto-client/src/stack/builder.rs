//! Which stack to open, which key to trust, where to store files.

use super::Stack;
use crate::Result;
use crate::session::{LogMemory, VerifiedCatalog};
#[cfg(feature = "http")]
use crate::table::endpoints::{HttpEndpoints, http_options};
use crate::table::event::Notifier;
use crate::table::freshness::WitnessPolicy;
use crate::table::wait_policy::{self, WaitPolicy};
use crate::table::{Table, TableBuilder, TableEvent};
use crate::transport::Transport;
use sotto_catalog::{Hex32, PublicKey, SignedStack};
use sotto_tlog::WitnessKey;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Makes transports to the servers of a table, in the order of their roles.
pub(super) type TransportFactory = Box<dyn FnMut() -> Result<Vec<Box<dyn Transport>>> + Send>;

/// How the servers of a stack are reached.
pub(super) enum StackEndpoints {
    #[cfg(feature = "http")]
    Urls(HttpEndpoints),
    Custom(TransportFactory),
}

impl StackEndpoints {
    #[cfg_attr(not(feature = "http"), allow(unused_variables, reason = "only addresses are waited for here"))]
    pub(super) fn transports(&mut self, wait_policy: &WaitPolicy) -> Result<Vec<Box<dyn Transport>>> {
        match self {
            #[cfg(feature = "http")]
            StackEndpoints::Urls(urls) => urls.transports(wait_policy),
            StackEndpoints::Custom(make) => make(),
        }
    }

    /// A builder for a table of the stack at these servers.
    fn table(&mut self, name: &str) -> Result<TableBuilder> {
        match self {
            #[cfg(feature = "http")]
            StackEndpoints::Urls(urls) => Ok(TableBuilder::at(urls.clone(), name)),
            StackEndpoints::Custom(make) => Ok(Table::over_all(make()?, name)),
        }
    }
}

/// Options for opening a stack.
#[must_use = "nothing happens before open()"]
pub struct StackBuilder {
    pub(super) to: StackEndpoints,
    pub(super) name: String,
    pub(super) pin: Option<PublicKey>,
    pub(super) snapshot: Option<Hex32>,
    pub(super) witnesses: WitnessPolicy,
    pub(super) logs: LogMemory,
    pub(super) cache_dir: Option<PathBuf>,
    /// Name of the servers in the cache.
    pub(super) origin: String,
    pub(super) max_wait: Duration,
    pub(super) events: Notifier<TableEvent>,
    #[allow(clippy::type_complexity, reason = "one function, named by what it does")]
    configure: Box<dyn Fn(TableBuilder) -> TableBuilder + Send>,
}

impl StackBuilder {
    #[cfg(feature = "http")]
    pub(super) fn connect(urls: &[&str], stack: &str) -> Self {
        StackBuilder::new(StackEndpoints::Urls(HttpEndpoints::new(urls)), stack)
    }

    pub(super) fn over(make: TransportFactory, stack: &str) -> Self {
        StackBuilder::new(StackEndpoints::Custom(make), stack)
    }

    fn new(to: StackEndpoints, stack: &str) -> Self {
        let configure = Box::new(|builder| builder);
        let (name, origin) = (stack.to_owned(), String::new());
        let (max_wait, events) = (wait_policy::DEFAULT, Notifier::new(Box::new(|_| {})));
        StackBuilder {
            to,
            name,
            pin: None,
            snapshot: None,
            witnesses: WitnessPolicy::default(),
            logs: LogMemory::default(),
            cache_dir: None,
            origin,
            max_wait,
            events,
            configure,
        }
    }

    /// Accepts only a stack and tables that are signed by this key. Without a pin the first key
    /// seen is trusted and, with a cache, no other afterwards. The tables must be signed by the
    /// same key as the stack.
    pub fn pin(mut self, key: PublicKey) -> Self {
        self.pin = Some(key);
        self
    }

    /// Accepts only the stack with this digest ([`sotto_catalog::Stack::digest`]), and its tables at the epochs
    /// that it names: see [`TableBuilder::snapshot`].
    pub fn snapshot(mut self, digest: Hex32) -> Self {
        self.snapshot = Some(digest);
        self
    }

    /// Accepts only a stack that its publisher shows to everybody: one that is in the publisher's
    /// log, under a checkpoint that this witness cosigned recently. Can be called for several
    /// witnesses; all of them are required, unless [`Self::witnesses_needed`] says otherwise.
    ///
    /// The stack names its tables' catalogs by digest, so they are not looked up in the log one by
    /// one. If the log does not extend the one seen before, the error stores both checkpoints
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

    /// Maximum age of a cosignature; by default, a day. A server can present an old stack for that
    /// long.
    pub fn witness_age(mut self, age: Duration) -> Self {
        self.witnesses.age = Some(age);
        self
    }

    /// Stores the tables' artifacts and keys, and what is known of the stack, in this directory.
    pub fn cache_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.cache_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Maximum time to wait for busy servers and other processes: see [`TableBuilder::max_wait`].
    pub fn max_wait(mut self, limit: Duration) -> Self {
        self.max_wait = limit;
        self
    }

    /// Calls `events` for what happens to the stack before its tables are opened. Events of the
    /// tables are reported to [`TableBuilder::events`].
    pub fn events(mut self, events: impl FnMut(TableEvent) + Send + 'static) -> Self {
        self.events = Notifier::new(Box::new(events));
        self
    }

    /// Sets further options of each table, beyond its name, its key and its cache.
    pub fn configure(mut self, configure: impl Fn(TableBuilder) -> TableBuilder + Send + 'static) -> Self {
        self.configure = Box::new(configure);
        self
    }

    /// Opens the stack: its description, its public files, its tables.
    ///
    /// # Errors
    /// [`ClientError`](crate::ClientError), of which
    /// [`StackInconsistent`](crate::ClientError::StackInconsistent) if its tables never reach the
    /// epochs that it names.
    pub fn open(mut self) -> Result<Stack> {
        let remembered = self.remembered()?;
        let fetched = self.fetch(remembered.as_ref())?;
        let good_until = self.vet(&fetched.judged)?;
        let signed = fetched.signed;
        let VerifiedCatalog { document, key, trust, known, .. } = fetched.judged;
        let files = self.files(&document)?;
        let mut tables = Vec::new();
        for shard in &document.shards {
            let mut builder = self.to.table(shard.table.as_str())?.pin(key).max_wait(self.max_wait);
            if self.snapshot.is_some() {
                builder = builder.snapshot(shard.catalog);
            }
            if let Some(dir) = &self.cache_dir {
                builder = builder.cache_dir(dir);
            }
            tables.push((self.configure)(builder).open()?);
        }
        let mut stack = Stack { from: self, document, signed, key, trust, known, good_until, files, tables };
        stack.settle()?;
        Ok(stack)
    }

    /// Forgets the stack in the cache, and the tables that it named last, as
    /// [`TableBuilder::forget`] does for a table. Nothing is sent.
    ///
    /// # Errors
    /// [`Cache`](crate::ClientError::Cache); an error for an invalid address.
    pub fn forget(mut self) -> Result<bool> {
        let Some(cache) = self.cache()? else { return Ok(false) };
        let kept = cache.catalog(&self.origin, &self.known_as())?;
        let stack = kept.and_then(|kept| SignedStack::parse(&kept).ok()?.verify(None).ok());
        for shard in stack.iter().flat_map(|stack| &stack.shards) {
            cache.forget(&self.origin, shard.table.as_str())?;
        }
        Ok(cache.forget(&self.origin, &self.known_as())?)
    }
}

#[cfg(feature = "http")]
http_options!(StackBuilder, StackEndpoints);
