//! Parts of a request: a lookup in a table, or an evaluation of the function that opens a row of a
//! symmetric one.

use crate::proto::{OprfRequest, OprfResponse, Response};
use crate::refusal::{Refusal, refused};
use crate::use_case::{LookupTask, UseCase};
use prost::Message;
use rand_core::CryptoRng;
use sotto_oprf::p384::Element;
use std::sync::Arc;

/// A part of a request, with everything that its answer needs.
#[derive(Debug)]
pub enum RequestPart {
    /// Lookup in a table.
    Lookup(LookupTask),
    /// Evaluation for a symmetric table.
    Evaluation(EvaluationTask),
}

impl RequestPart {
    /// Name of the use case.
    pub fn name(&self) -> &str {
        match self {
            RequestPart::Lookup(lookup) => lookup.name(),
            RequestPart::Evaluation(evaluation) => &evaluation.name,
        }
    }

    /// Whether the part is an evaluation, which opens a row of a symmetric table. The number of
    /// evaluations bounds what a client learns.
    pub fn is_evaluation(&self) -> bool {
        matches!(self, RequestPart::Evaluation(_))
    }

    /// Bytes of the query.
    pub fn query_bytes(&self) -> usize {
        match self {
            RequestPart::Lookup(lookup) => lookup.query_bytes(),
            RequestPart::Evaluation(evaluation) => evaluation.element.len(),
        }
    }

    /// Bytes of memory that the part takes besides the request that contained it.
    pub fn key_bytes(&self) -> usize {
        match self {
            RequestPart::Lookup(lookup) => lookup.key_bytes(),
            RequestPart::Evaluation(_) => 0,
        }
    }

    /// Approximate upper bound on the bytes of the answer.
    pub fn answer_bytes(&self) -> usize {
        match self {
            RequestPart::Lookup(lookup) => lookup.answer_bytes(),
            RequestPart::Evaluation(_) => EVALUATION_BYTES,
        }
    }

    /// Computes the answer on the current thread pool. The randomness is for the proofs of
    /// evaluations.
    ///
    /// # Errors
    /// [`Refusal`] with the status: 400 for a query that does not fit this table.
    pub fn answer(&self, rng: &mut dyn CryptoRng) -> Result<Response, Refusal> {
        match self {
            RequestPart::Lookup(lookup) => {
                let pir_response = Some(lookup.answer()?);
                Ok(Response { pir_response, ..Default::default() })
            }
            RequestPart::Evaluation(evaluation) => {
                let oprf_response = Some(evaluation.answer(rng)?);
                Ok(Response { oprf_response, ..Default::default() })
            }
        }
    }
}

/// Bytes of an answer.
pub fn answer_bytes(answer: &Response) -> usize {
    answer.encoded_len()
}

/// A blinded element, and the table whose function is to be evaluated. The server cannot tell which
/// row it is for.
#[derive(Debug)]
pub struct EvaluationTask {
    use_case: Arc<UseCase>,
    name: String,
    element: Element,
}

impl EvaluationTask {
    /// Parses an evaluation request, if the table is symmetric and the bytes may be an element.
    pub(crate) fn read(use_case: Arc<UseCase>, name: String, request: &OprfRequest) -> Result<Self, Refusal> {
        use_case.evaluator()?;
        match (&*request.query_element).try_into() {
            Ok(element) => Ok(EvaluationTask { use_case, name, element }),
            Err(_) => refused(400, NO_ELEMENT),
        }
    }

    fn answer(&self, rng: &mut dyn CryptoRng) -> Result<OprfResponse, Refusal> {
        let evaluated = self.use_case.evaluator()?.evaluate(&self.element, rng);
        let evaluated = evaluated.map_err(|_| Refusal { status: 400, why: NO_ELEMENT.into() })?;
        Ok(OprfResponse {
            evaluated_element: evaluated.element.to_vec().into(),
            proof: evaluated.proof.to_vec().into(),
        })
    }
}

/// Bytes of an element and a proof, with the tags and lengths of a message.
const EVALUATION_BYTES: usize = 256;

const NO_ELEMENT: &str = "the bytes to evaluate are not an element of the group";
