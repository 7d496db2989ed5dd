//! A record of many megabytes, unit by unit: one query, and its answer read while it comes.
//!
//! Nothing here holds more than one unit. Bytes that are handed on are those of the row asked for; what the
//! record has beyond them is dropped here.

use super::accepted;
use super::query_request::Session;
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::rows_root::LeafHasher;
use sotto_core::{AnyPending, CryptoRng, Error, ExpectOrDefault, Misuse, PeerMisbehaved, UnitLayout};
use sotto_wire::{FrameHeader, SessionId, routes, stream};
use std::fmt;
use zeroize::Zeroizing;

/// A row on its way. Not `Clone`: its query is sent, perhaps several times with the same bytes. Dropping it
/// wipes the secret.
pub struct StreamRequest {
    request: Request,
    query: Vec<u8>,
    pin: FrameHeader,
    units: UnitLayout,
    row_bytes: u64,
    ticket: AnyPending,
    /// Units that are there, and the bytes of the next thing to come: the response's head, then a unit.
    received: u64,
    head_seen: bool,
    partial: Vec<u8>,
    /// What proves the row, in a table whose rows are verified.
    proof: Option<StreamProof>,
    /// Why there is no such row, or that some unit could not be read: said with the last unit.
    failed: Option<Error>,
}

/// What comes of a row's proof while it streams. What was handed on is verified once all of it is there, and not before.
struct StreamProof {
    row: Zeroizing<u64>,
    leaf: LeafHasher,
    path: Vec<u8>,
}

impl StreamRequest {
    /// What to send. To try again is to send these bytes again, or those of [`Session::resume`].
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Units that were read.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// What a record consists of.
    pub fn units(&self) -> UnitLayout {
        self.units
    }

    /// Bytes of the row that were handed on.
    pub fn done_bytes(&self) -> u64 {
        self.received.saturating_mul(self.units.bytes).min(self.row_bytes)
    }

    /// Bytes of the row.
    pub fn row_bytes(&self) -> u64 {
        self.row_bytes
    }

    /// Whether all is there.
    pub fn is_done(&self) -> bool {
        self.received == self.units.count
    }

    /// Bytes of the next thing to come.
    fn due(&self) -> Option<usize> {
        let bytes = match (self.head_seen, self.is_done()) {
            (false, _) => return Some(stream::ANSWER_HEAD_BYTES),
            (true, true) => return None,
            (true, false) => self.units.answer_bytes,
        };
        usize::try_from(bytes).ok()
    }
}

impl Session {
    /// What a row consists of when it is streamed.
    ///
    /// # Errors
    /// [`ClientError::CannotStream`] for a scheme without units, and for rows that are not records of their own.
    pub fn stream_units(&self) -> Result<UnitLayout> {
        let cannot = |why| Err(ClientError::CannotStream { why });
        if self.servers() > 1 {
            return cannot("its scheme asks several servers, and reads their answers together");
        }
        let Some(units) = self.scheme().units else {
            return cannot("its scheme answers whole records only");
        };
        if self.masked()?.is_some() {
            return cannot("it is symmetric, and a row is unmasked whole");
        }
        if self.packing().rows_per_record() > 1 {
            return cannot("its rows are narrow: several of them share a record, which comes whole");
        }
        if self.packing().records_per_row() > 1 {
            return cannot("its rows are split over several records, each with a query of its own");
        }
        Ok(units(&self.agreed.params)?)
    }

    /// Asks for a row, to be read while it comes. The request has one size, and asks for every unit, whichever row
    /// it is; also for a row past the end, which is an error once all units are there.
    ///
    /// # Errors
    /// As [`Session::stream_units`] and [`Session::ask`]. Nothing was sent then.
    pub fn stream(&mut self, row: u64, rng: &mut dyn CryptoRng) -> Result<StreamRequest> {
        let units = self.stream_units()?;
        let records = self.packing().records_of(row);
        let [record] = records.as_slice() else {
            return Err(Error::from(Misuse::Rule("a row that is streamed is one record")).into());
        };
        let (mut queries, ticket) = self.client.query(*record, rng)?;
        let query =
            queries.pop().ok_or(Error::from(Misuse::Rule("a scheme that streams asks one server")))?;
        let pin = self.agreed.pin(0);
        let row_bytes = self.packing().row_bytes();
        let request = self.stream_request(&query, 0, &units);
        Ok(StreamRequest {
            request,
            query,
            pin,
            units,
            row_bytes,
            ticket,
            received: 0,
            head_seen: false,
            partial: Vec::new(),
            proof: self.is_verified().then(|| StreamProof {
                row: Zeroizing::new(row),
                leaf: LeafHasher::default(),
                path: Vec::new(),
            }),
            failed: self.packing().check(row).err(),
        })
    }

    /// Makes a stream that broke off ask for what has not come: the same query, bit for bit, under the session's
    /// present id.
    ///
    /// # Errors
    /// [`Misuse::ForeignValue`] for a stream of another epoch: its units are not of this one's rows.
    pub fn resume(&self, streaming: &mut StreamRequest) -> Result<()> {
        if streaming.pin != self.agreed.pin(0) {
            return Err(Error::from(Misuse::ForeignValue("stream")).into());
        }
        streaming.request = self.stream_request(&streaming.query, streaming.received, &streaming.units);
        streaming.head_seen = false;
        streaming.partial.clear();
        Ok(())
    }

    fn stream_request(&self, query: &[u8], first: u64, units: &UnitLayout) -> Request {
        let left = units.count.saturating_sub(first);
        let session = self.ids.first().copied().unwrap_or(SessionId::NONE);
        let head = stream::StreamHead { pin: self.agreed.pin(0), session, first, units: left };
        let path = routes::stream(self.catalog().table.as_str());
        Request::post(path, stream::encode(&head, query), head.answer_bytes(units))
    }

    /// Takes the next bytes of a successful response, however many, and hands on what of the row is complete.
    ///
    /// An answer that cannot be read ([`Error::Unreadable`]) is the caller's to know and nobody else's. To hang up
    /// over it would tell the server which unit it was; so what follows is taken like any other, handed on no more,
    /// and the error comes with the last unit. Of a row that there is not, nothing is handed on at all.
    ///
    /// # Errors
    /// [`ClientError::Frame`] and [`Error::Peer`] for bytes that are no answer; [`Error::Unreadable`];
    /// [`Misuse::IndexPastEnd`]; what `out` gives.
    pub fn take(
        &mut self,
        streaming: &mut StreamRequest,
        mut bytes: &[u8],
        out: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        while !bytes.is_empty() {
            let Some(due) = streaming.due() else {
                let (got, want) = (streaming.request.limit + bytes.len() as u64, streaming.request.limit);
                return Err(Error::from(PeerMisbehaved::Length { what: "stream", got, want }).into());
            };
            let (next, rest) = bytes.split_at(bytes.len().min(due.saturating_sub(streaming.partial.len())));
            streaming.partial.extend_from_slice(next);
            bytes = rest;
            if streaming.partial.len() == due {
                self.take_whole(streaming, out)?;
                streaming.partial.clear();
            }
        }
        Ok(())
    }

    /// Takes the head of a response, or a unit.
    fn take_whole(
        &mut self,
        streaming: &mut StreamRequest,
        out: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if !streaming.head_seen {
            if let Ok(head) = streaming.partial.as_slice().try_into() {
                stream::check_answer_head(head, &streaming.pin)?;
            }
            streaming.head_seen = true;
            return Ok(());
        }
        let reader = self.client.units().ok_or(Error::from(Misuse::ForeignValue("stream")))?;
        match reader.open_unit(&streaming.ticket, streaming.received, &streaming.partial) {
            Err(Error::Unreadable) => drop(streaming.failed.get_or_insert(Error::Unreadable)),
            unit => {
                let unit = unit?;
                let left = streaming.row_bytes - streaming.done_bytes();
                let kept = unit.bytes().len().min(usize::try_from(left).unwrap_or(usize::MAX));
                if let Some(proof) = &mut streaming.proof {
                    proof.leaf.update(
                        unit.bytes().get(..kept).expect_or_default("it is no more than the unit has"),
                    );
                    let (packing, at) =
                        (self.agreed.terms.packing, streaming.received * streaming.units.bytes);
                    let before =
                        usize::try_from(packing.path_offset().saturating_sub(at)).unwrap_or(usize::MAX);
                    let path = packing.path_bytes() as usize - proof.path.len();
                    proof.path.extend(unit.bytes().iter().skip(before).take(path));
                }
                if streaming.failed.is_none() {
                    // Padding after the row is not handed on; a unit of nothing else still counts.
                    out(unit.bytes().get(..kept).expect_or_default("it is no more than the unit has"))?;
                }
            }
        }
        streaming.received += 1;
        let proof = streaming.proof.as_ref().filter(|_| streaming.is_done() && streaming.failed.is_none());
        if let Some(StreamProof { row, leaf, path }) = proof
            && !self.is_leaf_proved(**row, leaf.finish(), path)?
        {
            return Err(self.row_proof_error());
        }
        match streaming.is_done().then(|| streaming.failed.take()).flatten() {
            Some(failed) => Err(failed.into()),
            None => Ok(()),
        }
    }

    /// The error that a response to a stream's request stands for, if it is a refusal.
    ///
    /// # Errors
    /// [`ClientError::EpochChanged`] if the table has moved on; [`ClientError::Refused`].
    pub fn check_stream(&self, response: &Response) -> Result<()> {
        accepted(response, Some(self.epoch())).map(drop)
    }
}

/// Nothing that could tell what is asked.
impl fmt::Debug for StreamRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Streaming({} of {} units of epoch {})", self.received, self.units.count, self.pin.epoch)
    }
}
