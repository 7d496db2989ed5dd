//! Clients that read records piece by piece.

use super::client::{self, Ready};
use super::{AnyClient, AnyPrepare, Ticket, checked};
use crate::{Budget, Client, CryptoRng, Misuse, Record, RecordIndex, Result, Scheme, Streamed, Units, Wire};

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

pub(super) fn prepare<S: Streamed>(params: &[u8], rng: &mut dyn CryptoRng) -> Result<Box<dyn AnyPrepare>> {
    client::prepare_as::<S>(params, rng, |ready| Box::new(Streaming(ready)))
}

/// Refuses a unit that is not there.
pub(super) fn within<S: Streamed>(params: &S::Params, unit: u64) -> Result<()> {
    let len = S::units(params);
    if unit < len { Ok(()) } else { Err(Misuse::IndexPastEnd { index: unit, len }.into()) }
}

struct Streaming<S: Streamed>(Ready<S>);

impl<S: Streamed> AnyClient for Streaming<S> {
    fn keys(&self) -> Vec<u8> {
        self.0.keys()
    }
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(Vec<Vec<u8>>, Ticket)> {
        self.0.query(index, rng)
    }
    fn recover(&mut self, ticket: Ticket, answers: &[Vec<u8>]) -> Result<Record> {
        self.0.recover(ticket, answers)
    }
    fn budget(&self) -> Budget {
        self.0.budget()
    }
    fn units(&mut self) -> Option<&mut dyn AnyUnits> {
        Some(self)
    }
}

impl<S: Streamed> AnyUnits for Streaming<S> {
    fn open_unit(&mut self, ticket: &Ticket, unit: u64, answer: &[u8]) -> Result<Record> {
        let Ready { params, client } = &mut self.0;
        within::<S>(params, unit)?;
        let pending = ticket.0.downcast_ref::<PendingOf<S>>().ok_or(Misuse::Foreign("ticket"))?;
        S::open_unit(client, pending, unit, S::UnitAnswer::take(params, answer)?)
    }
}

type PendingOf<S> = <<S as Scheme>::Client as Client<S>>::Pending;
