//! One epoch for all servers of a table: the newest that each of them has.
//!
//! A query is split over servers that must answer about the same rows, so they have to show the same catalog, byte
//! for byte. While a table moves to its next epoch, one server has it before another; each still serves the one
//! before, and so the first round asks every server for its newest catalog, and the second asks those that are ahead
//! for the epoch that the last one has reached.

use super::config::SetupConfig;
use super::trust::{Judge, KnownSigner, Trust, VerifiedCatalog};
use super::{accepted, is_over};
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::signed::MAX_SIGNED_BYTES;
use sotto_catalog::succession::path;
use sotto_catalog::{
    ArtifactEntry, Catalog, CatalogError, PublicKey, SignedCatalog, SignerChange, TableTerms,
};
use sotto_core::{Artifact, Epoch, ParamsDigest, SchemeEntry};
use sotto_wire::{FrameHeader, MessageSizes, Problem, SessionId, routes};
use std::sync::Arc;

/// About how many epochs a server answers: its newest ones (`spec/image.md`). Their numbers follow each other.
const ANSWERED: u64 = 2;

/// A table that is believed and understood.
#[derive(Clone)]
pub(super) struct VerifiedTable {
    pub(super) catalog: Catalog,
    pub(super) key: PublicKey,
    pub(super) trust: Trust,
    /// How the key came to be believed, if another one was known.
    pub(super) change: Option<SignerChange>,
    /// What is known of the table from now on.
    pub(super) known: KnownSigner,
    pub(super) terms: TableTerms,
    /// The catalog as it came, under its signature.
    pub(super) signed: Arc<[u8]>,
    pub(super) scheme: &'static SchemeEntry,
    /// The literal parameters, as the scheme takes them.
    pub(super) params: Vec<u8>,
    /// See [`SetupConfig::in_memory`].
    pub(super) in_memory: bool,
    /// What rows are verified by, once it was fetched; empty where that is not needed.
    pub(super) tree: Arc<[u8]>,
}

impl VerifiedTable {
    /// Judges a catalog, that of the epoch `asked` for if one was; one of a server that comes after another is held to the `key`
    /// of that one.
    ///
    /// # Errors
    /// [`ClientError`] for whatever is wrong with it; [`ClientError::ServerCount`].
    pub(super) fn new(
        body: &[u8],
        config: &SetupConfig,
        key: Option<PublicKey>,
        asked: Option<Epoch>,
    ) -> Result<Self> {
        let pin = key.or(config.pin);
        let judge = Judge {
            name: &config.table,
            pin: pin.as_ref(),
            snapshot: config.snapshot.as_ref(),
            known: config.remembered.as_ref(),
            asked,
        };
        let VerifiedCatalog { document: catalog, key, trust, change, known } =
            judge.verify(&SignedCatalog::parse(body)?)?;
        let scheme = (config.resolve)(&catalog.scheme)
            .ok_or_else(|| ClientError::UnknownScheme { id: catalog.scheme.clone() })?;
        if scheme.servers != usize::from(config.servers) {
            let given = config.servers;
            return Err(ClientError::ServerCount { id: catalog.scheme, servers: scheme.servers, given });
        }
        // The scheme checks security and failure bounds again: a signature says who made the parameters,
        // not that they are sound.
        let terms = catalog.terms(scheme)?;
        if config.verified && catalog.rows_root.path.is_none() {
            return Err(ClientError::NoRowProofs { table: catalog.table });
        }
        let params = catalog.params.to_string().into_bytes();
        Ok(VerifiedTable {
            catalog,
            key,
            trust,
            change,
            known,
            terms,
            signed: body.into(),
            scheme,
            params,
            in_memory: config.in_memory,
            tree: Arc::default(),
        })
    }

    pub(super) fn sizes(&self) -> MessageSizes {
        MessageSizes::new(&self.terms.report.costs, self.terms.packing.records_per_row())
    }

    /// What frames for this server start with.
    pub(super) fn pin(&self, server: u8) -> FrameHeader {
        let digest = ParamsDigest(self.catalog.params_digest.0);
        FrameHeader { server, epoch: self.catalog.epoch, digest }
    }

    /// The rows among its artifacts.
    pub(super) fn rows(&self) -> Option<&ArtifactEntry> {
        self.catalog.artifacts.iter().find(|entry| entry.artifact == Artifact::Rows)
    }

    /// Whether nothing may be asked before it is on disk.
    pub(super) fn needs_state(&self) -> bool {
        self.scheme.state.is_some() && !self.in_memory
    }

    /// How many servers there are.
    pub(super) fn servers(&self) -> u8 {
        u8::try_from(self.scheme.servers).unwrap_or(u8::MAX)
    }

    /// No session yet with each server that is sent queries.
    pub(super) fn no_sessions(&self) -> Vec<SessionId> {
        vec![SessionId::NONE; self.scheme.query_servers]
    }
}

/// The catalogs that servers have shown so far, in their order.
#[derive(Default)]
pub(super) struct EpochAgreement {
    offers: Vec<OfferedTable>,
    /// The epoch wanted, instead of the newest.
    at: Option<Epoch>,
}

struct OfferedTable {
    agreed: VerifiedTable,
}

impl OfferedTable {
    /// The epoch from which on a key does not sign the table any more, if it did before the one that does.
    fn replaced(&self, before: PublicKey) -> Option<Epoch> {
        let VerifiedTable { signed, catalog, key, .. } = &self.agreed;
        let all = SignedCatalog::parse(signed).ok()?.successions;
        let path = path(&all, &catalog.table, before, *key).ok()??;
        path.first().map(|said| said.from_epoch)
    }

    fn epoch(&self) -> Epoch {
        self.agreed.catalog.epoch
    }
}

/// A catalog that is to be fetched.
struct CatalogRequest {
    server: u8,
    /// The newest, if none is named.
    epoch: Option<Epoch>,
}

impl EpochAgreement {
    /// Agrees on this epoch and no other.
    pub(super) fn at(epoch: Epoch) -> Self {
        EpochAgreement { at: Some(epoch), ..EpochAgreement::default() }
    }

    /// What to fetch next. `None` once every server has shown a catalog of one epoch.
    fn wanted(&self, config: &SetupConfig) -> Option<CatalogRequest> {
        let asked = u8::try_from(self.offers.len()).unwrap_or(u8::MAX);
        if asked < config.servers || asked == 0 {
            return Some(CatalogRequest { server: asked, epoch: self.at });
        }
        let common = self.offers.iter().map(OfferedTable::epoch).min();
        let ahead = (0..).zip(&self.offers).find(|(_, offer)| Some(offer.epoch()) != common);
        ahead.map(|(server, _)| CatalogRequest { server, epoch: common })
    }

    /// The next request, and the server it is for.
    pub(super) fn next(&self, config: &SetupConfig) -> Option<(u8, Request)> {
        let CatalogRequest { server, epoch } = self.wanted(config)?;
        let path = routes::table(config.table.as_str(), epoch);
        Some((server, Request::get(path, MAX_SIGNED_BYTES as u64)))
    }

    /// Takes the response to [`EpochAgreement::next`]. Gives what all servers agree on, once they do.
    ///
    /// # Errors
    /// As [`VerifiedTable::new`]; [`ClientError::NoCommonEpoch`], [`ClientError::CatalogsDiffer`].
    pub(super) fn feed(
        &mut self,
        response: &Response,
        config: &SetupConfig,
    ) -> Result<Option<VerifiedTable>> {
        let Some(CatalogRequest { server, epoch }) = self.wanted(config) else { return Ok(None) };
        let offer = self.read(server, epoch, response, config);
        let offer = offer.map_err(|error| error.of_server(server, config.servers))?;
        match self.offers.get_mut(usize::from(server)) {
            Some(ahead) => *ahead = offer,
            None => self.offers.push(offer),
        }
        if let Some(CatalogRequest { server, epoch: Some(common) }) = self.wanted(config) {
            let ahead = self.offers.get(usize::from(server)).map_or(common, OfferedTable::epoch);
            // Such a server would still show the catalog, for those who follow rows deltas, and answer nothing about it.
            if self.at.is_none() && ahead.0 - common.0 >= ANSWERED {
                self.offers.clear();
                return Err(ClientError::NoCommonEpoch { server, epoch: common });
            }
        }
        if self.wanted(config).is_some() {
            return Ok(None);
        }
        // Whatever comes of it, these catalogs are used up: a step that is tried again begins with the first.
        let mut offers = std::mem::take(&mut self.offers).into_iter();
        let Some(first) = offers.next() else { return Ok(None) };
        match (1..).zip(offers).find(|(_, other)| other.agreed.signed != first.agreed.signed) {
            Some((server, _)) => Err(ClientError::CatalogsDiffer { server, epoch: first.epoch() }),
            None => Ok(Some(first.agreed)),
        }
    }

    fn read(
        &self,
        server: u8,
        epoch: Option<Epoch>,
        response: &Response,
        config: &SetupConfig,
    ) -> Result<OfferedTable> {
        let elsewhere = |epoch| ClientError::NoCommonEpoch { server, epoch };
        if let Some(epoch) = epoch.filter(|_| !response.is_success()) {
            let problem = Problem::read(response.status, &response.body);
            return Err(match is_over(&problem) {
                true if self.at.is_some() => {
                    ClientError::EpochChanged { asked: epoch, newest: problem.epoch }
                }
                true => elsewhere(epoch),
                false => ClientError::Refused(problem),
            });
        }
        let signed = accepted(response, None)?;
        // Every further server is held to the key of the first.
        let key = self.offers.first().map(|first| first.agreed.key);
        let agreed = VerifiedTable::new(signed, config, key.filter(|_| server > 0), self.at);
        // One that has not come to the epoch with which the key changed.
        let first = self.offers.first().filter(|_| server > 0);
        if let (Err(ClientError::Catalog(CatalogError::WrongKey { found, .. })), Some(first)) =
            (&agreed, first)
            && let Some(until_epoch) = first.replaced(*found)
        {
            let (key, by) = (*found, first.agreed.key);
            let epoch = SignedCatalog::parse(signed)?.verify(None)?.epoch;
            return Err(match epoch < until_epoch {
                true => ClientError::NoCommonEpoch { server, epoch: first.epoch() },
                false => ClientError::RetiredKey { key, by, until_epoch, epoch },
            });
        }
        let agreed = agreed?;
        match epoch {
            Some(epoch) if epoch != agreed.catalog.epoch => Err(elsewhere(epoch)),
            _ => Ok(OfferedTable { agreed }),
        }
    }
}
