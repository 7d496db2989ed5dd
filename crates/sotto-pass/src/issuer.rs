//! The issuer's requests and the check of a token, as functions.
//!
//! | request | what it gives |
//! |---|---|
//! | `GET /.well-known/private-token-issuer-directory` | [`Issuer::directory`]: all keys, for everyone (RFC 9578 section 4) |
//! | `GET /token-key-for-user-token` | [`Issuer::key_for`]: the key of the user's tier |
//! | `POST /issue` | [`Issuer::issue`]: a blind signature (RFC 9578 section 6.2) |
//! | any other, with `Authorization: PrivateToken token=...` | [`Issuer::redeem`]: whether it may go on (RFC 9577 section 2.2) |
//!
//! Who issues knows the user and sees a blinded message; who redeems sees a token and knows the tier. Nothing links the two.

use crate::issuer_keys::{IssuerKeys, ScheduledKey};
use crate::ledger::{KeySerial, Ledger, LedgerError};
use crate::message::{REQUEST, SIGNATURE, TOKEN, Token, TokenRequest, challenge, sha256};
use crate::users::UserTiers;
use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use rand_core::CryptoRng;
use serde_json::{Value, json};
use std::sync::Arc;

/// Written with padding, and read with it or without.
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An issuer and a verifier of its tokens.
#[derive(Debug, Clone)]
pub struct Issuer {
    /// The keys.
    pub ring: IssuerKeys,
    /// Who may have tokens.
    pub users: UserTiers,
    /// Tokens that a user may have of one key.
    pub max_issued: u32,
    /// Where tokens are asked for, as the directory says it: a path of the issuer, or a whole address.
    pub issue_uri: String,
    /// The issuer's name, if tokens have to be of challenges that name it and no context and no origin.
    pub issuer: Option<String>,
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the answer.
    pub status: u16,
    /// Why, for whoever reads it. It does not repeat what was sent.
    pub why: &'static str,
    /// The header `WWW-Authenticate`, where a token or a user's name is wanted.
    pub authenticate: Option<String>,
}

/// What was asked for could not be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssuerError {
    /// By the client's fault.
    Refused(Refusal),
    /// By the ledger's.
    Broken(LedgerError),
}

impl From<LedgerError> for IssuerError {
    fn from(why: LedgerError) -> Self {
        IssuerError::Broken(why)
    }
}

/// A signature that a user may have, was counted, and is not made yet. Only [`GrantedSignature::sign`] takes the private key.
#[derive(Debug)]
pub struct GrantedSignature {
    timed: Arc<ScheduledKey>,
    blinded: [u8; SIGNATURE],
}

impl GrantedSignature {
    /// Signs. How long it takes may depend on the key (RUSTSEC-2023-0071): who answers a client lets the time say nothing.
    ///
    /// # Errors
    /// [`IssuerError::Broken`] of a key that signs nothing.
    pub fn sign(&self, rng: &mut dyn CryptoRng) -> Result<Vec<u8>, IssuerError> {
        let signed = self.timed.key.sign(&self.blinded, rng);
        signed.ok_or_else(|| IssuerError::Broken(LedgerError("a key that signs nothing".into())))
    }
}

/// A token that was signed, and is not spent yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedToken {
    /// The tier of whoever was given it.
    pub tier: String,
    serial: KeySerial,
    nonce: [u8; 32],
}

fn refused<T>(status: u16, why: &'static str) -> Result<T, IssuerError> {
    Err(IssuerError::Refused(Refusal { status, why, authenticate: None }))
}

impl Issuer {
    /// The directory of keys, in JSON. What signs now comes first, then what will, then what did.
    pub fn directory(&self, now: u64) -> Value {
        let mut keys: Vec<&ScheduledKey> = self.ring.keys().collect();
        let signs = |timed: &ScheduledKey| self.ring.is_signing(timed, now);
        keys.sort_by_key(|timed| (!signs(timed), std::cmp::Reverse(timed.from), timed.serial));
        let keys: Vec<Value> = keys
            .into_iter()
            .map(|timed| {
                let key = URL_SAFE.encode(timed.key.public().spki());
                // What signs is good, whatever a clock that went back says.
                let from = if signs(timed) { timed.from.min(now) } else { timed.from };
                json!({ "token-type": crate::message::TYPE, "token-key": key, "not-before": from })
            })
            .collect();
        json!({ "issuer-request-uri": self.issue_uri, "token-keys": keys })
    }

    /// The public key that signs for whoever has this header `Authorization: Bearer ...`.
    ///
    /// # Errors
    /// 401 for nobody's.
    pub fn key_for(&self, authorization: Option<&str>, now: u64) -> Result<&[u8], IssuerError> {
        let (tier, _) = self.user(authorization)?;
        self.ring.signing(tier, now).map(|timed| timed.key.public().spki()).ok_or_else(no_key)
    }

    /// Whether this header `Authorization: Bearer ...` is of a user who may have tokens.
    ///
    /// # Errors
    /// 401 for nobody's.
    pub fn knows(&self, authorization: Option<&str>) -> Result<(), IssuerError> {
        self.user(authorization).map(drop)
    }

    /// Signs a token for whoever has this header `Authorization: Bearer ...`, and counts it: [`Issuer::grant`], and the
    /// signature.
    ///
    /// # Errors
    /// As [`Issuer::grant`].
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

    /// Counts a token for whoever has this header `Authorization: Bearer ...`, without any private key.
    ///
    /// # Errors
    /// 401 for nobody's; 422 for what is no request, or of a key of another tier or another time; 429 if the user had as many as
    /// one may have.
    pub fn grant(
        &self,
        authorization: Option<&str>,
        body: &[u8],
        now: u64,
        ledger: &dyn Ledger,
    ) -> Result<GrantedSignature, IssuerError> {
        let (tier, user) = self.user(authorization)?;
        let Some(request) = TokenRequest::take(body) else {
            return refused(422, "a token request of type 2 has 259 bytes");
        };
        // Whoever asked for the key just before the next one took over still has that one.
        let good = |timed: &&Arc<ScheduledKey>| timed.from <= now || self.ring.is_signing(timed, now);
        let found = self.ring.short(request.key).filter(|timed| timed.tier == tier).filter(good);
        let Some(timed) = found else {
            return refused(422, "not the key of the user's tier: ask for it again");
        };
        if !timed.key.public().takes(&request.blinded) {
            return refused(422, "the blinded message is no number below the modulus");
        }
        // Counted first: a user who has had all of them costs no signatures.
        if !ledger.count_issued(timed.serial, &user, self.max_issued)? {
            return refused(429, "the user had as many tokens as there are for one key");
        }
        Ok(GrantedSignature { timed: timed.clone(), blinded: request.blinded })
    }

    /// Spends the token of this header `Authorization: PrivateToken token=...`, and gives the tier that it is of:
    /// [`Issuer::verify`] and [`Issuer::spend`].
    ///
    /// # Errors
    /// 401 if there is none, if it is no token of a key that counts, or if it was spent.
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

    /// The token of this header `Authorization: PrivateToken token=...`, which is not spent by this. Whether it was before, only
    /// [`Issuer::spend`] says.
    ///
    /// # Errors
    /// 401 if there is none, or if it is no token of a key that counts.
    pub fn verify(&self, authorization: Option<&str>, now: u64) -> Result<VerifiedToken, IssuerError> {
        let wanted = |why| self.wanted(why, now);
        let text = authorization.and_then(private_token).ok_or_else(|| wanted("a token is wanted"))?;
        // As long as a token is, with padding or quotes: nothing longer is decoded.
        let bytes = (text.len() <= TOKEN.div_ceil(3) * 4).then(|| URL_SAFE.decode(text).ok()).flatten();
        let token = bytes.and_then(|bytes| Token::take(&bytes)).ok_or_else(|| wanted("this is no token"))?;
        let timed = self
            .ring
            .by_id(&token.key)
            .ok_or_else(|| wanted("a token of a key that does not count any more"))?;
        if self.issuer.as_ref().is_some_and(|issuer| sha256(&challenge(issuer)) != token.challenge) {
            return Err(wanted("a token of another challenge"));
        }
        if !timed.key.public().verifies(&token) {
            return Err(wanted("a token that was not signed"));
        }
        Ok(VerifiedToken { tier: timed.tier.clone(), serial: timed.serial, nonce: token.nonce })
    }

    /// Spends a token.
    ///
    /// # Errors
    /// 401 if it was spent before.
    pub fn spend(&self, token: &VerifiedToken, now: u64, ledger: &dyn Ledger) -> Result<(), IssuerError> {
        match ledger.spend_token(token.serial, &token.nonce)? {
            true => Ok(()),
            false => Err(self.wanted("a token that was spent", now)),
        }
    }

    /// Bytes of a request's body at most.
    pub const fn most_bytes() -> usize {
        REQUEST
    }

    fn user(&self, authorization: Option<&str>) -> Result<(&str, [u8; 32]), IssuerError> {
        let given = authorization.and_then(|header| after(header, "Bearer"));
        let found = given.and_then(|given| self.users.find(given));
        let authenticate = || Some("Bearer".to_owned());
        let nobody =
            || Refusal { status: 401, why: "nobody who may have tokens", authenticate: authenticate() };
        found.ok_or_else(|| IssuerError::Refused(nobody()))
    }

    /// What a client without a token is told: why, the challenge, and a key that is good (RFC 9577 section 2.1).
    fn wanted(&self, why: &'static str, now: u64) -> IssuerError {
        let challenge = URL_SAFE.encode(challenge(self.issuer.as_deref().unwrap_or_default()));
        let tiers = self.users.tiers().iter().filter_map(|tier| self.ring.signing(tier, now));
        let each = tiers.map(|timed| {
            let key = URL_SAFE.encode(timed.key.public().spki());
            format!("PrivateToken challenge=\"{challenge}\", token-key=\"{key}\"")
        });
        // One is enough for a client that has none, and headers have limits.
        let authenticate = each.into_iter().next().unwrap_or_else(|| "PrivateToken".into());
        IssuerError::Refused(Refusal { status: 401, why, authenticate: Some(authenticate) })
    }
}

fn no_key() -> IssuerError {
    IssuerError::Broken(LedgerError("a tier has no key".into()))
}

/// What comes after a scheme's name, which is written in any case.
fn after<'a>(header: &'a str, scheme: &str) -> Option<&'a str> {
    let (name, rest) = header.split_once(' ')?;
    name.eq_ignore_ascii_case(scheme).then(|| rest.trim())
}

/// The token's text, with quotes or without.
fn private_token(header: &str) -> Option<&str> {
    let rest = after(header, "PrivateToken")?;
    let text = rest.strip_prefix("token=")?.trim();
    Some(text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text))
}
