//! Queries of a client whose state must be on disk before anything is sent.
//!
//! ```text
//! draft = session.draft_query(rows)        queries are made, and cannot be sent yet
//! committed = state.commit(draft)          they are on disk
//! responses = send(session.requests(committed))
//! recovered = session.read(committed, responses)
//! state.settle(committed, recovered)       what was learned is on disk, and the rows may be returned
//! ```
//!
//! A request that was logged and not settled, for whatever reason, is sent again before any other:
//! with the same queries, in a frame of the current epoch. Nobody waits for its rows any more.

use super::config::SetupConfig;
use super::delta_chain::{DeltaChain, StateVersion};
use super::logged_request::{JournalEntry, LoggedRequest};
use super::query_request::{QueryTargets, Session};
use super::setup_io::SetupIo;
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::Hex32;
use sotto_core::{AnyClient, AnyState, Budget, CryptoRng, Epoch, Error, ExpectOrDefault, Misuse};
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::Zeroizing;

/// Checks whether a row is what its publisher wrote, by data in the row itself.
pub(crate) type RowCheck = Arc<Mutex<dyn FnMut(u64, &[u8]) -> bool + Send>>;

/// What the responses to a logged request gave.
pub(crate) struct RecoveredRequest {
    /// What changed in the client, to be made durable before anything else.
    pub(crate) journal: Zeroizing<Vec<u8>>,
    /// Whether every answer was read, so that the request need not be sent again.
    pub(crate) whole: bool,
    /// The rows, if a caller still waits for them.
    pub(crate) rows: Result<Vec<Vec<u8>>>,
}

impl Session {
    /// The client of this session.
    pub(crate) fn client(&mut self) -> &mut dyn AnyClient {
        self.client.as_mut()
    }

    /// Discards the client, whose state is no longer on any disk.
    pub(crate) fn discard(&mut self) {
        self.discarded = true;
    }

    /// What has changed in the client since the last call.
    pub(crate) fn journal(&mut self) -> Result<Zeroizing<Vec<u8>>> {
        Ok(self.state()?.journal())
    }

    fn state(&mut self) -> Result<&mut dyn AnyState> {
        let rule = Misuse::Rule("the client has no durable state");
        Ok(self.client.state().ok_or(Error::from(rule))?)
    }

    /// The delta chain from a client's version of the rows to this session's epoch.
    ///
    /// # Errors
    /// [`ClientError::NoDeltaChain`].
    pub(crate) fn delta_chain_from(
        &self,
        config: &SetupConfig,
        epoch: Epoch,
        rows: Hex32,
        io: &mut dyn SetupIo,
    ) -> Result<DeltaChain> {
        let (params, key) = (self.table.pin(0).digest, self.public_key());
        let version = StateVersion { epoch, params, rows, key };
        DeltaChain::fetch(config.clone(), version, self.table.clone(), io)
    }

    /// Makes queries for rows, and returns what has to be on disk before they may be sent.
    ///
    /// # Errors
    /// As for [`Session::query`]. No query was made then, unless sampling failed.
    pub(crate) fn draft_query(&mut self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<JournalEntry> {
        let needed = (rows.len() * self.packing().records_per_row()) as u64;
        if let left @ Budget::Left(n) = self.client.budget()
            && n < needed
        {
            return Err(Error::Exhausted(left).into());
        }
        let (queries, secrets) = self.queries(1, &QueryTargets::rows(rows), rng)?;
        let state = self.state()?;
        let numbers =
            secrets.iter().map(|secret| state.query_number(secret)).collect::<sotto_core::Result<_>>()?;
        let queries = queries.into_iter().map(|each| each.concat()).collect();
        Ok(JournalEntry { journal: state.journal(), logged: LoggedRequest { numbers, queries } })
    }

    /// The requests to send for a logged request, to each server in turn: always the same bytes in
    /// one epoch.
    ///
    /// # Errors
    /// [`Misuse::ForeignValue`] for a request of another scheme.
    pub(crate) fn requests(&self, logged: &LoggedRequest) -> Result<Vec<Request>> {
        let foreign = || ClientError::from(Error::from(Misuse::ForeignValue("recorded request")));
        let size = usize::try_from(self.sizes().query_bytes).unwrap_or(usize::MAX).max(1);
        let split = |queries: &Vec<u8>| {
            let each: Vec<_> = queries.chunks(size).map(<[u8]>::to_vec).collect();
            let fits = each.len() == logged.numbers.len() && each.iter().all(|query| query.len() == size);
            fits.then_some(each)
        };
        let queries: Option<Vec<_>> = logged.queries.iter().map(split).collect();
        let queries = queries.filter(|queries| queries.len() == self.ids.len()).ok_or_else(foreign)?;
        self.frames(&queries)
    }

    /// Reads the responses to a logged request. `rows` are the requested rows, if a caller still
    /// waits for them; then `check` is called for each, and what the client learned from an invalid
    /// row is discarded. With a check, rows that cannot be checked teach the client nothing.
    ///
    /// # Errors
    /// As for [`Session::recover`]. Nothing has been read then, and the request stays logged.
    pub(crate) fn read(
        &mut self,
        logged: &LoggedRequest,
        responses: &[Response],
        rows: Option<&[u64]>,
        check: Option<&RowCheck>,
    ) -> Result<RecoveredRequest> {
        let foreign = |_| Error::from(Misuse::ForeignValue("recorded request"));
        let count = u16::try_from(logged.numbers.len()).map_err(foreign)?;
        let by_server = self.answers(count, responses)?;
        let mut answers = vec![Vec::with_capacity(by_server.len()); logged.numbers.len()];
        for each in by_server {
            answers
                .iter_mut()
                .zip(each)
                .for_each(|(answers, answer): (&mut Vec<Vec<u8>>, &[u8])| answers.push(answer.to_vec()));
        }
        let lookups = self.packing().records_per_row();
        let mut values = Vec::with_capacity(rows.map_or(0, <[u64]>::len));
        let (mut whole, mut failed) = (true, None);
        'rows: for (i, numbers) in logged.numbers.chunks(lookups).enumerate() {
            let mut records = Vec::with_capacity(lookups);
            for (&number, answers) in numbers
                .iter()
                .zip(answers.chunks(lookups).nth(i).expect_or_default("each number has answers"))
            {
                // An earlier reading of the same responses has closed this query already.
                let Ok(secret) = self.state()?.reopen_query(number) else { continue };
                match self.client.recover(secret, answers) {
                    Ok(read) => records.push(read),
                    Err(Error::Unreadable) => failed = Some(Error::Unreadable.into()),
                    Err(error) => {
                        // The server's bytes are no answer. It will be asked for another one.
                        whole = false;
                        failed = Some(ClientError::from(error));
                        break 'rows;
                    }
                }
            }
            // Empty for a row that no caller waits for, or that could not be read.
            let row = rows.and_then(|rows| rows.get(i)).filter(|_| records.len() == lookups);
            let value = row
                .map(|&row| Ok::<_, ClientError>((row, self.packing().extract(row, &records)?)))
                .transpose();
            let proved = row.map_or(Ok(true), |&row| self.is_proved(row, &records))?;
            let checked = match (&value, check) {
                (Ok(Some((row, value))), Some(check)) => {
                    (check.lock().unwrap_or_else(PoisonError::into_inner))(*row, value)
                }
                (_, Some(_)) => false,
                (_, None) => true,
            };
            if !(checked && proved) {
                let state = self.state()?;
                numbers.iter().rev().for_each(|&number| state.reject(number));
                let why = || if proved { Error::Unreadable.into() } else { self.row_proof_error() };
                failed = row.map(|_| why()).or(failed);
            }
            match value {
                Ok(value) => values.extend(value.map(|(_, value)| value)),
                Err(error) => failed = Some(error),
            }
        }
        let rows = failed.map_or(Ok(values), Err);
        Ok(RecoveredRequest { journal: self.state()?.journal(), whole, rows })
    }
}
