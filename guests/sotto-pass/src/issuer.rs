//! Requests to the issuer, and the verification of tokens, as functions.
//!
//! | request | function |
//! |---|---|
//! | `GET /.well-known/private-token-issuer-directory` | [`Issuer::directory`]: all keys, for everyone (RFC 9578 section 4) |
//! | `GET /token-key-for-user-token` | [`Issuer::key_for`]: the key of the user's tier |
//! | `POST /issue` | [`Issuer::issue`]: a blind signature (RFC 9578 section 6.2) |
//! | any other, with `Authorization: PrivateToken token=...` | [`Issuer::redeem`]: whether it is allowed (RFC 9577 section 2.2) |
//!
//! Issuing knows the user and sees a blinded message; redeeming sees a token and knows the tier.
//! Nothing links the two.

use crate::issuer_keys::{IssuerKeys, ScheduledKey};
use crate::ledger::{KeySerial, Ledger, LedgerError};
use crate::message::{REQUEST, SIGNATURE, TOKEN, Token, TokenRequest, challenge, sha256};
use crate::users::UserTiers;
use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use rand_core::CryptoRng;
use serde_json::{Value, json};
use std::sync::Arc;

/// Base64 that is written with padding, and read with or without it.
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Issuer and verifier of tokens.
#[derive(Debug, Clone)]
pub struct Issuer {
    /// Keys of the issuer.
    pub ring: IssuerKeys,
    /// Users who may have tokens, and their tiers.
    pub users: UserTiers,
    /// Number of tokens that a user may have under one key.
    pub max_issued: u32,
    /// Address for token requests in the directory: a path of the issuer, or a whole URL.
    pub issue_uri: String,
    /// Name of the issuer, if tokens must be for challenges with this name, without context and
    /// origin.
    pub issuer: Option<String>,
}

/// Refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status of the response.
    pub status: u16,
    /// Reason, for a person. It does not repeat the request.
    pub why: &'static str,
    /// `WWW-Authenticate` header, where a token or a user's name is required.
    pub authenticate: Option<String>,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssuerError {
    /// The client's request was refused.
    Refused(Refusal),
    /// The ledger failed.
    Broken(LedgerError),
}

impl From<LedgerError> for IssuerError {
    fn from(why: LedgerError) -> Self {
        IssuerError::Broken(why)
    }
}

/// A signature that was granted and counted, but not made yet. Only [`GrantedSignature::sign`]
/// takes the private key.
#[derive(Debug)]
pub struct GrantedSignature {
    timed: Arc<ScheduledKey>,
    blinded: [u8; SIGNATURE],
}

impl GrantedSignature {
    /// Signs the blinded message. The duration may depend on the key (RUSTSEC-2023-0071): a caller
    /// that answers clients must not reveal it.
    ///
    /// # Errors
    /// [`IssuerError::Broken`] if the key cannot sign.
    pub fn sign(&self, rng: &mut dyn CryptoRng) -> Result<Vec<u8>, IssuerError> {
        let signed = self.timed.key.sign(&self.blinded, rng);
        signed.ok_or_else(|| IssuerError::Broken(LedgerError("the key cannot sign".into())))
    }
}

/// A token whose signature is valid, and that may be unspent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedToken {
    /// Tier of the user who was given the token.
    pub tier: String,
    serial: KeySerial,
    nonce: [u8; 32],
}

fn refused<T>(status: u16, why: &'static str) -> Result<T, IssuerError> {
    Err(IssuerError::Refused(Refusal { status, why, authenticate: None }))
}

impl Issuer {
    /// Directory of keys, as JSON: first the key that signs now, then its successors, then earlier
    /// keys.
    pub fn directory(&self, now: u64) -> Value {
        let mut keys: Vec<&ScheduledKey> = self.ring.keys().collect();
        let signs = |timed: &ScheduledKey| self.ring.is_signing(timed, now);
        keys.sort_by_key(|timed| (!signs(timed), std::cmp::Reverse(timed.from), timed.serial));
        let keys: Vec<Value> = keys
            .into_iter()
            .map(|timed| {
                let key = URL_SAFE.encode(timed.key.public().spki());
                // The signing key is valid even if the clock went back.
                let from = if signs(timed) { timed.from.min(now) } else { timed.from };
                json!({ "token-type": crate::message::TYPE, "token-key": key, "not-before": from })
            })
            .collect();
        json!({ "issuer-request-uri": self.issue_uri, "token-keys": keys })
    }

    /// Public key that signs for the user of this `Authorization: Bearer ...` header.
    ///
    /// # Errors
    /// 401 for an unknown user.
    pub fn key_for(&self, authorization: Option<&str>, now: u64) -> Result<&[u8], IssuerError> {
        let (tier, _) = self.user(authorization)?;
        self.ring.signing(tier, now).map(|timed| timed.key.public().spki()).ok_or_else(no_key)
    }

    /// Checks that this `Authorization: Bearer ...` header belongs to a user who may have tokens.
    ///
    /// # Errors
    /// 401 for an unknown user.
    pub fn knows(&self, authorization: Option<&str>) -> Result<(), IssuerError> {
        self.user(authorization).map(drop)
    }

    /// Signs a token for the user of this `Authorization: Bearer ...` header, and counts it:
    /// [`Issuer::grant`], and the signature.
    ///
    /// # Errors
    /// The errors of [`Issuer::grant`].
    pub fn issue(
        &self,
        authorization: Option<&str>,
        body: &[u8],
        now: u64,
        ledger: &dyn Ledger,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, IssuerError> {
        self.grant(authorization, body, now, ledger)?.sign(rng)
    }

    /// Counts a token for the user of this `Authorization: Bearer ...` header, without using a
    /// private key.
    ///
    /// # Errors
    /// 401 for an unknown user; 422 for an invalid request, or one for a key of another tier or
    /// another time; 429 if the user already has the maximum number of tokens.
    pub fn grant(
        &self,
        authorization: Option<&str>,
        body: &[u8],
        now: u64,
        ledger: &dyn Ledger,
    ) -> Result<GrantedSignature, IssuerError> {
        let (tier, user) = self.user(authorization)?;
        let Some(request) = TokenRequest::take(body) else {
            return refused(422, "expected a token request of type 2, of 259 bytes");
        };
        // A client that requested the key just before its successor took over still uses it.
        let good = |timed: &&Arc<ScheduledKey>| timed.from <= now || self.ring.is_signing(timed, now);
        let found = self.ring.short(request.key).filter(|timed| timed.tier == tier).filter(good);
        let Some(timed) = found else {
            return refused(422, "not the current key of the user's tier: fetch it again");
        };
        if !timed.key.public().takes(&request.blinded) {
            return refused(422, "the blinded message is not below the modulus");
        }
        // Counted first: a user who has the maximum number of tokens causes no signatures.
        if !ledger.count_issued(timed.serial, &user, self.max_issued)? {
            return refused(429, "the user has reached the number of tokens per key");
        }
        Ok(GrantedSignature { timed: timed.clone(), blinded: request.blinded })
    }

    /// Verifies and spends the token of this `Authorization: PrivateToken token=...` header, and
    /// returns its tier: [`Issuer::verify`] and [`Issuer::spend`].
    ///
    /// # Errors
    /// 401 if the token is missing, is not of a valid key, or was spent before.
    pub fn redeem(
        &self,
        authorization: Option<&str>,
        now: u64,
        ledger: &dyn Ledger,
    ) -> Result<String, IssuerError> {
        let token = self.verify(authorization, now)?;
        self.spend(&token, now, ledger)?;
        Ok(token.tier)
    }

    /// Verifies the token of this `Authorization: PrivateToken token=...` header, without spending
    /// it. Only [`Issuer::spend`] detects a token that was spent before.
    ///
    /// # Errors
    /// 401 if the token is missing, or is not of a valid key.
    pub fn verify(&self, authorization: Option<&str>, now: u64) -> Result<VerifiedToken, IssuerError> {
        let refused = |why| self.refused(why, now);
        let text = authorization.and_then(private_token).ok_or_else(|| refused("a token is required"))?;
        // The text is at most as long as a token with padding: nothing longer is decoded.
        let bytes = (text.len() <= TOKEN.div_ceil(3) * 4).then(|| URL_SAFE.decode(text).ok()).flatten();
        let token = bytes.and_then(|bytes| Token::take(&bytes)).ok_or_else(|| refused("not a token"))?;
        let timed = self.ring.by_id(&token.key).ok_or_else(|| refused("the token's key has expired"))?;
        if self.issuer.as_ref().is_some_and(|issuer| sha256(&challenge(issuer)) != token.challenge) {
            return Err(refused("the token answers another challenge"));
        }
        if !timed.key.public().verifies(&token) {
            return Err(refused("the token's signature is not valid"));
        }
        Ok(VerifiedToken { tier: timed.tier.clone(), serial: timed.serial, nonce: token.nonce })
    }

    /// Spends a token.
    ///
    /// # Errors
    /// 401 if the token was spent before.
    pub fn spend(&self, token: &VerifiedToken, now: u64, ledger: &dyn Ledger) -> Result<(), IssuerError> {
        match ledger.spend_token(token.serial, &token.nonce)? {
            true => Ok(()),
            false => Err(self.refused("the token was spent already", now)),
        }
    }

    /// Largest size of a request's body in bytes.
    pub const fn most_bytes() -> usize {
        REQUEST
    }

    fn user(&self, authorization: Option<&str>) -> Result<(&str, [u8; 32]), IssuerError> {
        let given = authorization.and_then(|header| after(header, "Bearer"));
        let found = given.and_then(|given| self.users.find(given));
        let authenticate = || Some("Bearer".to_owned());
        let nobody =
            || Refusal { status: 401, why: "the user may not have tokens", authenticate: authenticate() };
        found.ok_or_else(|| IssuerError::Refused(nobody()))
    }

    /// Refusal for a client without a token, with the reason, the challenge, and a valid key (RFC
    /// 9577 section 2.1).
    fn refused(&self, why: &'static str, now: u64) -> IssuerError {
        let challenge = URL_SAFE.encode(challenge(self.issuer.as_deref().unwrap_or_default()));
        let tiers = self.users.tiers().iter().filter_map(|tier| self.ring.signing(tier, now));
        let each = tiers.map(|timed| {
            let key = URL_SAFE.encode(timed.key.public().spki());
            format!("PrivateToken challenge=\"{challenge}\", token-key=\"{key}\"")
        });
        // One challenge suffices for a client without a token, and headers are limited.
        let authenticate = each.into_iter().next().unwrap_or_else(|| "PrivateToken".into());
        IssuerError::Refused(Refusal { status: 401, why, authenticate: Some(authenticate) })
    }
}

fn no_key() -> IssuerError {
    IssuerError::Broken(LedgerError("a tier has no key".into()))
}

/// Text after a scheme's name, which is case-insensitive.
fn after<'a>(header: &'a str, scheme: &str) -> Option<&'a str> {
    let (name, rest) = header.split_once(' ')?;
    name.eq_ignore_ascii_case(scheme).then(|| rest.trim())
}

/// Text of the token, with quotes or without.
fn private_token(header: &str) -> Option<&str> {
    let rest = after(header, "PrivateToken")?;
    let text = rest.strip_prefix("token=")?.trim();
    Some(text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text))
}
