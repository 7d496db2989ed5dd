//! Agreement on one epoch for all servers of a table: the newest that each of them has.
//!
//! A query is split over servers that must answer about the same rows, so they have to show the
//! same catalog, byte for byte. While a table moves to its next epoch, some servers have it before
//! others; each still serves the previous epoch. So the first round requests the newest catalog of
//! every server, and the second requests, from those that are ahead, the epoch that the last one
//! has reached.

use super::config::SetupConfig;
use super::trust::{Judge, VerifiedCatalog};
use super::verified_table::VerifiedTable;
use super::{accepted, is_over};
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::signed::MAX_SIGNED_BYTES;
use sotto_catalog::succession::path;
use sotto_catalog::{CatalogError, PublicKey, SignedCatalog};
use sotto_core::Epoch;
use sotto_wire::{Problem, routes};
use std::sync::Arc;

/// Number of consecutive epochs, its newest ones, for which a server answers queries
/// (`spec/image.md`).
const ANSWERED: u64 = 2;

impl VerifiedTable {
    /// Verifies a catalog: that of the epoch `requested_epoch`, if one was requested by number. The catalog
    /// of a further server has to be signed by the same `key` as the first server's.
    ///
    /// # Errors
    /// [`ClientError`] for any fault of the catalog; [`ClientError::ServerCount`].
    pub(super) fn new(
        body: &[u8],
        config: &SetupConfig,
        key: Option<PublicKey>,
        requested_epoch: Option<Epoch>,
    ) -> Result<Self> {
        let pin = key.or(config.pin);
        let judge = Judge {
            name: &config.table,
            pin: pin.as_ref(),
            snapshot: config.snapshot.as_ref(),
            known: config.remembered.as_ref(),
            requested_epoch,
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
}

/// The catalogs that servers have shown so far, in the order of the servers.
#[derive(Default)]
pub(super) struct EpochAgreement {
    offers: Vec<OfferedTable>,
    /// Requested epoch; `None` for the newest.
    at: Option<Epoch>,
}

struct OfferedTable {
    table: VerifiedTable,
}

impl OfferedTable {
    /// The epoch from which on an earlier key of the table is no longer valid, if it was replaced
    /// by the current one.
    fn replaced(&self, before: PublicKey) -> Option<Epoch> {
        let VerifiedTable { signed, catalog, key, .. } = &self.table;
        let all = SignedCatalog::parse(signed).ok()?.successions;
        let path = path(&all, &catalog.table, before, *key).ok()??;
        path.first().map(|succession| succession.from_epoch)
    }

    fn epoch(&self) -> Epoch {
        self.table.catalog.epoch
    }
}

/// A catalog to fetch.
struct CatalogRequest {
    server: u8,
    /// Epoch of the catalog; `None` for the newest.
    epoch: Option<Epoch>,
}

impl EpochAgreement {
    /// Agrees on this epoch and no other.
    pub(super) fn at(epoch: Epoch) -> Self {
        EpochAgreement { at: Some(epoch), ..EpochAgreement::default() }
    }

    /// The catalog to fetch next; `None` once every server has shown a catalog of one epoch.
    fn next_request(&self, config: &SetupConfig) -> Option<CatalogRequest> {
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
        let CatalogRequest { server, epoch } = self.next_request(config)?;
        let path = routes::table(config.table.as_str(), epoch);
        Some((server, Request::get(path, MAX_SIGNED_BYTES as u64)))
    }

    /// Takes the response to [`EpochAgreement::next`]. Returns the verified table once all servers
    /// agree.
    ///
    /// # Errors
    /// As [`VerifiedTable::new`]; [`ClientError::NoCommonEpoch`], [`ClientError::CatalogsDiffer`].
    pub(super) fn feed(
        &mut self,
        response: &Response,
        config: &SetupConfig,
    ) -> Result<Option<VerifiedTable>> {
        let Some(CatalogRequest { server, epoch }) = self.next_request(config) else { return Ok(None) };
        let offer = self.read(server, epoch, response, config);
        let offer = offer.map_err(|error| error.of_server(server, config.servers))?;
        match self.offers.get_mut(usize::from(server)) {
            Some(earlier) => *earlier = offer,
            None => self.offers.push(offer),
        }
        if let Some(CatalogRequest { server, epoch: Some(common) }) = self.next_request(config) {
            let newest = self.offers.get(usize::from(server)).map_or(common, OfferedTable::epoch);
            // Such a server still shows the catalog to clients that apply rows deltas, but does not
            // answer queries for its epoch.
            if self.at.is_none() && newest.0 - common.0 >= ANSWERED {
                self.offers.clear();
                return Err(ClientError::NoCommonEpoch { server, epoch: common });
            }
        }
        if self.next_request(config).is_some() {
            return Ok(None);
        }
        // The catalogs are used up, whatever the result: a repeated step begins with the first
        // server.
        let mut offers = std::mem::take(&mut self.offers).into_iter();
        let Some(first) = offers.next() else { return Ok(None) };
        match (1..).zip(offers).find(|(_, other)| other.table.signed != first.table.signed) {
            Some((server, _)) => Err(ClientError::CatalogsDiffer { server, epoch: first.epoch() }),
            None => Ok(Some(first.table)),
        }
    }

    fn read(
        &self,
        server: u8,
        epoch: Option<Epoch>,
        response: &Response,
        config: &SetupConfig,
    ) -> Result<OfferedTable> {
        let not_common = |epoch| ClientError::NoCommonEpoch { server, epoch };
        if let Some(epoch) = epoch.filter(|_| !response.is_success()) {
            let problem = Problem::read(response.status, &response.body);
            return Err(match is_over(&problem) {
                true if self.at.is_some() => {
                    ClientError::EpochChanged { asked: epoch, newest: problem.epoch }
                }
                true => not_common(epoch),
                false => ClientError::Refused(problem),
            });
        }
        let signed = accepted(response, None)?;
        // Every further server has to show the same key as the first.
        let key = self.offers.first().map(|first| first.table.key);
        let table = VerifiedTable::new(signed, config, key.filter(|_| server > 0), self.at);
        // A server that has not reached the epoch in which the key changed.
        let first = self.offers.first().filter(|_| server > 0);
        if let (Err(ClientError::Catalog(CatalogError::WrongKey { found, .. })), Some(first)) =
            (&table, first)
            && let Some(until_epoch) = first.replaced(*found)
        {
            let (key, by) = (*found, first.table.key);
            let epoch = SignedCatalog::parse(signed)?.verify(None)?.epoch;
            return Err(match epoch < until_epoch {
                true => ClientError::NoCommonEpoch { server, epoch: first.epoch() },
                false => ClientError::RetiredKey { key, by, until_epoch, epoch },
            });
        }
        let table = table?;
        match epoch {
            Some(epoch) if epoch != table.catalog.epoch => Err(not_common(epoch)),
            _ => Ok(OfferedTable { table }),
        }
    }
}
