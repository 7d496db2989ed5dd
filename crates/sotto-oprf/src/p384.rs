//! The function over P-384, one input at a time: RFC 9497's P384-SHA384 in its verifiable mode.
//!
//! Apple's protocol uses it and defines its inputs, keys and elements (`sotto-apple`). Tables of
//! this project use the function at the root of this crate. This module does no I/O.

use crate::key::KeyFileFormat;
use crate::rng_compat::RngCompat;
use crate::{OprfError, Result};
use ::p384::NistP384;
use rand_core::CryptoRng;
use std::fmt;
use voprf::{
    BlindedElement, EvaluationElement, Group, Proof, VoprfClient, VoprfClientBlindResult, VoprfServer,
    VoprfServerEvaluateResult,
};
use zeroize::{Zeroize, Zeroizing};

/// Name of the cipher suite in RFC 9497.
pub const SUITE: &str = "P384-SHA384";

/// Bytes of an element of the group: a compressed point.
pub const ELEMENT_BYTES: usize = 49;

/// Bytes of a key.
pub const KEY_BYTES: usize = 48;

/// Bytes of a proof: challenge and response.
pub const PROOF_BYTES: usize = 2 * KEY_BYTES;

/// Bytes of an output.
pub const OUTPUT_BYTES: usize = 48;

/// Largest number of bytes of an input.
pub const MAX_INPUT: usize = u16::MAX as usize;

/// An encoded element of the group. The receiver checks that it is one.
pub type Element = [u8; ELEMENT_BYTES];

const TEXT: KeyFileFormat = KeyFileFormat {
    header: "# sotto OPRF key of P-384, version 1. Whoever reads this file can open every row of the table.",
    prefix: "sotto-oprf-p384-sk:",
    other_header: "the first line is not that of a sotto OPRF key of P-384, version 1",
    other_prefix: "the second line does not start with sotto-oprf-p384-sk:",
    other_digits: "the key must have 96 lower-case hex digits",
};

/// The secret key of the function over P-384. Wiped on drop; `Debug` does not print it.
pub struct SecretKey(VoprfServer<NistP384>);

/// The public key that evaluations are proved against. It is a checked element of the group, and
/// not the identity.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey {
    bytes: Element,
    point: <NistP384 as Group>::Elem,
}

/// The output of the function at one input: a secret that opens a row. Wiped on drop.
pub struct OprfOutput(Zeroizing<[u8; OUTPUT_BYTES]>);

/// A server's response to a blinded element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// The evaluation of the blinded element.
    pub element: Element,
    /// Proof that the evaluation was made with one key, whose public half the client knows.
    pub proof: [u8; PROOF_BYTES],
}

/// A blinded input, and the secret that unblinds its evaluation. Used once; wiped on drop.
pub struct BlindedInput {
    input: Zeroizing<Vec<u8>>,
    client: VoprfClient<NistP384>,
    element: Element,
}

impl SecretKey {
    /// Draws a fresh key.
    ///
    /// # Errors
    /// [`OprfError::KeyText`] with negligible probability.
    pub fn generate(rng: &mut dyn CryptoRng) -> Result<Self> {
        let error = OprfError::KeyText("cannot draw a key");
        VoprfServer::new(&mut RngCompat(rng)).map(SecretKey).map_err(|_| error)
    }

    /// Returns the public key.
    pub fn public(&self) -> PublicKey {
        let point = self.0.get_public_key();
        PublicKey { bytes: array(&NistP384::serialize_elem(point)), point }
    }

    /// Evaluates the function at an input, which only the holder of the key can do without a
    /// server.
    ///
    /// # Errors
    /// [`OprfError::Input`] for more than [`MAX_INPUT`] bytes.
    pub fn at(&self, input: &[u8]) -> Result<OprfOutput> {
        self.0.evaluate(input).map(|output| OprfOutput::of(&output)).map_err(|_| OprfError::Input)
    }

    /// Evaluates a blinded element. The time does not depend on the element, and it reveals nothing
    /// of its input.
    ///
    /// # Errors
    /// [`OprfError::Element`] for bytes that are not an element in canonical encoding, or for the
    /// identity.
    pub fn evaluate(&self, element: &Element, rng: &mut dyn CryptoRng) -> Result<Evaluation> {
        let blinded = BlindedElement::deserialize(in_one_form(element)?).map_err(|_| OprfError::Element)?;
        let VoprfServerEvaluateResult { message, proof } =
            self.0.blind_evaluate(&mut RngCompat(rng), &blinded);
        Ok(Evaluation { element: array(&message.serialize()), proof: array(&proof.serialize()) })
    }

    /// Writes the text of a key file: a comment line and the key. The caller stores it with mode
    /// 0600.
    pub fn to_file(&self) -> Zeroizing<String> {
        let mut both = self.0.serialize();
        // The public key follows in `both`; it is recomputed when the file is read.
        let text = TEXT.write(&Zeroizing::new(array::<KEY_BYTES>(&both))[..]);
        let wiped: &mut [u8] = &mut both;
        wiped.zeroize();
        text
    }

    /// Parses the text of a key file.
    ///
    /// # Errors
    /// [`OprfError::KeyText`], which never holds the text.
    pub fn from_file(text: &str) -> Result<Self> {
        let bytes = TEXT.read::<KEY_BYTES>(text)?;
        let error = OprfError::KeyText("the digits are not a key");
        VoprfServer::new_with_key(bytes.as_slice()).map(SecretKey).map_err(|_| error)
    }
}

impl PublicKey {
    /// Decodes a public key.
    ///
    /// # Errors
    /// [`OprfError::Element`] for bytes that are not an element in canonical encoding, or for the
    /// identity.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let bytes: &Element = bytes.try_into().map_err(|_| OprfError::Element)?;
        let point = NistP384::deserialize_elem(in_one_form(bytes)?).map_err(|_| OprfError::Element)?;
        Ok(PublicKey { bytes: *bytes, point })
    }

    /// The encoded public key.
    pub fn bytes(&self) -> &Element {
        &self.bytes
    }
}

impl OprfOutput {
    fn of(bytes: &[u8]) -> Self {
        OprfOutput(Zeroizing::new(array(bytes)))
    }

    /// The bytes of the output.
    pub fn bytes(&self) -> &[u8; OUTPUT_BYTES] {
        &self.0
    }
}

/// Blinds an input with a fresh secret. The time depends on the length of the input.
///
/// # Errors
/// [`OprfError::Input`] for more than [`MAX_INPUT`] bytes.
pub fn blind(input: Zeroizing<Vec<u8>>, rng: &mut dyn CryptoRng) -> Result<BlindedInput> {
    if input.len() > MAX_INPUT {
        return Err(OprfError::Input);
    }
    let blinded = VoprfClient::blind(&input, &mut RngCompat(rng)).map_err(|_| OprfError::Input)?;
    let VoprfClientBlindResult { state, message } = blinded;
    Ok(BlindedInput { input, client: state, element: array(&message.serialize()) })
}

impl BlindedInput {
    /// The blinded element to send. It is uniform in the group, whatever the input.
    pub fn element(&self) -> &Element {
        &self.element
    }

    /// Verifies the proof, and returns the function's output at the input.
    ///
    /// # Errors
    /// [`OprfError::Element`]; [`OprfError::Proof`] unless this is the evaluation of the element
    /// that was sent, under the key whose public half is `key`.
    pub fn finish(self, evaluated: &[u8], proof: &[u8], key: &PublicKey) -> Result<OprfOutput> {
        let element = evaluated.try_into().map_err(|_| OprfError::Element)?;
        let element = EvaluationElement::deserialize(in_one_form(element)?);
        let element = element.map_err(|_| OprfError::Element)?;
        let proof: &[u8; PROOF_BYTES] = proof.try_into().map_err(|_| OprfError::Proof)?;
        let proof = Proof::deserialize(proof).map_err(|_| OprfError::Proof)?;
        let output = self.client.finalize(&self.input, &element, &proof, key.point);
        output.map(|output| OprfOutput::of(&output)).map_err(|_| OprfError::Proof)
    }
}

/// Checks that the encoding is a compressed point, which starts with one of two bytes. The other
/// forms of SEC 1 are refused, even if they have the same length.
fn in_one_form(element: &Element) -> Result<&[u8]> {
    match element {
        [2 | 3, ..] => Ok(element),
        _ => Err(OprfError::Element),
    }
}

/// Copies bytes into an array type of equal length, as the `voprf` crate guarantees.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = *byte);
    out
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(for {:?})", self.public())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicKey(")?;
        self.bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

impl fmt::Debug for OprfOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Output(..)")
    }
}

/// Prints nothing that reveals the input.
impl fmt::Debug for BlindedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Blinded(an input)")
    }
}

#[cfg(test)]
mod tests;
