//! Public keys of logs, pinned by the readers of a log.
//!
//! Two text forms are parsed. Ed25519 and ML-DSA-44 keys have the form of Go's notes,
//! `NAME+ID+BASE64`, where the name usually is the log's. Keys of RFC 6962 are published without a
//! name, as the base64 of a P-256 key in DER, so the log's name precedes it: `NAME+BASE64`. They sign
//! tree heads (sections 2.1.4 and 3.5).
#![deny(clippy::indexing_slicing)]

use crate::cosignature;
use crate::note::{NoteSignature, SignedNote, base64, is_key_name, unbase64};
use crate::{LogError, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use p256::ecdsa::signature::Verifier;
use p256::ecdsa::{Signature, VerifyingKey};
use sha2::{Digest, Sha256};
use sotto_catalog::MlDsaPublicKey;
use sotto_tree::log::Hash;
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroizing;

/// First line of every checkpoint of a Go checksum database, whatever the database is called.
pub const GO_ORIGIN: &str = "go.sum database tree";

/// Error for a key whose id does not match its name and bytes.
pub(crate) const OTHER_NUMBER: &str = "the key ID does not match name and key: copy the whole text";

/// Error for a key that is truncated.
pub(crate) const CUT: &str = "the text after the name is not a key in base64: copy the whole text";

/// Signature algorithm of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Algorithm {
    /// Signature type 1: the whole text is signed.
    Ed25519(ed25519_dalek::VerifyingKey),
    /// Signature type 6: name, size and root are signed, with a time that may be 0.
    MlDsa44(MlDsaPublicKey),
    /// Signature type 5: size and root are signed, with a time.
    Rfc6962 { key: p256::ecdsa::VerifyingKey, spki: Vec<u8> },
}

/// Public key of a log, with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogKey {
    name: String,
    origin: String,
    algorithm: Algorithm,
    /// ML-DSA-44 key of the log beside the other one, whose signature is required as well.
    ml_dsa: Option<MlDsaPublicKey>,
}

impl LogKey {
    /// Makes an Ed25519 key.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for an invalid name, or bytes that are not a key.
    pub fn ed25519(name: &str, key: &[u8; 32]) -> Result<Self> {
        let key = ed25519_dalek::VerifyingKey::from_bytes(key);
        let key = key.map_err(|_| LogError::KeyText("not an Ed25519 key"))?;
        Self::named(name, Algorithm::Ed25519(key))
    }

    /// Makes an ML-DSA-44 key, whose signatures are cosignatures (`c2sp.org/tlog-cosignature`) in the
    /// log's own name.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for an invalid name.
    pub fn ml_dsa_44(name: &str, key: MlDsaPublicKey) -> Result<Self> {
        Self::named(name, Algorithm::MlDsa44(key))
    }

    /// Makes a P-256 key of a log of RFC 6962 from a SubjectPublicKeyInfo in DER.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for an invalid name, or bytes that are not a key.
    pub fn rfc6962(name: &str, spki: &[u8]) -> Result<Self> {
        let key = p256_key(spki).ok_or(LogError::KeyText("not a P-256 key in DER: copy the whole text"))?;
        Self::named(name, Algorithm::Rfc6962 { key, spki: spki.to_vec() })
    }

    fn named(name: &str, algorithm: Algorithm) -> Result<Self> {
        if !is_key_name(name) {
            return Err(LogError::KeyText("expected a key name without spaces and plus signs"));
        }
        Ok(LogKey { name: name.into(), origin: name.into(), algorithm, ml_dsa: None })
    }

    /// Requires the log's signature under this ML-DSA-44 key as well.
    #[must_use]
    pub fn with_ml_dsa(self, ml_dsa: Option<MlDsaPublicKey>) -> Self {
        LogKey { ml_dsa, ..self }
    }

    /// The ML-DSA-44 key that has to have signed, if one does.
    pub fn ml_dsa(&self) -> Option<&MlDsaPublicKey> {
        match &self.algorithm {
            Algorithm::MlDsa44(key) => Some(key),
            _ => self.ml_dsa.as_ref(),
        }
    }

    /// Text forms of all keys that have to have signed, one for each algorithm.
    pub fn vkeys(&self) -> Vec<String> {
        [Some(self), self.ml_dsa_half().as_ref()].into_iter().flatten().map(ToString::to_string).collect()
    }

    /// Whether both are one public key, whatever its names.
    pub(crate) fn is_same_key(&self, other: &LogKey) -> bool {
        self.algorithm == other.algorithm
    }

    /// Whether a text has the form of a key, even an invalid one, and so is not a path: its name is
    /// followed by a hexadecimal number, or by the beginning of every P-256 key in DER.
    pub fn has_form(text: &str) -> bool {
        let Some((_, rest)) = text.trim().split_once('+') else { return false };
        let number = rest.split_once('+').map(|(number, _)| number);
        number.is_some_and(is_hex) || rest.starts_with("MFkw")
    }

    /// Changes the name of the log, which may differ from the key's name, as in Go's checksum
    /// database.
    #[must_use]
    pub fn with_origin(self, origin: &str) -> Self {
        LogKey { origin: origin.into(), ..self }
    }

    /// Adapts the key to a checkpoint. The first line of a checkpoint of a Go checksum database
    /// does not name the log: only the key does.
    #[must_use]
    pub fn for_checkpoint(self, note: &[u8]) -> Self {
        let gos = note.strip_prefix(GO_ORIGIN.as_bytes()).is_some_and(|rest| rest.starts_with(b"\n"));
        if gos && self.origin == self.name { self.with_origin(GO_ORIGIN) } else { self }
    }

    /// Name of the log, which is the first line of its checkpoints.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Name of the key in the signature's line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Key id in the signature's line, derived from the name, the signature's type and the key.
    pub fn id(&self) -> u32 {
        match &self.algorithm {
            Algorithm::Ed25519(key) => id(&self.name, 1, key.as_bytes()),
            Algorithm::MlDsa44(key) => id(&self.name, cosignature::ML_DSA_44, key.as_bytes()),
            Algorithm::Rfc6962 { spki, .. } => id(&self.name, 5, &Sha256::digest(spki)),
        }
    }

    /// Verifies a note about a log of this size and root. Every signature of this key must be
    /// valid, and there must be at least one; of two keys, both.
    ///
    /// # Errors
    /// [`LogError::NotSigned`], [`LogError::BadSignature`].
    pub(crate) fn verify_note(&self, note: &SignedNote, size: u64, root: &Hash) -> Result<()> {
        let id = self.id();
        let mut ours =
            note.signatures.iter().filter(|line| line.name == self.name && line.id == id).peekable();
        if ours.peek().is_none() {
            return Err(LogError::NotSigned { name: self.name.clone(), id });
        }
        let valid = ours.all(|NoteSignature { bytes, .. }| match &self.algorithm {
            Algorithm::Ed25519(key) => {
                let signature = ed25519_dalek::Signature::from_slice(bytes);
                signature.is_ok_and(|signature| key.verify_strict(note.text.as_bytes(), &signature).is_ok())
            }
            Algorithm::MlDsa44(key) => {
                let head = cosignature::SignedHead { origin: &self.origin, size, root };
                cosignature::ml_dsa_time(key, &self.name, &head, bytes).is_some()
            }
            Algorithm::Rfc6962 { key, .. } => {
                let Some((timestamp, signature)) = bytes.split_first_chunk::<8>() else { return false };
                verifies_head(key, u64::from_be_bytes(*timestamp), size, root, signature)
            }
        });
        if !valid {
            return Err(LogError::BadSignature(self.name.clone()));
        }
        self.ml_dsa_half().map_or(Ok(()), |half| half.verify_note(note, size, root))
    }

    /// The ML-DSA-44 key beside the other one, by itself.
    fn ml_dsa_half(&self) -> Option<LogKey> {
        let algorithm = Algorithm::MlDsa44(self.ml_dsa.clone()?);
        Some(LogKey { algorithm, ml_dsa: None, ..self.clone() })
    }

    /// Whether only the text's size and root are signed, so that the text must contain nothing
    /// else.
    pub(crate) fn signs_head_alone(&self) -> bool {
        matches!(self.algorithm, Algorithm::Rfc6962 { .. } | Algorithm::MlDsa44(_))
    }

    /// Verifies a tree head of RFC 6962.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for an Ed25519 key, [`LogError::BadSignature`].
    pub(crate) fn verify_head(&self, timestamp: u64, size: u64, root: &Hash, signature: &[u8]) -> Result<()> {
        let Algorithm::Rfc6962 { key, .. } = &self.algorithm else {
            return Err(LogError::KeyText("expected a P-256 key for a tree head of RFC 6962"));
        };
        if verifies_head(key, timestamp, size, root, signature) {
            return Ok(());
        }
        Err(LogError::BadSignature(self.name.clone()))
    }
}

/// Key id of a key (signed-note, "Signatures").
pub(crate) fn id(name: &str, kind: u8, key: &[u8]) -> u32 {
    let digest = Sha256::new().chain_update(name).chain_update([b'\n', kind]).chain_update(key).finalize();
    let [a, b, c, d, ..] = <[u8; 32]>::from(digest);
    u32::from_be_bytes([a, b, c, d])
}

/// Writes a key as `NAME+ID+BASE64` (signed-note, "Verifier keys").
pub(crate) fn write_vkey(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    id: u32,
    kind: u8,
    key: &[u8],
) -> fmt::Result {
    write!(f, "{name}+{id:08x}+{}", base64(&[&[kind], key].concat()))
}

/// Whether a text is a hexadecimal number.
fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Writes the text form.
impl fmt::Display for LogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.algorithm {
            Algorithm::Ed25519(key) => write_vkey(f, &self.name, self.id(), 1, key.as_bytes()),
            Algorithm::MlDsa44(key) => {
                write_vkey(f, &self.name, self.id(), cosignature::ML_DSA_44, key.as_bytes())
            }
            Algorithm::Rfc6962 { spki, .. } => write!(f, "{}+{}", self.name, base64(spki)),
        }
    }
}

impl FromStr for LogKey {
    type Err = LogError;
    fn from_str(text: &str) -> Result<Self> {
        let refuse =
            LogError::KeyText("expected NAME+ID+BASE64 (Ed25519 or ML-DSA-44) or NAME+BASE64 (P-256 in DER)");
        let Some((name, rest)) = text.trim().split_once('+') else { return Err(refuse) };
        // A number that lost a digit is still a number.
        if rest.split_once('+').is_some_and(|(number, _)| number.len() < 8 && is_hex(number)) {
            return Err(LogError::KeyText(OTHER_NUMBER));
        }
        // The DER of a P-256 key begins with "MFkw", which is not a hexadecimal number: the two
        // forms cannot be confused.
        let number = |text: &str| text.len() == 8 && is_hex(text);
        let Some((number, encoded)) = rest.split_once('+').filter(|(first, _)| number(first)) else {
            let is_cut = rest.starts_with("MFkw");
            return Self::rfc6962(
                name,
                &unbase64(rest).ok_or(if is_cut { LogError::KeyText(CUT) } else { refuse })?,
            );
        };
        let decoded = unbase64(encoded).ok_or(LogError::KeyText(CUT))?;
        let key = match decoded.split_first() {
            Some((1, bytes)) => Self::ed25519(name, bytes.try_into().map_err(|_| LogError::KeyText(CUT))?)?,
            Some((&cosignature::ML_DSA_44, bytes)) => {
                Self::ml_dsa_44(name, MlDsaPublicKey::from_bytes(bytes).ok_or(LogError::KeyText(CUT))?)?
            }
            _ => return Err(LogError::KeyText("unknown key type; Ed25519 is type 1, ML-DSA-44 type 6")),
        };
        if u32::from_str_radix(number, 16) != Ok(key.id()) {
            return Err(LogError::KeyText(OTHER_NUMBER));
        }
        Ok(key)
    }
}

/// Bytes before the point in the DER of every uncompressed P-256 key (RFC 5480).
const SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Key of a SubjectPublicKeyInfo in DER; `None` if it is of another kind, or not on the curve.
fn p256_key(spki: &[u8]) -> Option<VerifyingKey> {
    VerifyingKey::from_sec1_bytes(spki.strip_prefix(&SPKI)?).ok()
}

/// Signed bytes of a tree head: version v1, `tree_hash`, and the head.
fn signed_head(timestamp: u64, size: u64, root: &Hash) -> Vec<u8> {
    [&[0, 1], timestamp.to_be_bytes().as_slice(), &size.to_be_bytes(), root].concat()
}

/// Whether a `DigitallySigned` of TLS 1.2 is a signature of this head: SHA-256, ECDSA, a length,
/// DER.
fn verifies_head(key: &VerifyingKey, timestamp: u64, size: u64, root: &Hash, signature: &[u8]) -> bool {
    let [4, 3, high, low, der @ ..] = signature else { return false };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let Ok(signature) = Signature::from_der(der) else { return false };
    length == der.len() && key.verify(&signed_head(timestamp, size, root), &signature).is_ok()
}

const PRIVATE_PREFIX: &str = "PRIVATE+KEY+";

/// The text of a key file: `PRIVATE+KEY+NAME+ID+BASE64`, as for Go's notes.
pub(crate) fn to_key_file(kind: u8, name: &str, id: u32, key: &[u8; 32]) -> Zeroizing<String> {
    let mut secret = Zeroizing::new([kind; 33]);
    if let Some(bytes) = secret.get_mut(1..) {
        bytes.copy_from_slice(key);
    }
    let encoded = Zeroizing::new(STANDARD.encode(secret.as_slice()));
    // Allocated in full from the start: growing would leave copies behind.
    let mut text = Zeroizing::new(String::with_capacity(PRIVATE_PREFIX.len() + name.len() + 80));
    text.push_str(PRIVATE_PREFIX);
    text.push_str(name);
    text.push_str(&format!("+{id:08x}+"));
    text.push_str(&encoded);
    text.push('\n');
    text
}

/// Name, id, kind and secret bytes in a line of a key file. Whether the id is the key's is unchecked.
pub(crate) fn from_key_file<'a>(
    text: &'a str,
    expected: &'static str,
) -> Result<(&'a str, &'a str, u8, Zeroizing<[u8; 32]>)> {
    let refuse = || LogError::KeyText(expected);
    let mut parts = text.trim().strip_prefix(PRIVATE_PREFIX).ok_or_else(refuse)?.splitn(3, '+');
    let (Some(name), Some(id), Some(encoded)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(refuse());
    };
    let decoded = Zeroizing::new(unbase64(encoded).ok_or_else(refuse)?);
    match decoded.split_first() {
        Some((kind, secret)) => {
            Ok((name, id, *kind, Zeroizing::new(secret.try_into().map_err(|_| refuse())?)))
        }
        None => Err(refuse()),
    }
}
