//! Servers that answer piece by piece.

use super::server::Open;
use super::{AnySession, units};
use crate::{Misuse, Result, Stream, Units, Wire};
use std::any::Any;

/// A query, expanded once for all units of its record.
pub struct AnyPrepared(Box<dyn Any + Send + Sync>);

/// Answers piece by piece.
pub trait AnyStream: Send + Sync {
    /// What a record consists of.
    fn units(&self) -> Units;
    /// Decodes a query, and does what all units have in common.
    ///
    /// # Errors
    /// As [`Stream::prepare`]; [`crate::Error::Peer`] for bytes that are no query; [`Misuse::Foreign`].
    fn prepare(&self, session: &AnySession, query: &[u8]) -> Result<AnyPrepared>;
    /// The encoded answer about one unit.
    ///
    /// # Errors
    /// As [`Stream::unit`]; [`Misuse::IndexPastEnd`]; [`Misuse::Foreign`].
    fn unit(&self, prepared: &AnyPrepared, unit: u64) -> Result<Vec<u8>>;
}

pub(super) fn view<S: Stream>(open: &Open<S>) -> &dyn AnyStream {
    open
}

impl<S: Stream> AnyStream for Open<S> {
    fn units(&self) -> Units {
        units::units::<S>(&self.params)
    }

    fn prepare(&self, session: &AnySession, query: &[u8]) -> Result<AnyPrepared> {
        let (session, query) = self.decode(session, query)?;
        Ok(AnyPrepared(Box::new(S::prepare(&self.server, session, query)?)))
    }

    fn unit(&self, prepared: &AnyPrepared, unit: u64) -> Result<Vec<u8>> {
        let params = &self.params;
        units::within::<S>(params, unit)?;
        let prepared = prepared.0.downcast_ref::<S::Prepared>().ok_or(Misuse::Foreign("prepared query"))?;
        let mut out = Vec::with_capacity(S::UnitAnswer::size(params));
        S::unit(&self.server, prepared, unit)?.put(params, &mut out);
        Ok(out)
    }
}
