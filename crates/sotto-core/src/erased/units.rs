//! Clients that read records piece by piece.

use super::client::Ready;
use super::{Ticket, checked};
use crate::{Misuse, PendingOf, Record, Result, Streamed, Units, Wire};

/// Reads a record piece by piece.
pub trait AnyUnits {
    /// Reads the encoded answer about one unit of the record the ticket's query asked for. The ticket can be used
    /// for every unit; dropping it wipes the secret.
    ///
    /// # Errors
    /// As [`Streamed::open_unit`]; [`crate::Error::Peer`] for bytes that are no answer;
    /// [`Misuse::IndexPastEnd`]; [`Misuse::Foreign`].
    fn open_unit(&mut self, ticket: &Ticket, unit: u64, answer: &[u8]) -> Result<Record>;
}

pub(super) fn of<S: Streamed>(params: &[u8]) -> Result<Units> {
    Ok(units::<S>(&checked::<S>(params)?))
}

pub(super) fn units<S: Streamed>(params: &S::Params) -> Units {
    Units {
        count: S::units(params),
        bytes: S::unit_bytes(params) as u64,
        answer_bytes: S::UnitAnswer::size(params) as u64,
    }
}

pub(super) fn view<S: Streamed>(ready: &mut Ready<S>) -> &mut dyn AnyUnits {
    ready
}

/// Refuses a unit that is not there.
pub(super) fn within<S: Streamed>(params: &S::Params, unit: u64) -> Result<()> {
    let len = S::units(params);
    if unit < len { Ok(()) } else { Err(Misuse::IndexPastEnd { index: unit, len }.into()) }
}

impl<S: Streamed> AnyUnits for Ready<S> {
    fn open_unit(&mut self, ticket: &Ticket, unit: u64, answer: &[u8]) -> Result<Record> {
        let Ready { params, client } = self;
        within::<S>(params, unit)?;
        let pending = ticket.0.downcast_ref::<PendingOf<S>>().ok_or(Misuse::Foreign("ticket"))?;
        S::open_unit(client, pending, unit, S::UnitAnswer::take(params, answer)?)
    }
}
