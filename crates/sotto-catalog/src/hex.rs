//! Bytes that are written as lower-case hexadecimal text, and the public key of a publisher.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// An array of `N` bytes with one canonical text form, so that equal values have equal text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hex<const N: usize>(pub [u8; N]);

/// A digest or a public key of 32 bytes.
pub type Hex32 = Hex<32>;

/// A signature of 64 bytes.
pub type Hex64 = Hex<64>;

/// Bytes of any number, written as hexadecimal text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HexBytes(pub Vec<u8>);

/// Error for text that is not lower-case hexadecimal of the right length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected lower-case hexadecimal text of {0}")]
pub struct ParseHexError(pub &'static str);

impl<const N: usize> From<[u8; N]> for Hex<N> {
    fn from(bytes: [u8; N]) -> Self {
        Hex(bytes)
    }
}

impl From<blake3::Hash> for Hex32 {
    fn from(hash: blake3::Hash) -> Self {
        Hex(*hash.as_bytes())
    }
}

impl From<sotto_core::ParamsDigest> for Hex32 {
    fn from(digest: sotto_core::ParamsDigest) -> Self {
        Hex(digest.0)
    }
}

impl<const N: usize> FromStr for Hex<N> {
    type Err = ParseHexError;
    fn from_str(text: &str) -> Result<Self, ParseHexError> {
        // The length is checked first: a peer's text is never decoded into more bytes than
        // expected.
        if text.len() != 2 * N {
            return Err(ParseHexError("the required length"));
        }
        let bytes = decode(text).ok_or(ParseHexError("whole bytes"))?;
        Ok(Hex(bytes.try_into().map_err(|_| ParseHexError("the required length"))?))
    }
}

impl FromStr for HexBytes {
    type Err = ParseHexError;
    fn from_str(text: &str) -> Result<Self, ParseHexError> {
        decode(text).map(HexBytes).ok_or(ParseHexError("whole bytes"))
    }
}

/// Decodes lower-case hexadecimal text.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

fn digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    }
}

fn write(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.0, f)
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.0, f)
    }
}

impl fmt::Display for HexBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.0, f)
    }
}

#[cfg(feature = "schema")]
impl<const N: usize> schemars::JsonSchema for Hex<N> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Hex{N}").into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": format!("^[0-9a-f]{{{}}}$", 2 * N) })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for HexBytes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HexBytes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^([0-9a-f]{2})*$" })
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        text.parse().map_err(|_| D::Error::custom(format_args!("expected {} lower-case hex digits", 2 * N)))
    }
}

impl Serialize for HexBytes {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HexBytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

pub(crate) const PUBLIC_PREFIX: &str = "sotto-pk:";

/// Prefix of the text form of a key with two algorithms. It is another one, so that a text that was
/// cut is no key, and not one that demands less.
pub(crate) const HYBRID_PREFIX: &str = "sotto-pq:";

/// Public key of a publisher: an Ed25519 key, and the digest of its ML-DSA-44 key if it has one.
///
/// Text forms: `sotto-pk:` and 64 hexadecimal digits; with an ML-DSA-44 key `sotto-pq:` and 128.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey {
    /// The Ed25519 key, which names the publisher and its log.
    pub ed25519: Hex32,
    /// BLAKE3 digest of the ML-DSA-44 key ([`crate::MlDsaPublicKey::digest`]).
    pub ml_dsa: Option<Hex32>,
}

impl PublicKey {
    /// Makes a key of Ed25519 alone.
    pub fn of_ed25519(ed25519: Hex32) -> Self {
        PublicKey { ed25519, ml_dsa: None }
    }

    /// The Ed25519 key alone, by which a publisher's log is named.
    #[must_use]
    pub fn without_ml_dsa(self) -> Self {
        PublicKey { ml_dsa: None, ..self }
    }

    /// Whether someone who insists on this key accepts what `signer` signs: the Ed25519 keys are
    /// equal, and so are the ML-DSA-44 keys if this key has one. A signer with two keys satisfies
    /// everyone who knows the first.
    pub fn accepts(&self, signer: &PublicKey) -> bool {
        self.ed25519 == signer.ed25519 && (self.ml_dsa.is_none() || self.ml_dsa == signer.ml_dsa)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ml_dsa {
            None => write!(f, "{PUBLIC_PREFIX}{}", self.ed25519),
            Some(ml_dsa) => write!(f, "{HYBRID_PREFIX}{}{ml_dsa}", self.ed25519),
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
