//! What erased servers offer besides answers for one record: answers unit by unit; and the whitening
//! of tables, on the literal's bytes.

use super::client_extensions::{check_unit, units};
use super::server::ErasedServer;
use super::{AnySession, canonical, checked, literal};
use crate::{Misuse, Result, StreamServer, UnitLayout, WhiteningScheme, Wire, WriteSlot};
use std::any::Any;

/// A query, expanded once for all units of its record.
pub struct AnyExpandedQuery(Box<dyn Any + Send + Sync>);

/// Answers queries unit by unit. See [`StreamServer`].
pub trait AnyStreamServer: Send + Sync {
    /// The units that a record consists of.
    fn units(&self) -> UnitLayout;
    /// Decodes a query, and does the work that all units have in common.
    ///
    /// # Errors
    /// The errors of [`StreamServer::prepare`]; [`crate::Error::Peer`] for bytes that are not a
    /// query; [`Misuse::ForeignValue`].
    fn prepare(&self, session: &AnySession, query: &[u8]) -> Result<AnyExpandedQuery>;
    /// Makes the encoded answer for one unit.
    ///
    /// # Errors
    /// The errors of [`StreamServer::unit`]; [`Misuse::IndexPastEnd`]; [`Misuse::ForeignValue`].
    fn unit(&self, prepared: &AnyExpandedQuery, unit: u64) -> Result<Vec<u8>>;
}

pub(super) fn stream_view<S: StreamServer>(open: &ErasedServer<S>) -> &dyn AnyStreamServer {
    open
}

impl<S: StreamServer> AnyStreamServer for ErasedServer<S> {
    fn units(&self) -> UnitLayout {
        units::<S>(&self.params)
    }

    fn prepare(&self, session: &AnySession, query: &[u8]) -> Result<AnyExpandedQuery> {
        let (session, query) = self.decode(session, query)?;
        Ok(AnyExpandedQuery(Box::new(S::prepare(&self.server, session, query)?)))
    }

    fn unit(&self, prepared: &AnyExpandedQuery, unit: u64) -> Result<Vec<u8>> {
        let params = &self.params;
        check_unit::<S>(params, unit)?;
        let prepared =
            prepared.0.downcast_ref::<S::Prepared>().ok_or(Misuse::ForeignValue("prepared query"))?;
        let mut out = Vec::with_capacity(S::UnitAnswer::size(params));
        S::unit(&self.server, prepared, unit)?.put(params, &mut out);
        Ok(out)
    }
}

/// The whitening functions of a scheme. Their `params` are those of a [`super::SchemeEntry`].
#[derive(Clone, Copy)]
pub struct WhiteningEntry {
    /// See [`WhiteningScheme::with_whitening_seed`]; gives canonical JSON.
    pub with_seed: fn(&[u8], [u8; 32]) -> Result<Vec<u8>>,
    /// See [`WhiteningScheme::write_slot`], for many records.
    pub places: fn(&[u8], &[u64]) -> Result<Vec<WriteSlot>>,
    /// See [`WhiteningScheme::max_writes`].
    pub max_writes: fn(&[u8]) -> Result<u64>,
}

impl WhiteningEntry {
    pub(super) const fn of<S: WhiteningScheme>() -> Self {
        WhiteningEntry {
            with_seed: |params, seed| canonical::<S>(&S::with_whitening_seed(literal::<S>(params)?, seed)),
            places: |params, records| {
                let params = checked::<S>(params)?;
                Ok(records.iter().map(|record| S::write_slot(&params, *record)).collect())
            },
            max_writes: |params| Ok(S::max_writes(&checked::<S>(params)?)),
        }
    }
}
