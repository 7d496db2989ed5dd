//! Which stack to open, which key to trust, where to store files.

use super::Stack;
use crate::cache::{Cache, KnownTable};
use crate::session::witness::LogCheck;
use crate::session::{Judge, KnownSigner, LogMemory, VerifiedCatalog, accepted};
#[cfg(feature = "http")]
use crate::table::endpoints::{HttpEndpoints, http_options};
use crate::table::event::Notifier;
use crate::table::freshness::{self, WitnessPolicy, now};
use crate::table::wait_policy::{self, WaitPolicy};
use crate::table::{Table, TableBuilder, TableEvent};
use crate::transport::{Request, Response, Transport};
use crate::{ClientError, Result};
use sotto_catalog::{Hex32, PublicKey, SignedStack, Stack as Document, TableName};
use sotto_core::{Epoch, Error, Misuse, PeerMisbehaved};
use sotto_tlog::{LogEntry, WitnessKey};
use sotto_wire::routes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Error for a stack without servers.
const NO_SERVER: Misuse = Misuse::Rule("a stack has a server");

/// Makes transports to the servers of a table, in the order of their roles.
pub(super) type TransportFactory = Box<dyn FnMut() -> Result<Vec<Box<dyn Transport>>> + Send>;

/// How the servers of a stack are reached.
enum StackEndpoints {
    #[cfg(feature = "http")]
    Urls(HttpEndpoints),
    Custom(TransportFactory),
}

impl StackEndpoints {
    #[cfg_attr(not(feature = "http"), allow(unused_variables, reason = "only addresses are waited for here"))]
    fn transports(&mut self, patience: &WaitPolicy) -> Result<Vec<Box<dyn Transport>>> {
        match self {
            #[cfg(feature = "http")]
            StackEndpoints::Urls(urls) => urls.transports(patience),
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

/// A stack as fetched and verified.
pub(super) struct FetchedStack {
    pub(super) judged: VerifiedCatalog<Document>,
    /// Signed bytes of the stack.
    pub(super) signed: Vec<u8>,
}

/// Options for opening a stack.
#[must_use = "nothing happens before open()"]
pub struct StackBuilder {
    to: StackEndpoints,
    name: String,
    pin: Option<PublicKey>,
    snapshot: Option<Hex32>,
    asked: WitnessPolicy,
    logs: LogMemory,
    cache_dir: Option<PathBuf>,
    /// Name of the servers in the cache.
    origin: String,
    patience: Duration,
    events: Notifier<TableEvent>,
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
        let (patience, events) = (wait_policy::DEFAULT, Notifier::new(Box::new(|_| {})));
        StackBuilder {
            to,
            name,
            pin: None,
            snapshot: None,
            asked: WitnessPolicy::default(),
            logs: LogMemory::default(),
            cache_dir: None,
            origin,
            patience,
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

    /// Accepts only the stack with this digest ([`Document::digest`]), and its tables at the epochs
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
        self.asked.keys.push(key);
        self
    }

    /// Number of witnesses that have to have cosigned; by default, all of them.
    pub fn witnesses_needed(mut self, needed: usize) -> Self {
        self.asked.needed = Some(needed);
        self
    }

    /// Maximum age of a cosignature; by default, a day. A server can present an old stack for that
    /// long.
    pub fn witness_age(mut self, age: Duration) -> Self {
        self.asked.age = Some(age);
        self
    }

    /// Stores the tables' artifacts and keys, and what is known of the stack, in this directory.
    pub fn cache_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.cache_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Maximum time to wait for busy servers and other processes: see [`TableBuilder::max_wait`].
    pub fn max_wait(mut self, limit: Duration) -> Self {
        self.patience = limit;
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
    /// [`ClientError`]; [`ClientError::StackInconsistent`] if its tables never reach the epochs
    /// that it names.
    pub fn open(mut self) -> Result<Stack> {
        let remembered = self.remembered()?;
        let FetchedStack { judged, signed } = self.fetch(remembered.as_ref())?;
        let good_until = self.vet(&judged)?;
        let VerifiedCatalog { document, key, trust, known, .. } = judged;
        let files = self.files(&document)?;
        let mut tables = Vec::new();
        for shard in &document.shards {
            let mut builder = self.to.table(shard.table.as_str())?.pin(key).max_wait(self.patience);
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

    /// Fetches the current stack and compares it with what is known of it.
    pub(super) fn fetch(&mut self, known: Option<&KnownSigner>) -> Result<FetchedStack> {
        let name: TableName = self.name.parse()?;
        let request = Request::get(routes::stack(name.as_str()), SignedStack::MAX_BYTES as u64);
        let signed = self.call(&request)?;
        let (pin, snapshot) = (self.pin.as_ref(), self.snapshot.as_ref());
        let judge = Judge { name: &name, pin, snapshot, known, asked: None };
        let judged = judge.verify(&SignedStack::parse(&signed)?).map_err(|error| match error {
            ClientError::Equivocation { epoch, .. } => self.two(epoch, &signed),
            error => error,
        })?;
        if let Some(wanted) = self.snapshot {
            let found = judged.document.digest()?;
            if found != wanted {
                return Err(ClientError::other_snapshot(&name, judged.document.epoch, found, wanted));
            }
        }
        Ok(FetchedStack { judged, signed })
    }

    /// Refuses a stack that has expired, whose previous key is no longer accepted, or that fails
    /// the check of its publisher's log. Returns the time until which the stack is good.
    pub(super) fn vet(&mut self, judged: &VerifiedCatalog<Document>) -> Result<Option<u64>> {
        let (now, VerifiedCatalog { document, key, .. }) = (now(), judged);
        if let Some(change) = judged.change {
            change.check_time(now)?;
            self.events.tell(TableEvent::SignerChanged(change));
        }
        if let Some(expires) = document.expires.filter(|expires| *expires <= now) {
            return Err(ClientError::Expired { epoch: document.epoch, ago: now - expires });
        }
        let Some(witnesses) = self.asked.clone().witnesses() else { return Ok(document.expires) };
        let digest = document.digest()?;
        let (kind, name) = (sotto_tlog::catalogs::EntryKind::Stack, document.stack.clone());
        let entry = LogEntry::new(kind, name, document.epoch, digest, *key);
        let cache = self.cache_dir.as_deref().map(Cache::open).transpose()?;
        if let Some(cache) = &cache {
            freshness::recollect(cache, &self.logs)?;
        }
        if let Some(mut check) = LogCheck::new(entry, &witnesses, &self.logs, Some(now))? {
            let fault = |error| match &cache {
                Some(cache) => freshness::with_both(cache, error),
                None => error,
            };
            while !{
                let response = self.response(&check.next())?;
                check.feed(&response).map_err(fault)?
            } {}
        }
        if let Some(cache) = &cache {
            freshness::keep(cache, &self.logs)?;
        }
        let witnessed = self.logs.good_until(&digest);
        Ok(Some(document.expires.map_or(witnessed, |expires| expires.min(witnessed))))
    }

    /// The error for two stacks of one epoch, both of which are stored if there is a cache.
    pub(super) fn two(&self, epoch: Epoch, signed: &[u8]) -> ClientError {
        let kept = || -> Result<Option<String>> {
            let Some(dir) = &self.cache_dir else { return Ok(None) };
            Ok(Some(Cache::open(dir)?.keep_conflicting_catalog(&self.origin, &self.known_as(), signed)?))
        };
        kept().map_or_else(|error| error, |kept| ClientError::Equivocation { epoch, kept })
    }

    pub(super) fn files(&mut self, document: &Document) -> Result<Vec<Vec<u8>>> {
        let fetch = |file: &sotto_catalog::stack::StackFile| {
            let request = Request::get(routes::artifact(&file.digest.to_string()), file.bytes);
            let bytes = self.call(&request)?;
            if !file.is(&bytes) {
                return Err(Error::from(PeerMisbehaved::Digest("a public file")).into());
            }
            Ok(bytes)
        };
        document.files.iter().map(fetch).collect()
    }

    fn transports(&mut self) -> Result<Vec<Box<dyn Transport>>> {
        self.to.transports(&WaitPolicy { limit: self.patience, events: self.events.clone() })
    }

    /// Fetches a public resource from the first server.
    fn call(&mut self, request: &Request) -> Result<Vec<u8>> {
        Ok(accepted(&self.response(request)?, None)?.to_vec())
    }

    fn response(&mut self, request: &Request) -> Result<Response> {
        let mut transports = self.transports()?;
        let first = transports.first_mut().ok_or(Error::from(NO_SERVER))?;
        Ok(first.call(request)?)
    }

    /// Name of the stack in the cache, which no table can have.
    fn known_as(&self) -> String {
        format!("stack/{}", self.name)
    }

    /// Opens the cache, if there is one.
    fn cache(&mut self) -> Result<Option<Cache>> {
        let Some(dir) = &self.cache_dir else { return Ok(None) };
        let cache = Cache::open(dir)?;
        self.origin = self.transports()?.first().ok_or(Error::from(NO_SERVER))?.origin();
        Ok(Some(cache))
    }

    /// Forgets the stack in the cache, and the tables that it named last, as
    /// [`TableBuilder::forget`] does for a table. Nothing is sent.
    ///
    /// # Errors
    /// [`ClientError::Cache`]; an error for an invalid address.
    pub fn forget(mut self) -> Result<bool> {
        let Some(cache) = self.cache()? else { return Ok(false) };
        let kept = cache.catalog(&self.origin, &self.known_as())?;
        let stack = kept.and_then(|kept| SignedStack::parse(&kept).ok()?.verify(None).ok());
        for shard in stack.iter().flat_map(|stack| &stack.shards) {
            cache.forget(&self.origin, shard.table.as_str())?;
        }
        Ok(cache.forget(&self.origin, &self.known_as())?)
    }

    /// What earlier calls have seen of the stack.
    fn remembered(&mut self) -> Result<Option<KnownSigner>> {
        let Some(cache) = self.cache()? else { return Ok(None) };
        if self.pin.is_some() && cache.forget_damaged(&self.origin, &self.known_as())? {
            self.events.tell(TableEvent::Repaired("what the cache remembered of the stack"));
        }
        let known = cache.known(&self.origin, &self.known_as())?;
        Ok(known.map(|known| known.signer()).transpose()?)
    }

    /// Stores the stack's keys and epoch in the cache, as for tables.
    pub(super) fn remember(&self, stack: &Stack) -> Result<()> {
        let Some(dir) = &self.cache_dir else { return Ok(()) };
        let Stack { document, known, signed, .. } = stack;
        let cache = Cache::open(dir)?;
        // The snapshot is older than the newest epoch seen.
        if known.epoch != document.epoch {
            return Ok(());
        }
        let known = KnownTable::new(self.origin.clone(), self.known_as(), known, BTreeMap::new());
        if cache.remember(&known)? {
            cache.keep_catalog(&self.origin, &self.known_as(), signed)?;
        }
        Ok(())
    }
}

#[cfg(feature = "http")]
http_options!(StackBuilder, StackEndpoints);
