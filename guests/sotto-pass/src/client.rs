//! Client of Privacy Pass: requests tokens, and spends them.
//!
//! ```text
//! GET directory, GET key -> Client::new    request -> POST /issue -> finish -> a token, valid for one request
//! ```

use crate::key::PublicKey;
use crate::message::{SIGNATURE, TYPE, Token, TokenRequest, sha256, signed};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use blind_rsa_signatures::{BlindSignature, BlindingResult};
use rand_core::CryptoRng;

/// Why a client got no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The key is invalid.
    #[error("the issuer's key is not an RSA key of 2048 bits for blind signatures")]
    Key,
    /// The directory, which is the same for everyone, does not contain the key: the key may
    /// identify this client.
    #[error(
        "the issuer's directory lacks the key that the issuer gave: a key for one user alone would identify the \
         user"
    )]
    UnlistedKey,
    /// The response is not a signature of the request.
    #[error("the issuer's response is not a signature of the request")]
    Signature,
    /// The library could not make a request.
    #[error("no request could be made")]
    Request,
}

/// A client that requests tokens under one key.
#[derive(Debug, Clone)]
pub struct Client {
    key: PublicKey,
    challenge: [u8; 32],
}

/// Secret of one request, which a client keeps until the response arrives.
pub struct PendingToken {
    nonce: [u8; 32],
    blinding: BlindingResult,
}

impl Client {
    /// Makes a client for the key that an issuer returned, which its directory must contain. The
    /// tokens are for this challenge.
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

    /// Makes the body of a request for a token, and the secret that reads the response.
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

    /// Recovers the token from the response to its request.
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

/// `Authorization` header that spends a token.
pub fn header(token: &Token) -> String {
    format!("PrivateToken token={}", URL_SAFE.encode(token.to_bytes()))
}

impl std::fmt::Debug for PendingToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}
