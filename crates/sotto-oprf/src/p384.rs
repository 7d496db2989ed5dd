//! The function over another group, one input at a time: RFC 9497's P384-SHA384 in its verifiable mode.
//!
//! Others wrote a protocol down with it, so that its inputs, keys and elements are theirs (`sotto-apple`). Tables of our own take
//! the function of this crate's root. No I/O.

use crate::key_file::KeyFileFormat;
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

/// The suite, by its name in RFC 9497.
pub const SUITE: &str = "P384-SHA384";

/// Bytes of an element of the group: a compressed point.
pub const ELEMENT_BYTES: usize = 49;

/// Bytes of a key.
pub const KEY_BYTES: usize = 48;

/// Bytes of a proof: challenge and response.
pub const PROOF_BYTES: usize = 2 * KEY_BYTES;

/// Bytes of an output.
pub const OUTPUT_BYTES: usize = 48;

/// Bytes of an input at most.
pub const MAX_INPUT: usize = u16::MAX as usize;

/// An element of the group as it travels. Whether it is one is checked by whoever takes it.
pub type Element = [u8; ELEMENT_BYTES];

const TEXT: KeyFileFormat = KeyFileFormat {
    header: "# sotto OPRF key of P-384, version 1. Whoever reads this file can open every row of the table.",
    prefix: "sotto-oprf-p384-sk:",
    other_header: "the first line is not that of a sotto OPRF key of P-384, version 1",
    other_prefix: "the second line does not start with sotto-oprf-p384-sk:",
    other_digits: "96 lower-case hex digits were expected",
};

/// The key of the function. Wiped on drop; it does not print itself.
pub struct SecretKey(VoprfServer<NistP384>);

/// The public half, which evaluations are proved against. Checked: an element of the group, and not its identity.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey {
    bytes: Element,
    point: <NistP384 as Group>::Elem,
}

/// The function at one input: a secret of whoever may open the row. Wiped on drop.
pub struct OprfOutput(Zeroizing<[u8; OUTPUT_BYTES]>);

/// What a server answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// The function at a blinded element.
    pub element: Element,
    /// That it was made with one key, whose public half the client knows.
    pub proof: [u8; PROOF_BYTES],
}

/// An input that is blinded, and the secret that unblinds its evaluation. Used once; wiped on drop.
pub struct BlindedInput {
    input: Zeroizing<Vec<u8>>,
    client: VoprfClient<NistP384>,
    element: Element,
}

impl SecretKey {
    /// A fresh key.
    ///
    /// # Errors
    /// [`OprfError::KeyText`] with a probability that is no chance.
    pub fn generate(rng: &mut dyn CryptoRng) -> Result<Self> {
        let unlucky = OprfError::KeyText("no key could be drawn");
        VoprfServer::new(&mut RngCompat(rng)).map(SecretKey).map_err(|_| unlucky)
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        let point = self.0.get_public_key();
        PublicKey { bytes: array(&NistP384::serialize_elem(point)), point }
    }

    /// The function at an input: what only who has the key can take without asking.
    ///
    /// # Errors
    /// [`OprfError::Input`] for one of more than [`MAX_INPUT`] bytes.
    pub fn at(&self, input: &[u8]) -> Result<OprfOutput> {
        self.0.evaluate(input).map(|output| OprfOutput::of(&output)).map_err(|_| OprfError::Input)
    }

    /// Evaluates a blinded element. Takes as long for any; of what is blinded nothing can be told.
    ///
    /// # Errors
    /// [`OprfError::Element`] for bytes that are no element in its one form, or the identity.
    pub fn evaluate(&self, element: &Element, rng: &mut dyn CryptoRng) -> Result<Evaluation> {
        let blinded = BlindedElement::deserialize(in_one_form(element)?).map_err(|_| OprfError::Element)?;
        let VoprfServerEvaluateResult { message, proof } =
            self.0.blind_evaluate(&mut RngCompat(rng), &blinded);
        Ok(Evaluation { element: array(&message.serialize()), proof: array(&proof.serialize()) })
    }

    /// The text of a key file: a comment line and the key. The caller writes it with mode 0600.
    pub fn to_file(&self) -> Zeroizing<String> {
        let mut both = self.0.serialize();
        // The public half follows, and is worked out again when the file is read.
        let text = TEXT.write(&Zeroizing::new(array::<KEY_BYTES>(&both))[..]);
        let wiped: &mut [u8] = &mut both;
        wiped.zeroize();
        text
    }

    /// Reads the text of a key file.
    ///
    /// # Errors
    /// [`OprfError::KeyText`]. It never holds the text.
    pub fn from_file(text: &str) -> Result<Self> {
        let bytes = TEXT.read::<KEY_BYTES>(text)?;
        let none = OprfError::KeyText("these digits are no key: the file is damaged");
        VoprfServer::new_with_key(bytes.as_slice()).map(SecretKey).map_err(|_| none)
    }
}

impl PublicKey {
    /// Reads a public key.
    ///
    /// # Errors
    /// [`OprfError::Element`] for bytes that are no element in its one form, or the identity.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let bytes: &Element = bytes.try_into().map_err(|_| OprfError::Element)?;
        let point = NistP384::deserialize_elem(in_one_form(bytes)?).map_err(|_| OprfError::Element)?;
        Ok(PublicKey { bytes: *bytes, point })
    }

    /// Its bytes.
    pub fn bytes(&self) -> &Element {
        &self.bytes
    }
}

impl OprfOutput {
    fn of(bytes: &[u8]) -> Self {
        OprfOutput(Zeroizing::new(array(bytes)))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; OUTPUT_BYTES] {
        &self.0
    }
}

/// Blinds an input with a secret of its own. What it takes says how long the input is.
///
/// # Errors
/// [`OprfError::Input`] for one of more than [`MAX_INPUT`] bytes.
pub fn blind(input: Zeroizing<Vec<u8>>, rng: &mut dyn CryptoRng) -> Result<BlindedInput> {
    if input.len() > MAX_INPUT {
        return Err(OprfError::Input);
    }
    let blinded = VoprfClient::blind(&input, &mut RngCompat(rng)).map_err(|_| OprfError::Input)?;
    let VoprfClientBlindResult { state, message } = blinded;
    Ok(BlindedInput { input, client: state, element: array(&message.serialize()) })
}

impl BlindedInput {
    /// What the server is sent. It is uniform in the group, whatever was blinded.
    pub fn element(&self) -> &Element {
        &self.element
    }

    /// The function at the input.
    ///
    /// # Errors
    /// [`OprfError::Element`]; [`OprfError::Proof`] unless this is the evaluation of the element that was sent, with the key
    /// whose public half this is.
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

/// A compressed point: two first bytes are possible, and the other forms of SEC 1 are not taken, whatever has as many bytes.
fn in_one_form(element: &Element) -> Result<&[u8]> {
    match element {
        [2 | 3, ..] => Ok(element),
        _ => Err(OprfError::Element),
    }
}

/// Bytes of another type of array. What a crate gives has as many.
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

/// Nothing that could tell what was blinded.
impl fmt::Debug for BlindedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Blinded(an input)")
    }
}

#[cfg(test)]
mod tests;
