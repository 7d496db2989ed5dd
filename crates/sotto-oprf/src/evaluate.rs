//! The server's half: evaluates blinded elements, and makes one proof for all of them.

use crate::rng_compat::RngCompat;
use crate::{ELEMENT_BYTES, Element, OprfError, Result, SecretKey};
use rand_core::CryptoRng;
use voprf::{BlindedElement, VoprfServerBatchEvaluateResult};

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 2 * ELEMENT_BYTES;

/// Largest number of elements of one request, which is the largest number of rows of a query
/// request.
pub const MAX_ELEMENTS: usize = 64;

/// A server's response to blinded elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluations {
    /// The evaluation of each blinded element, in their order.
    pub elements: Vec<Element>,
    /// Proof that all evaluations were made with one key, whose public half the client knows.
    pub proof: [u8; PROOF_BYTES],
}

impl SecretKey {
    /// Evaluates blinded elements. The time does not depend on the elements, and they reveal
    /// nothing of their inputs.
    ///
    /// # Errors
    /// [`OprfError::Element`] for bytes that are not an element, or for the identity, whose
    /// evaluation would cost the same and say nothing; [`OprfError::Count`] for no elements or more
    /// than [`MAX_ELEMENTS`].
    pub fn evaluate(&self, elements: &[Element], rng: &mut dyn CryptoRng) -> Result<Evaluations> {
        if !(1..=MAX_ELEMENTS).contains(&elements.len()) {
            return Err(OprfError::Count { got: elements.len(), want: MAX_ELEMENTS });
        }
        let read = |element: &Element| BlindedElement::deserialize(element).map_err(|_| OprfError::Element);
        let blinded = elements.iter().map(read).collect::<Result<Vec<_>>>()?;
        let count = OprfError::Count { got: elements.len(), want: MAX_ELEMENTS };
        let VoprfServerBatchEvaluateResult { messages, proof } =
            self.0.batch_blind_evaluate(&mut RngCompat(rng), &blinded).map_err(|_| count)?;
        let elements = messages.iter().map(|message| message.serialize().into()).collect();
        Ok(Evaluations { elements, proof: proof.serialize().into() })
    }
}
