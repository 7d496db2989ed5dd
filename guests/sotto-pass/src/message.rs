//! Encodings of challenges, requests and tokens.
//!
//! ```text
//! challenge  type u16 | len u16, issuer's name | len u8, context | len u16, origins      RFC 9577 section 2.1
//! request    type u16 | last byte of the key's id | blinded message (256)                 RFC 9578 section 6.1
//! response   blind signature (256)                                                        RFC 9578 section 6.2
//! token      type u16 | nonce (32) | digest of the challenge (32) | key's id (32) | signature (256)   RFC 9577 section 2.2
//! ```
//!
//! Numbers have their most significant byte first.

use sha2::{Digest, Sha256};

/// Type of tokens that are signed by blind RSA of 2048 bits.
pub const TYPE: u16 = 2;

/// Bytes of a signature, blind or not.
pub const SIGNATURE: usize = 256;

/// Bytes of a request.
pub const REQUEST: usize = 2 + 1 + SIGNATURE;

/// Bytes of a token.
pub const TOKEN: usize = SIGNED + SIGNATURE;

/// Bytes of a token that its signature covers.
const SIGNED: usize = 2 + 3 * 32;

/// Challenge for a token of this issuer for any purpose: without a context, and for any origin.
pub fn challenge(issuer: &str) -> Vec<u8> {
    let mut bytes = TYPE.to_be_bytes().to_vec();
    bytes.extend((issuer.len() as u16).to_be_bytes());
    bytes.extend(issuer.as_bytes());
    bytes.extend([0, 0, 0]);
    bytes
}

/// Request to sign a blinded message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRequest {
    /// Last byte of the key's id.
    pub key: u8,
    /// The blinded message.
    pub blinded: [u8; SIGNATURE],
}

impl TokenRequest {
    /// Parses a request; `None` if it has another length or type.
    pub fn take(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first_chunk()?;
        let (key, blinded) = rest.split_first()?;
        let blinded = *blinded.as_array()?;
        (*kind == TYPE.to_be_bytes()).then_some(TokenRequest { key: *key, blinded })
    }

    /// Encodes the request.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&TYPE.to_be_bytes()[..], &[self.key], &self.blinded].concat()
    }
}

/// A token, which one request spends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Random bytes that make the token unique.
    pub nonce: [u8; 32],
    /// SHA-256 of the challenge that the token answers.
    pub challenge: [u8; 32],
    /// Id of the key that signed the token.
    pub key: [u8; 32],
    /// Signature of the token's other fields.
    pub signature: [u8; SIGNATURE],
}

impl Token {
    /// Parses a token; `None` if it has another length or type.
    pub fn take(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first_chunk()?;
        let (nonce, rest) = rest.split_first_chunk()?;
        let (challenge, rest) = rest.split_first_chunk()?;
        let (key, signature) = rest.split_first_chunk()?;
        let token =
            Token { nonce: *nonce, challenge: *challenge, key: *key, signature: *signature.as_array()? };
        (*kind == TYPE.to_be_bytes()).then_some(token)
    }

    /// Encodes the token.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&signed(&self.nonce, &self.challenge, &self.key)[..], &self.signature].concat()
    }

    /// Bytes that the token's signature covers.
    pub fn signed(&self) -> Vec<u8> {
        signed(&self.nonce, &self.challenge, &self.key)
    }
}

/// Bytes that the signature of a token with these fields covers.
pub(crate) fn signed(nonce: &[u8; 32], challenge: &[u8; 32], key: &[u8; 32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SIGNED);
    bytes.extend(TYPE.to_be_bytes());
    bytes.extend([nonce, challenge, key].into_iter().flatten());
    bytes
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_one_form() {
        let request = TokenRequest { key: 7, blinded: [9; SIGNATURE] };
        let bytes = request.to_bytes();
        assert_eq!((bytes.len(), TokenRequest::take(&bytes)), (REQUEST, Some(request)));
        let token = Token { nonce: [1; 32], challenge: [2; 32], key: [3; 32], signature: [4; SIGNATURE] };
        let whole = token.to_bytes();
        assert_eq!((whole.len(), Token::take(&whole)), (TOKEN, Some(token)));
        for wrong in [&bytes[1..], &[&bytes[..], &[0]].concat(), &[&[0, 1], &bytes[2..]].concat(), &[]] {
            assert_eq!(TokenRequest::take(wrong), None);
        }
        for wrong in [&whole[1..], &[&whole[..], &[0]].concat(), &[&[0, 1], &whole[2..]].concat(), &[]] {
            assert_eq!(Token::take(wrong), None);
        }
    }

    #[test]
    fn a_challenge_without_context_is_of_rfc_9577() {
        assert_eq!(challenge("ab"), [0, 2, 0, 2, b'a', b'b', 0, 0, 0]);
    }
}
