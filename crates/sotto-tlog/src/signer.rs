//! Signing keys of logs, in the text form of Go's notes: `PRIVATE+KEY+NAME+ID+BASE64`.

use crate::key::OTHER_NUMBER;
use crate::note::{NoteSignature, SignedNote};
use crate::text::unbase64;
use crate::{Checkpoint, LogError, LogKey, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use sotto_core::CryptoRng;
use std::fmt;
use zeroize::Zeroizing;

const PREFIX: &str = "PRIVATE+KEY+";

/// An Ed25519 signing key of a log. Wiped on drop; it does not print itself.
pub struct LogSigner {
    key: SigningKey,
    public: LogKey,
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
        Ok(LogSigner { key, public })
    }

    /// Public key that verifies signatures of this key.
    pub fn public(&self) -> &LogKey {
        &self.public
    }

    /// The text of a key file. The caller writes it with mode 0600.
    pub fn to_file(&self) -> Zeroizing<String> {
        let mut secret = Zeroizing::new([1; 33]);
        secret[1..].copy_from_slice(Zeroizing::new(self.key.to_bytes()).as_slice());
        let encoded = Zeroizing::new(STANDARD.encode(secret.as_slice()));
        let (name, id) = (self.public.name(), self.public.id());
        // Allocated in full from the start: growing would leave copies behind.
        let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + name.len() + 80));
        text.push_str(PREFIX);
        text.push_str(name);
        text.push_str(&format!("+{id:08x}+"));
        text.push_str(&encoded);
        text.push('\n');
        text
    }

    /// Reads the text of a key file.
    ///
    /// # Errors
    /// [`LogError::KeyText`].
    pub fn from_file(text: &str) -> Result<Self> {
        let refuse = || LogError::KeyText("expected PRIVATE+KEY+NAME+ID+BASE64, with an Ed25519 key");
        let mut parts = text.trim().strip_prefix(PREFIX).ok_or_else(refuse)?.splitn(3, '+');
        let (Some(name), Some(id), Some(encoded)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(refuse());
        };
        let decoded = Zeroizing::new(unbase64(encoded).ok_or_else(refuse)?);
        let Some((1, secret)) = decoded.split_first() else { return Err(refuse()) };
        let signer = Self::new(name, secret.try_into().map_err(|_| refuse())?)?;
        if id != format!("{:08x}", signer.public.id()) {
            return Err(LogError::KeyText(OTHER_NUMBER));
        }
        Ok(signer)
    }

    /// Signs a checkpoint.
    pub fn sign(&self, checkpoint: &Checkpoint) -> SignedNote {
        let text = checkpoint.to_string();
        let bytes = self.key.sign(text.as_bytes()).to_bytes().to_vec();
        let signature = NoteSignature { name: self.public.name().into(), id: self.public.id(), bytes };
        SignedNote { text, signatures: vec![signature] }
    }
}

impl fmt::Debug for LogSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogSigner(for {})", self.public)
    }
}
