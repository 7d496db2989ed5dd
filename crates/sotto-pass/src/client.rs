//! What a client sends, and how it comes by a token.
//!
//! ```text
//! GET directory, GET key -> Client::new    request -> POST /issue -> finish -> a token, good for one request
//! ```

use crate::key::PublicKey;
use crate::message::{SIGNATURE, TYPE, Token, TokenRequest, sha256, signed};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use blind_rsa_signatures::{BlindSignature, BlindingResult};
use rand_core::CryptoRng;

/// A client that has no token: whose fault that is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The key is none.
    #[error("the issuer's key is no RSA key of 2048 bits for blind signatures")]
    Key,
    /// The directory, which others see too, has not the key: it may be for this client alone.
    #[error("the issuer's directory has not the key that it gave: a key for one user would tell who is who")]
    UnlistedKey,
    /// What came back is no signature of what was sent.
    #[error("the issuer's answer is no signature of the request")]
    Signature,
    /// The library made no request.
    #[error("no request could be made")]
    Request,
}

/// A client of one key.
#[derive(Debug, Clone)]
pub struct Client {
    key: PublicKey,
    challenge: [u8; 32],
}

/// What a client remembers of a request, until the answer comes.
pub struct PendingToken {
    nonce: [u8; 32],
    blinding: BlindingResult,
}

impl Client {
    /// A client of the key that an issuer gave, which its directory must have; for tokens of this challenge.
    ///
    /// # Errors
    /// [`TokenError::Key`], [`TokenError::UnlistedKey`].
    pub fn new(
        spki: &[u8],
        directory: &serde_json::Value,
        challenge: &[u8],
        now: u64,
    ) -> Result<Self, TokenError> {
        let key = PublicKey::take(spki).ok_or(TokenError::Key)?;
        let listed = directory.get("token-keys").and_then(|keys| keys.as_array());
        let is_this = |entry: &serde_json::Value| {
            let text = entry.get("token-key").and_then(|key| key.as_str()).unwrap_or_default();
            let from = entry.get("not-before").and_then(|from| from.as_u64()).unwrap_or(0);
            let kind = entry.get("token-type").and_then(|kind| kind.as_u64());
            kind == Some(u64::from(TYPE))
                && from <= now
                && URL_SAFE.decode(text).is_ok_and(|bytes| bytes == spki)
        };
        if !listed.is_some_and(|all| all.iter().any(is_this)) {
            return Err(TokenError::UnlistedKey);
        }
        Ok(Client { key, challenge: sha256(challenge) })
    }

    /// The body of a request for a token.
    ///
    /// # Errors
    /// [`TokenError::Request`].
    pub fn request(&self, rng: &mut dyn CryptoRng) -> Result<(Vec<u8>, PendingToken), TokenError> {
        let mut nonce = [0; 32];
        rng.fill_bytes(&mut nonce);
        let message = signed(&nonce, &self.challenge, self.key.id());
        let blinding = self.key.rsa.blind(rng, message).map_err(|_| TokenError::Request)?;
        let blinded = *blinding.blind_message.0.as_array().ok_or(TokenError::Request)?;
        Ok((TokenRequest { key: self.key.short(), blinded }.to_bytes(), PendingToken { nonce, blinding }))
    }

    /// The token, from the answer to the request.
    ///
    /// # Errors
    /// [`TokenError::Signature`].
    pub fn finish(&self, pending: PendingToken, answer: &[u8]) -> Result<Token, TokenError> {
        let answer: [u8; SIGNATURE] = *answer.as_array().ok_or(TokenError::Signature)?;
        let message = signed(&pending.nonce, &self.challenge, self.key.id());
        let signature = self.key.rsa.finalize(&BlindSignature(answer.to_vec()), &pending.blinding, message);
        let signature = signature.map_err(|_| TokenError::Signature)?;
        let signature = *signature.0.as_array().ok_or(TokenError::Signature)?;
        Ok(Token { nonce: pending.nonce, challenge: self.challenge, key: *self.key.id(), signature })
    }
}

/// The header `Authorization` that spends a token.
pub fn header(token: &Token) -> String {
    format!("PrivateToken token={}", URL_SAFE.encode(token.to_bytes()))
}

impl std::fmt::Debug for PendingToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}
