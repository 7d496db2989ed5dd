//! The client's half: blinding inputs, and unblinding evaluations that a proof covers.
//!
//! A blinded element is uniform in the group, whatever its input: it reveals nothing of the item,
//! even to a server with unlimited computing power.

use crate::rng_compat::RngCompat;
use crate::{
    ELEMENT_BYTES, Element, Input, OUTPUT_BYTES, OprfError, OprfOutput, PublicKey, Result, SecretKey, Suite,
};
use rand_core::CryptoRng;
use std::fmt;
use voprf::{
    BlindedElement, EvaluationElement, Proof, VoprfClient, VoprfClientBlindResult,
    VoprfServerBatchEvaluateResult,
};
use zeroize::Zeroizing;

/// Blinded inputs, and the secrets that unblind their evaluations. Used once; wiped on drop.
pub struct BlindedInputs {
    inputs: Vec<Input>,
    clients: Vec<VoprfClient<Suite>>,
    elements: Vec<Element>,
}

/// Blinds inputs, each with a fresh secret.
///
/// # Errors
/// [`OprfError::Input`].
pub fn blind(inputs: Vec<Input>, rng: &mut dyn CryptoRng) -> Result<BlindedInputs> {
    let (mut clients, mut elements) = (Vec::new(), Vec::new());
    for input in &inputs {
        let blinded = VoprfClient::<Suite>::blind(input.bytes(), &mut RngCompat(&mut *rng));
        let VoprfClientBlindResult { state, message } = blinded.map_err(|_| OprfError::Input)?;
        clients.push(state);
        elements.push(message.serialize().into());
    }
    Ok(BlindedInputs { inputs, clients, elements })
}

impl BlindedInputs {
    /// The blinded elements to send. The server learns nothing but their number.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// Verifies the proof, and returns the function's output at each input, in their order.
    ///
    /// # Errors
    /// [`OprfError::Count`], [`OprfError::Element`]; [`OprfError::Proof`] unless these are
    /// evaluations of exactly the elements that were sent, under the key whose public half is
    /// `key`. So a server cannot recognize a client by a key that it uses for that client alone.
    pub fn finish(
        self,
        evaluated: &[Element],
        proof: &[u8; PROOF_BYTES],
        key: &PublicKey,
    ) -> Result<Vec<OprfOutput>> {
        let (got, want) = (evaluated.len(), self.clients.len());
        if got != want || want == 0 {
            return Err(OprfError::Count { got, want });
        }
        let read =
            |element: &Element| EvaluationElement::deserialize(element).map_err(|_| OprfError::Element);
        let messages = evaluated.iter().map(read).collect::<Result<Vec<_>>>()?;
        let proof = Proof::deserialize(proof).map_err(|_| OprfError::Proof)?;
        let inputs: Vec<&[u8]> = self.inputs.iter().map(Input::bytes).collect();
        let outputs = VoprfClient::batch_finalize(&inputs, &self.clients, &messages, &proof, key.point);
        let outputs = outputs.map_err(|_| OprfError::Proof)?.map(|output| {
            let mut out = Zeroizing::new([0; OUTPUT_BYTES]);
            let output = output.map_err(|_| OprfError::Input)?;
            out.iter_mut().zip(output).for_each(|(out, byte)| *out = byte);
            Ok(OprfOutput(out))
        });
        outputs.collect()
    }
}

/// Prints nothing that reveals the inputs.
impl fmt::Debug for BlindedInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blinded({} inputs)", self.elements.len())
    }
}

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
