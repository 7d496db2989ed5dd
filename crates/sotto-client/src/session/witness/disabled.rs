//! A build without witnesses (feature `witness`): a setup that requires some is refused, so that no
//! check ever begins.

use super::{LogMemory, WitnessError, Witnesses};
use crate::Result;
use crate::transport::{Request, Response};
use sotto_tlog::LogEntry;

/// A check that cannot exist.
pub(crate) enum LogCheck {}

impl LogCheck {
    /// # Errors
    /// [`WitnessError::NotBuilt`].
    pub(crate) fn new(_: LogEntry, _: &Witnesses, _: &LogMemory, _: Option<u64>) -> Result<Option<Self>> {
        Err(WitnessError::NotBuilt.into())
    }

    pub(crate) fn next(&self) -> Request {
        match *self {}
    }

    pub(crate) fn feed(&mut self, _: &Response) -> Result<bool> {
        match *self {}
    }
}
