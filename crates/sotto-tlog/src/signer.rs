//! Signing keys of logs, in the text form of Go's notes: `PRIVATE+KEY+NAME+ID+BASE64`.

use crate::key::{OTHER_NUMBER, from_key_file, to_key_file};
use crate::note::{NoteSignature, SignedNote};
use crate::{Checkpoint, Cosigner, LogError, LogKey, Result};
use ed25519_dalek::{Signer, SigningKey};
use sotto_catalog::MlDsaSigningKey;
use sotto_core::CryptoRng;
use std::fmt;
use zeroize::Zeroizing;

/// Number of Ed25519 keys of logs.
const KIND: u8 = 1;

/// A signing key of a log: Ed25519, and ML-DSA-44 beside it if the log has such a key. Wiped on drop;
/// it does not print itself.
pub struct LogSigner {
    key: SigningKey,
    public: LogKey,
    /// Signs with ML-DSA-44, in the log's own name.
    ml_dsa: Option<Cosigner>,
}

impl LogSigner {
    /// Generates a key for a log with this name.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for a name with spaces or a plus.
    pub fn generate(name: &str, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut secret = Zeroizing::new([0; 32]);
        rng.fill_bytes(secret.as_mut_slice());
        Self::new(name, &secret)
    }

    /// Makes the key with these secret bytes.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for a name with spaces or a plus.
    pub fn new(name: &str, secret: &[u8; 32]) -> Result<Self> {
        let key = SigningKey::from_bytes(secret);
        let public = LogKey::ed25519(name, key.verifying_key().as_bytes())?;
        Ok(LogSigner { key, public, ml_dsa: None })
    }

    /// Signs with this ML-DSA-44 key as well, and says so in the public key.
    ///
    /// # Errors
    /// [`LogError::KeyText`]; never for a name that [`LogSigner::new`] accepted.
    pub fn with_ml_dsa(self, key: Option<&MlDsaSigningKey>) -> Result<Self> {
        let Some(key) = key else { return Ok(self) };
        let ml_dsa = Cosigner::ml_dsa_44(self.public.name(), MlDsaSigningKey::from_seed(&key.seed()))?;
        let public = self.public.with_ml_dsa(Some(key.public().clone()));
        Ok(LogSigner { ml_dsa: Some(ml_dsa), public, ..self })
    }

    /// Public key that verifies signatures of this key.
    pub fn public(&self) -> &LogKey {
        &self.public
    }

    /// The text of a key file. The caller writes it with mode 0600.
    pub fn to_file(&self) -> Zeroizing<String> {
        to_key_file(KIND, self.public.name(), self.public.id(), &Zeroizing::new(self.key.to_bytes()))
    }

    /// Reads the text of a key file.
    ///
    /// # Errors
    /// [`LogError::KeyText`].
    pub fn from_file(text: &str) -> Result<Self> {
        let expected = "expected PRIVATE+KEY+NAME+ID+BASE64, with an Ed25519 key";
        let (name, id, kind, secret) = from_key_file(text, expected)?;
        if kind != KIND {
            return Err(LogError::KeyText(expected));
        }
        let signer = Self::new(name, &secret)?;
        if id != format!("{:08x}", signer.public.id()) {
            return Err(LogError::KeyText(OTHER_NUMBER));
        }
        Ok(signer)
    }

    /// Signs a checkpoint. The ML-DSA-44 signature states no time: how new a checkpoint is say its
    /// witnesses.
    pub fn sign(&self, checkpoint: &Checkpoint) -> SignedNote {
        let text = checkpoint.to_string();
        let bytes = self.key.sign(text.as_bytes()).to_bytes().to_vec();
        let signature = NoteSignature { name: self.public.name().into(), id: self.public.id(), bytes };
        // Cosigning fails for long names alone, which make no cosigner.
        let ml_dsa = self.ml_dsa.iter().filter_map(|cosigner| cosigner.cosign(&text, 0).ok());
        let signatures = std::iter::once(signature).chain(ml_dsa).collect();
        SignedNote { text, signatures }
    }
}

impl fmt::Debug for LogSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogSigner(for {})", self.public)
    }
}
