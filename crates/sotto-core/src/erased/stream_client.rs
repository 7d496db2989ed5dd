//! Erased clients that read records unit by unit.

use super::client::ErasedClient;
use super::{AnyPending, checked};
use crate::{Misuse, PendingOf, Record, Result, StreamScheme, UnitLayout, Wire};

/// Reads a record unit by unit. See [`StreamScheme`].
pub trait AnyStreamClient {
    /// Reads the encoded answer for one unit of the record that the query of `ticket` asked for.
    /// The ticket can be used for every unit; dropping it wipes the secret.
    ///
    /// # Errors
    /// The errors of [`StreamScheme::recover_unit`]; [`crate::Error::Peer`] for bytes that are not
    /// an answer; [`Misuse::IndexPastEnd`]; [`Misuse::ForeignValue`].
    fn open_unit(&mut self, ticket: &AnyPending, unit: u64, answer: &[u8]) -> Result<Record>;
}

pub(super) fn of<S: StreamScheme>(params: &[u8]) -> Result<UnitLayout> {
    Ok(units::<S>(&checked::<S>(params)?))
}

pub(super) fn units<S: StreamScheme>(params: &S::Params) -> UnitLayout {
    UnitLayout {
        count: S::units(params),
        bytes: S::unit_bytes(params) as u64,
        answer_bytes: S::UnitAnswer::size(params) as u64,
    }
}

pub(super) fn view<S: StreamScheme>(ready: &mut ErasedClient<S>) -> &mut dyn AnyStreamClient {
    ready
}

/// Refuses a unit past the end of the record.
pub(super) fn within<S: StreamScheme>(params: &S::Params, unit: u64) -> Result<()> {
    let len = S::units(params);
    if unit < len { Ok(()) } else { Err(Misuse::IndexPastEnd { index: unit, len }.into()) }
}

impl<S: StreamScheme> AnyStreamClient for ErasedClient<S> {
    fn open_unit(&mut self, ticket: &AnyPending, unit: u64, answer: &[u8]) -> Result<Record> {
        let ErasedClient { params, client } = self;
        within::<S>(params, unit)?;
        let pending = ticket.0.downcast_ref::<PendingOf<S>>().ok_or(Misuse::ForeignValue("ticket"))?;
        S::recover_unit(client, pending, unit, S::UnitAnswer::take(params, answer)?)
    }
}
