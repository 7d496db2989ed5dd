//! The server's half: blinded elements in, evaluations and one proof for all of them out.

use crate::rng_compat::RngCompat;
use crate::{ELEMENT_BYTES, Element, OprfError, Result, SecretKey};
use rand_core::CryptoRng;
use voprf::{BlindedElement, VoprfServerBatchEvaluateResult};

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 2 * ELEMENT_BYTES;

/// Most elements of one request: what one ask can hold of rows.
pub const MAX_ELEMENTS: usize = 64;

/// What a server answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluations {
    /// The function at each blinded element, in their order.
    pub elements: Vec<Element>,
    /// That all of them were made with one key, whose public half the client knows.
    pub proof: [u8; PROOF_BYTES],
}

impl SecretKey {
    /// Evaluates blinded elements. Takes as long for any of them; of what they are blinded nothing can be told.
    ///
    /// # Errors
    /// [`OprfError::Element`] for bytes that are no element, or the identity, whose evaluation would say nothing and
    /// cost the same; [`OprfError::Count`] for none or more than [`MAX_ELEMENTS`].
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
