//! Keys of witnesses, and the cosignatures that they make (`c2sp.org/tlog-cosignature`).
//!
//! A cosignature is a line of the checkpoint's note: eight bytes of time, in seconds since 1970, and
//! a signature; the module `cosignature` says of what. Its type is 4 under Ed25519, and 6 under
//! ML-DSA-44.
#![deny(clippy::indexing_slicing)]

use crate::cosignature::{self, ED25519, ML_DSA_44, SignedHead};
use crate::key::{CUT, OTHER_NUMBER, from_key_file, id, to_key_file, write_vkey};
use crate::note::{NoteSignature, SignedNote, is_key_name, unbase64};
use crate::{Checkpoint, LogError, Result};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use sotto_catalog::{MlDsaPublicKey, MlDsaSigningKey};
use sotto_core::CryptoRng;
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroizing;

/// Longest name of a witness in bytes: what is signed under ML-DSA-44 contains it.
const MAX_NAME_BYTES: usize = 255;

/// Algorithm of a cosignature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CosignatureKind {
    /// Ed25519, which a quantum computer breaks.
    Ed25519,
    /// ML-DSA-44 (FIPS 204).
    MlDsa44,
}

impl CosignatureKind {
    /// Name of the algorithm.
    pub fn name(self) -> &'static str {
        match self {
            CosignatureKind::Ed25519 => "Ed25519",
            CosignatureKind::MlDsa44 => "ML-DSA-44",
        }
    }
}

/// Public key of a witness, without its name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum WitnessAlgorithm {
    Ed25519(VerifyingKey),
    MlDsa44(MlDsaPublicKey),
}

/// Public key of a witness with its name: `NAME+ID+BASE64`, where BASE64 encodes the byte 04 and an
/// Ed25519 key of 32 bytes, or the byte 06 and an ML-DSA-44 key of 1,312.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessKey {
    name: String,
    algorithm: WitnessAlgorithm,
}

impl WitnessKey {
    fn new(name: &str, algorithm: WitnessAlgorithm) -> Result<Self> {
        if !is_key_name(name) || name.len() > MAX_NAME_BYTES {
            return Err(LogError::KeyText(
                "expected a witness name of at most 255 bytes, without spaces and plus signs",
            ));
        }
        Ok(WitnessKey { name: name.into(), algorithm })
    }

    /// Name of the witness in the line of a cosignature.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Algorithm of the key.
    pub fn kind(&self) -> CosignatureKind {
        match self.algorithm {
            WitnessAlgorithm::Ed25519(_) => CosignatureKind::Ed25519,
            WitnessAlgorithm::MlDsa44(_) => CosignatureKind::MlDsa44,
        }
    }

    /// Signature type and bytes of the key.
    fn encoded(&self) -> (u8, &[u8]) {
        match &self.algorithm {
            WitnessAlgorithm::Ed25519(key) => (ED25519, key.as_bytes()),
            WitnessAlgorithm::MlDsa44(key) => (ML_DSA_44, key.as_bytes()),
        }
    }

    /// Key id in the line of a cosignature.
    pub fn id(&self) -> u32 {
        let (kind, key) = self.encoded();
        id(&self.name, kind, key)
    }

    /// Whether both are one public key, whatever its names.
    pub(crate) fn is_same_key(&self, other: &WitnessKey) -> bool {
        self.algorithm == other.algorithm
    }

    /// Time at which this witness cosigned a note, in seconds since 1970: the latest one if there
    /// are several; `None` if it did not.
    ///
    /// # Errors
    /// [`LogError::BadSignature`] if a line claims to be of this witness, but is not.
    pub fn cosigned(&self, note: &SignedNote) -> Result<Option<u64>> {
        let id = self.id();
        let ours = note.signatures.iter().filter(|line| line.name == self.name && line.id == id);
        let times = ours.map(|line| self.time(&note.text, &line.bytes));
        let refuse = || LogError::BadSignature(self.name.clone());
        times.map(|time| time.ok_or_else(refuse)).try_fold(None, |latest, time| Ok(latest.max(Some(time?))))
    }

    fn time(&self, text: &str, bytes: &[u8]) -> Option<u64> {
        match &self.algorithm {
            WitnessAlgorithm::Ed25519(key) => {
                let (time, signature) = bytes.split_first_chunk::<8>()?;
                let time = u64::from_be_bytes(*time);
                let signature = ed25519_dalek::Signature::from_slice(signature).ok()?;
                let message = cosignature::ed25519_message(time, text);
                key.verify_strict(&message, &signature).ok().map(|()| time)
            }
            WitnessAlgorithm::MlDsa44(key) => {
                let Checkpoint { origin, size, root, .. } = Checkpoint::parse_text(text).ok()?;
                let head = SignedHead { origin: &origin, size, root: &root };
                cosignature::ml_dsa_time(key, &self.name, &head, bytes)
            }
        }
    }
}

impl fmt::Display for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, key) = self.encoded();
        write_vkey(f, &self.name, self.id(), kind, key)
    }
}

impl FromStr for WitnessKey {
    type Err = LogError;
    fn from_str(text: &str) -> Result<Self> {
        let refuse = || LogError::KeyText("expected NAME+ID+BASE64 of a witness (signature type 4 or 6)");
        let mut parts = text.trim().splitn(3, '+');
        let (Some(name), Some(number), Some(encoded)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(refuse());
        };
        let decoded = unbase64(encoded).ok_or(LogError::KeyText(CUT))?;
        let algorithm = match decoded.split_first() {
            Some((&ED25519, bytes)) => {
                let bytes: &[u8; 32] = bytes.try_into().map_err(|_| LogError::KeyText(CUT))?;
                let key = VerifyingKey::from_bytes(bytes);
                WitnessAlgorithm::Ed25519(key.map_err(|_| LogError::KeyText("not an Ed25519 key"))?)
            }
            Some((&ML_DSA_44, bytes)) => {
                WitnessAlgorithm::MlDsa44(MlDsaPublicKey::from_bytes(bytes).ok_or(LogError::KeyText(CUT))?)
            }
            _ => return Err(refuse()),
        };
        let key = Self::new(name, algorithm)?;
        if number != format!("{:08x}", key.id()) {
            return Err(LogError::KeyText(OTHER_NUMBER));
        }
        Ok(key)
    }
}

/// Secret half of a witness's key.
enum CosignerKey {
    Ed25519(Box<SigningKey>),
    MlDsa44(Box<MlDsaSigningKey>),
}

/// Signing key of a witness. Wiped on drop; it does not print itself.
pub struct Cosigner {
    key: CosignerKey,
    public: WitnessKey,
}

impl Cosigner {
    /// Generates a key for a witness with this name.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for a name with spaces or a plus, or of more than 255 bytes.
    pub fn generate(kind: CosignatureKind, name: &str, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut secret = Zeroizing::new([0; 32]);
        rng.fill_bytes(secret.as_mut_slice());
        match kind {
            CosignatureKind::Ed25519 => Self::new(name, &secret),
            CosignatureKind::MlDsa44 => Self::ml_dsa_44(name, MlDsaSigningKey::from_seed(&secret)),
        }
    }

    /// Makes the Ed25519 key with these secret bytes.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for a name with spaces or a plus, or of more than 255 bytes.
    pub fn new(name: &str, secret: &[u8; 32]) -> Result<Self> {
        let key = SigningKey::from_bytes(secret);
        let public = WitnessKey::new(name, WitnessAlgorithm::Ed25519(key.verifying_key()))?;
        Ok(Cosigner { public, key: CosignerKey::Ed25519(Box::new(key)) })
    }

    /// Makes a witness of an ML-DSA-44 key.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for a name with spaces or a plus, or of more than 255 bytes.
    pub fn ml_dsa_44(name: &str, key: MlDsaSigningKey) -> Result<Self> {
        let public = WitnessKey::new(name, WitnessAlgorithm::MlDsa44(key.public().clone()))?;
        Ok(Cosigner { public, key: CosignerKey::MlDsa44(Box::new(key)) })
    }

    /// Public key that verifies cosignatures of this key.
    pub fn public(&self) -> &WitnessKey {
        &self.public
    }

    /// The key's line of a key file. The caller writes it with mode 0600.
    pub fn to_file(&self) -> Zeroizing<String> {
        let (kind, secret) = match &self.key {
            CosignerKey::Ed25519(key) => (ED25519, Zeroizing::new(key.to_bytes())),
            CosignerKey::MlDsa44(key) => (ML_DSA_44, key.seed()),
        };
        to_key_file(kind, self.public.name(), self.public.id(), &secret)
    }

    /// Reads the text of a key file with one key.
    ///
    /// # Errors
    /// [`LogError::KeyText`].
    pub fn from_file(text: &str) -> Result<Self> {
        let expected = "expected PRIVATE+KEY+NAME+ID+BASE64 of a witness";
        let (name, number, kind, secret) = from_key_file(text, expected)?;
        let cosigner = match kind {
            ED25519 => Self::new(name, &secret)?,
            ML_DSA_44 => Self::ml_dsa_44(name, MlDsaSigningKey::from_seed(&secret))?,
            _ => return Err(LogError::KeyText(expected)),
        };
        if number != format!("{:08x}", cosigner.public.id()) {
            return Err(LogError::KeyText(OTHER_NUMBER));
        }
        Ok(cosigner)
    }

    /// Reads the text of a key file: a line for each key of one witness, at most one of a kind.
    ///
    /// # Errors
    /// [`LogError::KeyText`].
    pub fn all_from_file(text: &str) -> Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        for line in text.trim_end().split('\n') {
            let next = Self::from_file(line)?;
            let contradicts = |before: &Self| {
                before.public.name != next.public.name || before.public.kind() == next.public.kind()
            };
            if all.iter().any(contradicts) {
                return Err(LogError::KeyText("expected the keys of one witness, one of each kind"));
            }
            all.push(next);
        }
        Ok(all)
    }

    /// Cosigns a checkpoint's text at a time. The log is not checked: see [`crate::witness::examine`].
    ///
    /// # Errors
    /// Under ML-DSA-44, [`LogError::Malformed`] for a text that is no checkpoint, or whose log has a
    /// name of more than 255 bytes.
    pub fn cosign(&self, text: &str, time: u64) -> Result<NoteSignature> {
        let signature = match &self.key {
            CosignerKey::Ed25519(key) => {
                key.sign(&cosignature::ed25519_message(time, text)).to_bytes().to_vec()
            }
            CosignerKey::MlDsa44(key) => {
                let Checkpoint { origin, size, root, .. } = Checkpoint::parse_text(text)?;
                let head = SignedHead { origin: &origin, size, root: &root };
                let message = cosignature::ml_dsa_message(self.public.name(), time, &head);
                let long = || LogError::malformed("checkpoint", "the log's name has more than 255 bytes");
                key.sign(&message.ok_or_else(long)?).signature.0.to_vec()
            }
        };
        let bytes = [time.to_be_bytes().as_slice(), &signature].concat();
        Ok(NoteSignature { name: self.public.name.clone(), id: self.public.id(), bytes })
    }
}

impl fmt::Debug for Cosigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cosigner(for {})", self.public)
    }
}
