//! A stack from the first server: its description, the check of its freshness, its public files,
//! and what is known of it in the cache.

use super::Stack;
use super::builder::StackBuilder;
use crate::cache::{Cache, KnownTable};
use crate::session::witness::LogCheck;
use crate::session::{Judge, KnownSigner, VerifiedCatalog, accepted};
use crate::table::TableEvent;
use crate::table::freshness::{self, now};
use crate::table::wait_policy::WaitPolicy;
use crate::transport::{Request, Response, Transport};
use crate::{ClientError, Result};
use sotto_catalog::{SignedStack, Stack as Document, TableName};
use sotto_core::{Epoch, Error, Misuse, PeerMisbehaved};
use sotto_tlog::LogEntry;
use sotto_wire::routes;
use std::collections::BTreeMap;

/// Error for a stack without servers.
const NO_SERVER: Misuse = Misuse::Rule("no server address given for the stack");

/// A stack as fetched and verified.
pub(super) struct FetchedStack {
    pub(super) judged: VerifiedCatalog<Document>,
    /// Signed bytes of the stack.
    pub(super) signed: Vec<u8>,
}

impl StackBuilder {
    /// Fetches the current stack and compares it with what is known of it.
    pub(super) fn fetch(&mut self, known: Option<&KnownSigner>) -> Result<FetchedStack> {
        let name: TableName = self.name.parse()?;
        let request = Request::get(routes::stack(name.as_str()), SignedStack::MAX_BYTES as u64);
        let signed = self.call(&request)?;
        let (pin, snapshot) = (self.pin.as_ref(), self.snapshot.as_ref());
        let judge = Judge { name: &name, pin, snapshot, known, requested_epoch: None };
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
            self.events.notify(TableEvent::SignerChanged(change));
        }
        if let Some(expires) = document.expires.filter(|expires| *expires <= now) {
            return Err(ClientError::Expired { epoch: document.epoch, ago: now - expires });
        }
        let Some(witnesses) = self.witnesses.clone().witnesses() else { return Ok(document.expires) };
        let digest = document.digest()?;
        let (kind, name) = (sotto_tlog::catalogs::EntryKind::Stack, document.stack.clone());
        let entry = LogEntry::new(kind, name, document.epoch, digest, *key);
        let cache = self.cache_dir.as_deref().map(Cache::open).transpose()?;
        if let Some(cache) = &cache {
            freshness::load_logs(cache, &self.logs)?;
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
                return Err(Error::from(PeerMisbehaved::Digest("public file")).into());
            }
            Ok(bytes)
        };
        document.files.iter().map(fetch).collect()
    }

    fn transports(&mut self) -> Result<Vec<Box<dyn Transport>>> {
        self.to.transports(&WaitPolicy { limit: self.max_wait, events: self.events.clone() })
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
    pub(super) fn known_as(&self) -> String {
        format!("stack/{}", self.name)
    }

    /// Opens the cache, if there is one.
    pub(super) fn cache(&mut self) -> Result<Option<Cache>> {
        let Some(dir) = &self.cache_dir else { return Ok(None) };
        let cache = Cache::open(dir)?;
        self.origin = self.transports()?.first().ok_or(Error::from(NO_SERVER))?.origin();
        Ok(Some(cache))
    }

    /// What earlier calls have seen of the stack.
    pub(super) fn remembered(&mut self) -> Result<Option<KnownSigner>> {
        let Some(cache) = self.cache()? else { return Ok(None) };
        if self.pin.is_some() && cache.forget_damaged(&self.origin, &self.known_as())? {
            self.events.notify(TableEvent::Repaired("the cache entry of the stack"));
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
