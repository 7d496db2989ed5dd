//! Evaluations that open the rows of a symmetric table: each row is fetched masked, and opened by
//! one evaluation.
//!
//! ```text
//! masked = session.recover(query, responses)      what any client can have
//! evaluation = session.evaluation(rows, masked)   a blinded request, one element for each row
//! rows = session.open(evaluation, response)       the proof is checked, then each row opened
//! ```
//!
//! The request is made and sent whatever was fetched, even if a row could not be read, or claims to
//! be of a later epoch. Otherwise a server that damages some rows would see from a missing request
//! whether one of them was looked up. The result of opening is known to the caller alone, and
//! nothing that is sent later depends on it.

use super::{Session, accepted};
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::SymmetricLayer;
use sotto_core::{CryptoRng, Error, Misuse};
use sotto_oprf::{BlindedInputs, Input, MaskVersion, OprfError, RowMask, blind};
use sotto_wire::{FrameHeader, evaluate, routes};
use std::fmt;
use zeroize::Zeroizing;

/// Number of the server that evaluates, in tables with several.
const EVALUATOR: u8 = 0;

/// A request for evaluations, and the secrets that open rows with them. It is not `Clone`: a retry
/// sends the same bytes.
pub struct EvaluationRequest {
    request: Request,
    pin: FrameHeader,
    count: u16,
    blinded: BlindedInputs,
    /// Masked rows, or the reason why there are none.
    masked: Result<Vec<Zeroizing<Vec<u8>>>>,
}

impl EvaluationRequest {
    /// Number of the server that the request is for, counted from 0.
    pub fn server(&self) -> u8 {
        self.pin.server
    }

    /// The request to send.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Number of evaluations requested, which is all that the server learns.
    pub fn count(&self) -> u16 {
        self.count
    }
}

impl Session {
    /// How the rows of the table are masked, if they are.
    ///
    /// # Errors
    /// Never for a session's catalog, which was checked.
    pub fn masked(&self) -> Result<Option<SymmetricLayer>> {
        Ok(self.catalog().symmetric_layer()?)
    }

    /// Makes a request for one evaluation per row, whatever the result of fetching the rows was.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if the table is not symmetric; [`ClientError::TooManyRows`].
    pub fn evaluation(
        &self,
        rows: &[u64],
        fetched: Result<Vec<Vec<u8>>>,
        rng: &mut dyn CryptoRng,
    ) -> Result<EvaluationRequest> {
        let masked = fetched.map(|rows| rows.into_iter().map(Zeroizing::new).collect::<Vec<_>>());
        let version = |i| {
            let row = masked.as_ref().ok().and_then(|masked| masked.get(i));
            row.map_or(MaskVersion(0), |row: &Zeroizing<Vec<u8>>| MaskVersion::of(row))
        };
        let table = self.catalog().table.as_str();
        let inputs = rows.iter().enumerate().map(|(i, row)| Input::row(table, *row, version(i)));
        let inputs = inputs.collect::<Result<_, OprfError>>()?;
        self.evaluation_of(inputs, masked, rng)
    }

    fn evaluation_of(
        &self,
        inputs: Vec<Input>,
        masked: Result<Vec<Zeroizing<Vec<u8>>>>,
        rng: &mut dyn CryptoRng,
    ) -> Result<EvaluationRequest> {
        self.masked_or_misuse()?;
        let (rows, most) = (inputs.len(), usize::from(evaluate::MAX_EVALUATIONS));
        let blinded = blind(inputs, rng)?;
        let pin = self.table.pin(EVALUATOR);
        let body = evaluate::encode(&pin, blinded.elements());
        let body = body.map_err(|_| ClientError::TooManyRows { rows, limit: most })?;
        let count = u16::try_from(rows).map_err(|_| ClientError::TooManyRows { rows, limit: most })?;
        let path = routes::evaluate(self.catalog().table.as_str());
        let request = Request::post(path, body, evaluate::answer_bytes(count));
        Ok(EvaluationRequest { request, pin, count, blinded, masked })
    }

    /// Verifies the evaluations in the response, and opens the rows with them.
    ///
    /// # Errors
    /// [`ClientError::EpochChanged`] if the table has moved on; [`ClientError::Refused`];
    /// [`ClientError::Frame`]; [`ClientError::Oprf`] for an invalid proof, or for a row that does
    /// not open, which must never be requested again; an error from before the request, if one was
    /// passed in.
    pub fn open(&self, evaluation: EvaluationRequest, response: &Response) -> Result<Vec<Vec<u8>>> {
        let opened = self.opened(evaluation, response);
        opened.map_err(|error| error.of_server(EVALUATOR, self.servers()))
    }

    fn opened(&self, evaluation: EvaluationRequest, response: &Response) -> Result<Vec<Vec<u8>>> {
        let EvaluationRequest { pin, count, blinded, masked, .. } = evaluation;
        if pin != self.table.pin(EVALUATOR) {
            return Err(Error::from(Misuse::ForeignValue("evaluation")).into());
        }
        let key = self.masked_or_misuse()?.key;
        let body = accepted(response, Some(self.epoch()))?;
        let (elements, proof) = evaluate::decode_answer(body, &pin, count)?;
        let outputs = blinded.finish(&elements, &proof, &key)?;
        let masked = masked?;
        if masked.len() != outputs.len() {
            return Err(Error::from(Misuse::Rule(
                "number of evaluations differs from the number of fetched rows",
            ))
            .into());
        }
        // All rows are opened, even after one that does not open.
        let opened: Vec<_> = masked
            .iter()
            .zip(&outputs)
            .map(|(row, output)| match MaskVersion::of(row).0 > self.epoch().0 {
                true => Err(OprfError::Future),
                false => RowMask::new(output).open(row),
            })
            .collect();
        opened.into_iter().map(|row| Ok(row?.to_vec())).collect()
    }

    fn masked_or_misuse(&self) -> Result<SymmetricLayer> {
        let rule = Misuse::Rule("evaluation requested for a table without row masks");
        self.masked()?.ok_or_else(|| Error::from(rule).into())
    }
}

/// Shows nothing of the rows.
impl fmt::Debug for EvaluationRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EvaluationRequest({} of epoch {})", self.count, self.pin.epoch)
    }
}
