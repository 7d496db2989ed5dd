//! What a request asks for: a lookup of a table, or an evaluation of the function that opens a row of a symmetric one.

use crate::proto::{OprfRequest, OprfResponse, Response};
use crate::refusal::{Refusal, refused};
use crate::use_case::{LookupTask, UseCase};
use prost::Message;
use rand_core::CryptoRng;
use sotto_oprf::p384::Element;
use std::sync::Arc;

/// One of the parts of a request, with all that its answer needs.
#[derive(Debug)]
pub enum RequestPart {
    /// A lookup.
    Lookup(LookupTask),
    /// An evaluation.
    Evaluation(EvaluationTask),
}

impl RequestPart {
    /// The use case that is asked.
    pub fn name(&self) -> &str {
        match self {
            RequestPart::Lookup(lookup) => lookup.name(),
            RequestPart::Evaluation(evaluation) => &evaluation.name,
        }
    }

    /// Whether it opens a row of a symmetric table: how many a client has of these is what it learns.
    pub fn is_evaluation(&self) -> bool {
        matches!(self, RequestPart::Evaluation(_))
    }

    /// Bytes of its query.
    pub fn query_bytes(&self) -> usize {
        match self {
            RequestPart::Lookup(lookup) => lookup.query_bytes(),
            RequestPart::Evaluation(evaluation) => evaluation.element.len(),
        }
    }

    /// Bytes of memory that it takes besides the request that it came in.
    pub fn key_bytes(&self) -> usize {
        match self {
            RequestPart::Lookup(lookup) => lookup.key_bytes(),
            RequestPart::Evaluation(_) => 0,
        }
    }

    /// Bytes of its answer, about and no less.
    pub fn answer_bytes(&self) -> usize {
        match self {
            RequestPart::Lookup(lookup) => lookup.answer_bytes(),
            RequestPart::Evaluation(_) => EVALUATION_BYTES,
        }
    }

    /// Answers it, on the current pool's threads. Evaluations are proved, with this randomness.
    ///
    /// # Errors
    /// [`Refusal`] with the status: 400 for what is none of this table.
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

/// A blinded element, and the table whose function is asked for. Of which row nobody can tell.
#[derive(Debug)]
pub struct EvaluationTask {
    use_case: Arc<UseCase>,
    name: String,
    element: Element,
}

impl EvaluationTask {
    /// What a request asks for, if its bytes may be an element and the table is symmetric.
    pub(crate) fn read(use_case: Arc<UseCase>, name: String, asked: &OprfRequest) -> Result<Self, Refusal> {
        use_case.evaluator()?;
        match (&*asked.query_element).try_into() {
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

/// Bytes of an element and a proof, with what names them in a message.
const EVALUATION_BYTES: usize = 256;

const NO_ELEMENT: &str = "an evaluation is asked of bytes that are no element of the group";
