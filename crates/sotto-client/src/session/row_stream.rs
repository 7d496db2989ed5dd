//! A record of many megabytes, unit by unit: one query, whose answer is read while it arrives.
//!
//! Nothing here holds more than one unit. The bytes passed on are those of the requested row; the
//! rest of the record is dropped here.

use super::accepted;
use super::query_request::Session;
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::rows_root::LeafHasher;
use sotto_core::{AnyPending, CryptoRng, Error, ExpectOrDefault, Misuse, PeerMisbehaved, UnitLayout};
use sotto_wire::{FrameHeader, SessionId, routes, stream};
use std::fmt;
use zeroize::Zeroizing;

/// A row that is being streamed. It is not `Clone`: its query is sent, perhaps several times with
/// the same bytes. Dropping it wipes the secret.
pub struct StreamRequest {
    request: Request,
    query: Vec<u8>,
    pin: FrameHeader,
    units: UnitLayout,
    row_bytes: u64,
    secret: AnyPending,
    /// Number of complete units, and the bytes so far of what arrives next: the head of the
    /// response, then units.
    received: u64,
    head_seen: bool,
    partial: Vec<u8>,
    /// Proof of the row, in a table whose rows are verified.
    proof: Option<StreamProof>,
    /// The error for a row that does not exist, or for a unit that could not be read; reported with
    /// the last unit.
    failed: Option<Error>,
}

/// The proof of a row that is being streamed. The bytes passed on are verified once all of them
/// have arrived, not before.
struct StreamProof {
    row: Zeroizing<u64>,
    leaf: LeafHasher,
    path: Vec<u8>,
}

impl StreamRequest {
    /// The request to send. A retry sends the same bytes, or those of [`Session::resume`].
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Number of units that were read.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The units of a record.
    pub fn units(&self) -> UnitLayout {
        self.units
    }

    /// Bytes of the row that were passed on.
    pub fn done_bytes(&self) -> u64 {
        self.received.saturating_mul(self.units.bytes).min(self.row_bytes)
    }

    /// Bytes of the row.
    pub fn row_bytes(&self) -> u64 {
        self.row_bytes
    }

    /// Whether all units were read.
    pub fn is_done(&self) -> bool {
        self.received == self.units.count
    }

    /// Size in bytes of what arrives next: the head of the response, then a unit; `None` at the end.
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
    /// The units of a row that is streamed.
    ///
    /// # Errors
    /// [`ClientError::CannotStream`] for a scheme without units, and for rows that share a record
    /// or span several.
    pub fn stream_units(&self) -> Result<UnitLayout> {
        let cannot = |why| Err(ClientError::CannotStream(why));
        if self.servers() > 1 {
            return cannot("the scheme has several servers, whose answers are read together");
        }
        let Some(units) = self.scheme().units else {
            return cannot("the scheme answers whole records only");
        };
        if self.masked()?.is_some() {
            return cannot("the table is symmetric, and a row is unmasked as a whole");
        }
        if self.packing().rows_per_record() > 1 {
            return cannot("several rows share a record, which is answered whole");
        }
        if self.packing().records_per_row() > 1 {
            return cannot("a row spans several records, each with its own query");
        }
        Ok(units(&self.table.params)?)
    }

    /// Makes a query for a row that is read while it arrives. The request has one size, and asks
    /// for every unit, whichever row it is; even for a row past the end, whose error is reported
    /// once all units have arrived.
    ///
    /// # Errors
    /// As for [`Session::stream_units`] and [`Session::query`]. Nothing was sent then.
    pub fn stream(&mut self, row: u64, rng: &mut dyn CryptoRng) -> Result<StreamRequest> {
        let units = self.stream_units()?;
        let records = self.packing().records_of(row);
        let [record] = records.as_slice() else {
            return Err(Error::from(Misuse::Rule("a streamed row spans several records")).into());
        };
        let (mut queries, secret) = self.client.query(*record, rng)?;
        let query = queries
            .pop()
            .ok_or(Error::from(Misuse::Rule("a streaming scheme made queries for several servers")))?;
        let pin = self.table.pin(0);
        let row_bytes = self.packing().row_bytes();
        let request = self.stream_request(&query, 0, &units);
        Ok(StreamRequest {
            request,
            query,
            pin,
            units,
            row_bytes,
            secret,
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

    /// Makes an interrupted stream request the units that are missing: with the same query, bit for
    /// bit, under the session's current id.
    ///
    /// # Errors
    /// [`Misuse::ForeignValue`] for a stream of another epoch, whose units are not of this epoch's
    /// rows.
    pub fn resume(&self, streaming: &mut StreamRequest) -> Result<()> {
        if streaming.pin != self.table.pin(0) {
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
        let head = stream::StreamHead { pin: self.table.pin(0), session, first, units: left };
        let path = routes::stream(self.catalog().table.as_str());
        Request::post(path, stream::encode(&head, query), head.answer_bytes(units))
    }

    /// Takes the next bytes of a successful response, however many, and passes on what is complete
    /// of the row.
    ///
    /// Only the caller may know that an answer cannot be read ([`Error::Unreadable`]). To close the
    /// connection at that moment would reveal the unit to the server; so the rest is read like any
    /// other, passed on no more, and the error is reported with the last unit. Of a row that does
    /// not exist, nothing is passed on.
    ///
    /// # Errors
    /// [`ClientError::Frame`] and [`Error::Peer`] for bytes that are no answer;
    /// [`Error::Unreadable`]; [`Misuse::IndexPastEnd`]; the error of `out`.
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
        match reader.recover_unit(&streaming.secret, streaming.received, &streaming.partial) {
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
                        (self.table.terms.packing, streaming.received * streaming.units.bytes);
                    let before =
                        usize::try_from(packing.path_offset().saturating_sub(at)).unwrap_or(usize::MAX);
                    let path = packing.path_bytes() as usize - proof.path.len();
                    proof.path.extend(unit.bytes().iter().skip(before).take(path));
                }
                if streaming.failed.is_none() {
                    // Padding after the row is not passed on; a unit of padding alone still counts.
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

    /// The error that a response to a stream request stands for, if it is a refusal.
    ///
    /// # Errors
    /// [`ClientError::EpochChanged`] if the table has moved on; [`ClientError::Refused`].
    pub fn check_stream(&self, response: &Response) -> Result<()> {
        accepted(response, Some(self.epoch())).map(drop)
    }
}

/// Shows nothing of the requested row.
impl fmt::Debug for StreamRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "StreamRequest({} of {} units of epoch {})",
            self.received, self.units.count, self.pin.epoch
        )
    }
}
