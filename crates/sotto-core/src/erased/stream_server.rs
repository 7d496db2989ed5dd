//! Servers that answer piece by piece.

use super::server::ErasedServer;
use super::{AnySession, stream_client};
use crate::{Misuse, Result, StreamServer, UnitLayout, Wire};
use std::any::Any;

/// A query, expanded once for all units of its record.
pub struct AnyExpandedQuery(Box<dyn Any + Send + Sync>);

/// Answers piece by piece.
pub trait AnyStreamServer: Send + Sync {
    /// What a record consists of.
    fn units(&self) -> UnitLayout;
    /// Decodes a query, and does what all units have in common.
    ///
    /// # Errors
    /// As [`StreamServer::prepare`]; [`crate::Error::Peer`] for bytes that are no query; [`Misuse::ForeignValue`].
    fn prepare(&self, session: &AnySession, query: &[u8]) -> Result<AnyExpandedQuery>;
    /// The encoded answer about one unit.
    ///
    /// # Errors
    /// As [`StreamServer::unit`]; [`Misuse::IndexPastEnd`]; [`Misuse::ForeignValue`].
    fn unit(&self, prepared: &AnyExpandedQuery, unit: u64) -> Result<Vec<u8>>;
}

pub(super) fn view<S: StreamServer>(open: &ErasedServer<S>) -> &dyn AnyStreamServer {
    open
}

impl<S: StreamServer> AnyStreamServer for ErasedServer<S> {
    fn units(&self) -> UnitLayout {
        stream_client::units::<S>(&self.params)
    }

    fn prepare(&self, session: &AnySession, query: &[u8]) -> Result<AnyExpandedQuery> {
        let (session, query) = self.decode(session, query)?;
        Ok(AnyExpandedQuery(Box::new(S::prepare(&self.server, session, query)?)))
    }

    fn unit(&self, prepared: &AnyExpandedQuery, unit: u64) -> Result<Vec<u8>> {
        let params = &self.params;
        stream_client::within::<S>(params, unit)?;
        let prepared =
            prepared.0.downcast_ref::<S::Prepared>().ok_or(Misuse::ForeignValue("prepared query"))?;
        let mut out = Vec::with_capacity(S::UnitAnswer::size(params));
        S::unit(&self.server, prepared, unit)?.put(params, &mut out);
        Ok(out)
    }
}
