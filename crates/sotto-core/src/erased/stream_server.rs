//! Erased servers that answer unit by unit.

use super::server::ErasedServer;
use super::{AnySession, stream_client};
use crate::{Misuse, Result, StreamServer, UnitLayout, Wire};
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
