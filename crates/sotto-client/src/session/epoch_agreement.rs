//! Agreement on one epoch for all servers of a table: the newest that each of them has.
//!
//! A query is split over servers that must answer about the same rows, so they have to show the
//! same catalog, byte for byte. While a table moves to its next epoch, some servers have it before
//! others; each still serves the previous epoch. So the first round requests the newest catalog of
//! every server, and the second requests, from those that are ahead, the epoch that the last one
//! has reached.

use super::config::SetupConfig;
use super::setup_io::{RequestPurpose, SetupIo};
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
        let VerifiedCatalog { document: catalog, key, ml_dsa, trust, change, known } =
            judge.verify(&SignedCatalog::parse(body)?)?;
        let scheme = (config.resolve)(&catalog.scheme)
            .ok_or_else(|| ClientError::UnknownScheme(catalog.scheme.clone()))?;
        if scheme.servers != usize::from(config.servers) {
            let given = config.servers;
            return Err(ClientError::ServerCount { id: catalog.scheme, servers: scheme.servers, given });
        }
        // The scheme checks security and failure bounds again: a signature says who made the parameters,
        // not that they are sound.
        let terms = catalog.terms(scheme)?;
        let has_proofs = catalog.rows_root.path.is_some() || scheme.is_downloadable();
        let is_verified = has_proofs || scheme.metadata.is_verified;
        if config.verified && !has_proofs || config.authenticated && !is_verified {
            return Err(ClientError::NoRowProofs(catalog.table));
        }
        if config.authenticated && !terms.report.abort_leakage(&scheme.metadata).is_authenticated() {
            return Err(ClientError::NotAuthenticated { table: catalog.table, scheme: catalog.scheme });
        }
        let params = catalog.params.to_string().into_bytes();
        Ok(VerifiedTable {
            catalog,
            key,
            ml_dsa,
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

impl VerifiedTable {
    /// The epoch from which on an earlier key of the table is no longer valid, if it was replaced
    /// by the current one.
    fn replaced(&self, before: PublicKey) -> Option<Epoch> {
        let all = SignedCatalog::parse(&self.signed).ok()?.successions;
        let path = path(&all, &self.catalog.table, before, self.key).ok()??;
        path.first().map(|succession| succession.from_epoch)
    }
}

/// Fetches the catalog of every server, and returns the verified table once all show the same: that
/// of epoch `at`, or the newest that each of them has; or the epoch before, if that has the anchor
/// that the caller requires and the newest does not.
///
/// # Errors
/// As [`VerifiedTable::new`]; [`ClientError::NoCommonEpoch`], [`ClientError::CatalogsDiffer`].
pub(super) fn agree(config: &SetupConfig, at: Option<Epoch>, io: &mut dyn SetupIo) -> Result<VerifiedTable> {
    let table = agree_at(config, at, io)?;
    let is_right = |table: &VerifiedTable| config.anchor == table.catalog.anchor;
    if config.anchor.is_none() || at.is_some() || is_right(&table) || table.catalog.epoch.0 <= 1 {
        return Ok(table);
    }
    match agree_at(config, Some(Epoch(table.catalog.epoch.0 - 1)), io) {
        Ok(before) if is_right(&before) => Ok(before),
        // The refusal names the newest anchor.
        Ok(_) | Err(ClientError::EpochChanged { .. } | ClientError::NoCommonEpoch { .. }) => Ok(table),
        Err(error) => Err(error),
    }
}

/// As [`agree`], for any anchor.
fn agree_at(config: &SetupConfig, at: Option<Epoch>, io: &mut dyn SetupIo) -> Result<VerifiedTable> {
    let request = CatalogRequest { config, at };
    let first = request.send(0, at, None, io)?;
    let mut others = Vec::new();
    for server in 1..config.servers {
        others.push((server, request.send(server, at, Some(&first), io)?));
    }
    let epochs = others.iter().map(|(_, table)| table.catalog.epoch);
    let common = epochs.fold(first.catalog.epoch, Epoch::min);
    // A server that is far ahead still shows the catalog to clients that apply rows deltas, but does
    // not answer queries for its epoch.
    let answers = |server, newest: Epoch| match at.is_none() && newest.0 - common.0 >= ANSWERED {
        true => Err(ClientError::NoCommonEpoch { server, epoch: common }),
        false => Ok(()),
    };
    let mut agreed = first;
    if agreed.catalog.epoch != common {
        answers(0, agreed.catalog.epoch)?;
        agreed = request.send(0, Some(common), None, io)?;
    }
    for (server, table) in &mut others {
        if table.catalog.epoch != common {
            answers(*server, table.catalog.epoch)?;
            *table = request.send(*server, Some(common), Some(&agreed), io)?;
        }
    }
    match others.iter().find(|(_, other)| other.signed != agreed.signed) {
        Some((server, _)) => Err(ClientError::CatalogsDiffer { server: *server, epoch: common }),
        None => Ok(agreed),
    }
}

/// Requests for the catalog of a table.
struct CatalogRequest<'a> {
    config: &'a SetupConfig,
    /// Epoch to agree on; `None` for the newest.
    at: Option<Epoch>,
}

impl CatalogRequest<'_> {
    /// Fetches the catalog of one server: of an epoch, or its newest. `first` is the first server's,
    /// for every further one.
    fn send(
        &self,
        server: u8,
        epoch: Option<Epoch>,
        first: Option<&VerifiedTable>,
        io: &mut dyn SetupIo,
    ) -> Result<VerifiedTable> {
        let config = self.config;
        let path = routes::table(config.table.as_str(), epoch);
        let request = Request::get(path, MAX_SIGNED_BYTES as u64);
        let read = |response: &Response| {
            let read = self.read(server, epoch, first, response);
            read.map_err(|error| error.of_server(server, config.servers))
        };
        let response = io.call(server, RequestPurpose::Catalog, &request)?;
        match read(&response) {
            Err(error) if is_damage(&error, &response) => {}
            outcome => return outcome.map_err(|e| io.with_evidence(e, &config.table, &response.body)),
        }
        // The signer did not sign these bytes. The catalog is the same for everyone, so a second
        // request reveals nothing.
        let again = io.call(server, RequestPurpose::Catalog, &request)?;
        match read(&again) {
            Ok(table) => {
                io.repaired("the table's catalog");
                Ok(table)
            }
            Err(error) if is_damage(&error, &again) && again.body != response.body => {
                Err(ClientError::CatalogDamaged(error.to_string()))
            }
            Err(error) => Err(error),
        }
    }

    fn read(
        &self,
        server: u8,
        epoch: Option<Epoch>,
        first: Option<&VerifiedTable>,
        response: &Response,
    ) -> Result<VerifiedTable> {
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
        let table = VerifiedTable::new(signed, self.config, first.map(|first| first.key), self.at);
        // A server that has not reached the epoch in which the key changed.
        if let (Err(ClientError::Catalog(CatalogError::WrongKey { found, .. })), Some(first)) =
            (&table, first)
            && let Some(until_epoch) = first.replaced(*found)
        {
            let (key, by) = (*found, first.key);
            let epoch = SignedCatalog::parse(signed)?.verify(None)?.epoch;
            return Err(match epoch < until_epoch {
                true => ClientError::NoCommonEpoch { server, epoch: first.catalog.epoch },
                false => ClientError::RetiredKey { key: Box::new(key), by, until_epoch, epoch },
            });
        }
        let table = table?;
        match epoch {
            Some(epoch) if epoch != table.catalog.epoch => Err(not_common(epoch)),
            _ => Ok(table),
        }
    }
}

/// Whether a catalog was refused that nobody has signed as it is: then it may arrive undamaged
/// another time.
fn is_damage(error: &ClientError, response: &Response) -> bool {
    let signed = || SignedCatalog::parse(&response.body).and_then(|signed| signed.verify(None));
    matches!(error.root(), ClientError::Catalog(_)) && signed().is_err()
}
