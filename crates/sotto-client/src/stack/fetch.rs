//! A stack from its first server: its description, the check of its freshness, its public files,
//! and what is known of it in the cache.

use super::Stack;
use crate::Result;
use crate::cache::{Cache, CacheEntry};
use crate::session::{Freshness, Judge, KnownSigner, LogMemory, VerifiedCatalog, accepted};
use crate::table::driver::now;
use crate::table::endpoints::Endpoints;
use crate::table::{Builder, OpenOptions, Table, TableEvent};
use crate::transport::{Request, Response};
use sotto_catalog::stack::{Shard, StackFile};
use sotto_catalog::{PublicKey, SignedStack, Stack as Document, TableName};
use sotto_core::{Error, Misuse, PeerMisbehaved};
use sotto_tlog::catalogs::EntryKind;
use sotto_wire::routes;

/// Error for a stack without servers.
const NO_SERVER: Misuse = Misuse::Rule("no server address given for the stack");

/// Where a stack is fetched from, and what is required of it.
pub(super) struct StackSource {
    to: Endpoints,
    name: TableName,
    options: OpenOptions,
    logs: LogMemory,
    cache: Option<Cache>,
    /// Name of the servers in the cache.
    origin: String,
}

/// A stack as fetched and verified.
pub(super) struct FetchedStack {
    pub(super) verified: VerifiedCatalog<Document>,
    /// Signed bytes of the stack.
    pub(super) signed: Vec<u8>,
    /// Time until which the stack is good, in seconds since 1970.
    pub(super) good_until: Option<u64>,
}

impl StackSource {
    pub(super) fn new(builder: Builder<Stack>) -> Result<Self> {
        let Builder { mut to, name, options, .. } = builder;
        let name = name.parse()?;
        let cache = options.cache_dir.as_deref().map(Cache::open).transpose()?;
        let origin = match &cache {
            Some(_) => to.transports(&options)?.first().ok_or(Error::from(NO_SERVER))?.origin(),
            None => String::new(),
        };
        Ok(StackSource { to, name, options, logs: LogMemory::default(), cache, origin })
    }

    /// The stack's entry in the cache, under a name that no table can have.
    fn entry(&self) -> Option<CacheEntry<'_>> {
        let (origin, name) = (self.origin.clone(), format!("stack/{}", self.name));
        self.cache.as_ref().map(|cache| CacheEntry { cache, origin, name })
    }

    /// What earlier openings have seen of the stack.
    pub(super) fn remembered(&self) -> Result<Option<KnownSigner>> {
        let repaired = || self.notify(TableEvent::Repaired("the cache entry of the stack"));
        self.entry().map_or(Ok(None), |entry| entry.signer(self.options.pin.is_some(), repaired))
    }

    /// Stores the stack's keys and epoch in the cache, as for tables.
    pub(super) fn remember(&self, stack: &Stack) -> Result<()> {
        let Stack { document, known, signed, .. } = stack;
        self.entry().map_or(Ok(()), |entry| entry.update(known, document.epoch, &[], signed))
    }

    /// Forgets the stack in the cache, and the tables that it named last.
    pub(super) fn forget(&self) -> Result<bool> {
        let Some(CacheEntry { cache, origin, name }) = self.entry() else { return Ok(false) };
        let kept = cache.catalog(&origin, &name)?;
        let stack = kept.and_then(|kept| SignedStack::parse(&kept).ok()?.verify(None).ok());
        for shard in stack.iter().flat_map(|stack| &stack.shards) {
            cache.forget(&origin, shard.table.as_str())?;
        }
        Ok(cache.forget(&origin, &name)?)
    }

    /// Fetches the current stack and compares it with what is known of it. Refuses one that has
    /// expired, whose previous key is no longer accepted, or that fails the check of its publisher's
    /// log.
    pub(super) fn fetch(&mut self, known: Option<&KnownSigner>) -> Result<FetchedStack> {
        let request = Request::get(routes::stack(self.name.as_str()), SignedStack::MAX_BYTES as u64);
        let signed = self.call(&request)?;
        let checked = self.check(&signed, known);
        let (verified, good_until) = checked.map_err(|error| match self.entry() {
            Some(entry) => entry.with_evidence(error, &signed),
            None => error,
        })?;
        Ok(FetchedStack { verified, signed, good_until })
    }

    fn check(
        &mut self,
        signed: &[u8],
        known: Option<&KnownSigner>,
    ) -> Result<(VerifiedCatalog<Document>, Option<u64>)> {
        let (pin, snapshot) = (self.options.pin.as_ref(), self.options.snapshot.as_ref());
        let judge = Judge { name: &self.name, pin, snapshot, known, requested_epoch: None };
        let verified = judge.verify(&SignedStack::parse(signed)?)?;
        let (logs, witnesses) = (self.logs.clone(), self.options.required_witnesses());
        let anchor = self.options.anchor.clone();
        let cache = self.cache.clone().filter(|_| witnesses.is_some());
        if let Some(cache) = &cache {
            cache.load_logs(&logs)?;
        }
        let freshness = Freshness {
            kind: EntryKind::Stack,
            snapshot: self.options.snapshot,
            anchor: anchor.as_ref(),
            witnesses: witnesses.as_ref(),
            logs: &logs,
            now: Some(now()),
        };
        let document = &verified.document;
        let mut send = |request: &Request| self.response(request);
        let signer = (verified.key, verified.ml_dsa.as_ref());
        freshness.check(document, document.expires, signer, verified.change, &mut send)?;
        if let Some(change) = verified.change {
            self.notify(TableEvent::SignerChanged(change));
        }
        if let Some(cache) = &cache {
            cache.store_logs(&logs)?;
        }
        let witnessed = witnesses.map(|_| document.digest().map(|digest| logs.good_until(&digest)));
        let good_until = [document.expires, witnessed.transpose()?].into_iter().flatten().min();
        Ok((verified, good_until))
    }

    /// The public files of the stack.
    pub(super) fn files(&mut self, document: &Document) -> Result<Vec<Vec<u8>>> {
        let fetch = |file: &StackFile| {
            let request = Request::get(routes::artifact(&file.digest.to_string()), file.bytes);
            let bytes = self.call(&request)?;
            if !file.is(&bytes) {
                return Err(Error::from(PeerMisbehaved::Digest("public file")).into());
            }
            Ok(bytes)
        };
        document.files.iter().map(fetch).collect()
    }

    /// Opens a table of the stack, which is signed by the stack's key.
    pub(super) fn open_table(&self, shard: &Shard, key: PublicKey) -> Result<Table> {
        let options = OpenOptions {
            pin: Some(key),
            snapshot: self.options.snapshot.map(|_| shard.catalog),
            anchor: None,
            witnesses: Vec::new(),
            witnesses_needed: None,
            policy: None,
            ..self.options.clone()
        };
        Builder::<Table>::new(self.to.of_table()?, shard.table.as_str()).options(options).open()
    }

    fn notify(&self, event: TableEvent) {
        self.options.callbacks.events.notify(event);
    }

    /// Fetches a public resource from the first server.
    fn call(&mut self, request: &Request) -> Result<Vec<u8>> {
        Ok(accepted(&self.response(request)?, None)?.to_vec())
    }

    fn response(&mut self, request: &Request) -> Result<Response> {
        let mut transports = self.to.transports(&self.options)?;
        let first = transports.first_mut().ok_or(Error::from(NO_SERVER))?;
        Ok(first.call(request)?)
    }
}
