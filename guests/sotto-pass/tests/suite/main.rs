//! Tokens from a user's secret until they are spent, while keys are rotated; the vectors of RFC 9578,
//! appendix B.2.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

use serde_json::Value;
use sotto_pass::client::{Client, TokenError, header};
use sotto_pass::issuer::IssuerError;
use sotto_pass::key::{IssuerKey, PublicKey};
use sotto_pass::ledger::{Ledger, MemoryLedger};
use sotto_pass::message::{Token, TokenRequest, challenge};
use sotto_pass::{Issuer, IssuerKeys, RotationSchedule, UserTiers};
use sotto_prg::system_rng;

const ROTATION: RotationSchedule = RotationSchedule { every: 100, after: 50, before: 10 };

/// An issuer with two tiers at a given time.
fn pass(now: u64, ledger: &dyn Ledger) -> Issuer {
    let users = UserTiers::parse("free ann\nfree bob\npaid eve").unwrap();
    let ring = IssuerKeys::open(ROTATION, ledger).unwrap();
    let ring = ring.turned(users.tiers(), now, ledger, &mut system_rng().unwrap()).unwrap();
    assert!(!ring.is_due(users.tiers(), now));
    Issuer { ring, users, max_issued: 3, issue_uri: "/issue".into(), issuer: None }
}

fn client(pass: &Issuer, user: &str, now: u64) -> Client {
    let spki = pass.key_for(Some(&format!("Bearer {user}")), now).unwrap();
    Client::new(spki, &pass.directory(now), &challenge("issuer.example"), now).unwrap()
}

/// `Authorization` header with a fresh token.
fn token(pass: &Issuer, user: &str, now: u64, ledger: &dyn Ledger) -> Result<String, IssuerError> {
    let (client, mut rng) = (client(pass, user, now), system_rng().unwrap());
    let (body, pending) = client.request(&mut rng).unwrap();
    let answer = pass.issue(Some(&format!("bearer {user}")), &body, now, ledger, &mut rng)?;
    Ok(header(&client.finish(pending, &answer).unwrap()))
}

fn status<T: std::fmt::Debug>(outcome: Result<T, IssuerError>) -> u16 {
    match outcome {
        Err(IssuerError::Refused(refused)) => refused.status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_token_is_spent_once_and_says_the_tier() {
    let ledger = MemoryLedger::default();
    let pass = pass(1000, &ledger);
    let (ann, eve) =
        (token(&pass, "ann", 1000, &ledger).unwrap(), token(&pass, "eve", 1000, &ledger).unwrap());
    assert_eq!(pass.redeem(Some(&ann), 1000, &ledger).unwrap(), "free");
    assert_eq!(pass.redeem(Some(&eve), 1000, &ledger).unwrap(), "paid");
    assert_eq!(status(pass.redeem(Some(&ann), 1000, &ledger)), 401);
    // A token with quotes and without padding.
    let bob = token(&pass, "bob", 1000, &ledger).unwrap();
    let quoted = bob.replace("token=", "token=\"").trim_end_matches('=').to_owned() + "\"";
    assert_eq!(pass.redeem(Some(&quoted), 1000, &ledger).unwrap(), "free");
    assert_eq!(status(pass.redeem(Some(&bob), 1000, &ledger)), 401, "the same token");
    assert_eq!(ledger.spent(), 3);
}

#[test]
fn whoever_has_no_token_is_told_what_is_wanted() {
    let ledger = MemoryLedger::default();
    let mut pass = pass(1000, &ledger);
    let ann = token(&pass, "ann", 1000, &ledger).unwrap();
    let mut forged = ann.clone().into_bytes();
    let at = forged.len() - 9;
    forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(forged).unwrap();
    let long = format!("PrivateToken token={}", "A".repeat(1 << 20));
    for wrong in
        [None, Some(""), Some("PrivateToken"), Some("PrivateToken token="), Some("Bearer ann"), Some(&long)]
    {
        let Err(IssuerError::Refused(refused)) = pass.redeem(wrong, 1000, &ledger) else {
            panic!("{wrong:?}")
        };
        let challenge = refused.authenticate.unwrap();
        assert!(
            refused.status == 401 && challenge.starts_with("PrivateToken challenge=\"AAI"),
            "{challenge}"
        );
    }
    assert_eq!((status(pass.redeem(Some(&forged), 1000, &ledger)), ledger.spent()), (401, 0));
    pass.issuer = Some("another.example".into());
    assert_eq!(status(pass.redeem(Some(&ann), 1000, &ledger)), 401);
    pass.issuer = Some("issuer.example".into());
    assert_eq!(pass.redeem(Some(&ann), 1000, &ledger).unwrap(), "free");
}

#[test]
fn who_may_have_tokens_and_how_many() {
    let ledger = MemoryLedger::default();
    let pass = pass(1000, &ledger);
    for nobody in [None, Some("ann"), Some("Bearer mallory"), Some("Basic ann"), Some("Bearer ")] {
        assert_eq!(status(pass.key_for(nobody, 1000)), 401);
        assert_eq!(status(pass.issue(nobody, &[0; 259], 1000, &ledger, &mut system_rng().unwrap())), 401);
    }
    let (body, _) = client(&pass, "ann", 1000).request(&mut system_rng().unwrap()).unwrap();
    let ask = |user: &str, body: &[u8]| {
        pass.issue(Some(&format!("Bearer {user}")), body, 1000, &ledger, &mut system_rng().unwrap())
    };
    assert_eq!(status(ask("eve", &body)), 422, "the key of another tier");
    let huge = [&body[..3], &[0xff; 256]].concat();
    for wrong in [&[][..], &body[1..], &[&body[..], &[0]].concat(), &huge] {
        assert_eq!(status(ask("ann", wrong)), 422);
    }
    for _ in 0..3 {
        assert_eq!(ask("ann", &body).unwrap().len(), 256);
    }
    assert_eq!(status(ask("ann", &body)), 429);
    assert!(ask("bob", &body).is_ok(), "each user has a number of their own");
}

#[test]
fn keys_are_renewed_and_their_tokens_forgotten() {
    let ledger = MemoryLedger::default();
    let first = pass(1000, &ledger);
    let (early, late) =
        (token(&first, "ann", 1000, &ledger).unwrap(), token(&first, "ann", 1000, &ledger).unwrap());
    first.redeem(Some(&early), 1050, &ledger).unwrap();
    // A restarted issuer has the same keys, and knows what was spent.
    let again = pass(1050, &ledger);
    assert_eq!(again.directory(1050), first.directory(1050));
    assert_eq!(status(again.redeem(Some(&early), 1050, &ledger)), 401);
    // The successor is announced before it signs.
    assert!(!again.ring.is_due(again.users.tiers(), 1089) && again.ring.is_due(again.users.tiers(), 1090));
    let second = pass(1090, &ledger);
    assert_eq!(second.ring.keys().count(), 4);
    assert_eq!(
        second.key_for(Some("Bearer ann"), 1099).unwrap(),
        first.key_for(Some("Bearer ann"), 1000).unwrap()
    );
    assert_ne!(
        second.key_for(Some("Bearer ann"), 1100).unwrap(),
        first.key_for(Some("Bearer ann"), 1000).unwrap()
    );
    let newest = second.key_for(Some("Bearer ann"), 1100).unwrap();
    let unlisted = Client::new(newest, &first.directory(1100), b"", 1100);
    assert_eq!(unlisted.unwrap_err(), TokenError::UnlistedKey);
    let early = Client::new(newest, &second.directory(1100), b"", 1099);
    assert_eq!(early.unwrap_err(), TokenError::UnlistedKey, "a key that is not good yet");
    // A client that requested the key just before gets a token nevertheless, with a count of its
    // own.
    let next = token(&second, "ann", 1100, &ledger).unwrap();
    let (body, _) = client(&first, "ann", 1000).request(&mut system_rng().unwrap()).unwrap();
    second.issue(Some("Bearer ann"), &body, 1100, &ledger, &mut system_rng().unwrap()).unwrap();
    // Tokens of the first key are accepted until its time is over.
    assert_eq!(second.redeem(Some(&late), 1149, &ledger).unwrap(), "free");
    assert_eq!(ledger.spent(), 2);
    let third = pass(1150, &ledger);
    assert_eq!((third.ring.keys().count(), ledger.spent()), (2, 0));
    assert_eq!(status(third.redeem(Some(&late), 1150, &ledger)), 401);
    assert_eq!(third.redeem(Some(&next), 1150, &ledger).unwrap(), "free");
    // A clock that goes back makes no keys, and existing ones continue.
    let back = pass(500, &ledger);
    assert_eq!(back.ring.keys().count(), 2);
    token(&back, "eve", 500, &ledger).unwrap();
    // A clock that goes far ahead replaces all keys.
    assert_eq!(pass(1 << 40, &ledger).ring.keys().count(), 2);
    assert_eq!(ledger.keys().unwrap().iter().map(|kept| kept.serial).collect::<Vec<_>>(), [5, 6]);
}

fn hex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn requests_are_signed_as_recorded() {
    let data: Value = serde_json::from_str(include_str!("../data/rfc9578.json")).unwrap();
    let key = IssuerKey::from_pem(data["skS"].as_str().unwrap()).unwrap();
    assert_eq!(key.public().spki(), hex(&data["pkS"]));
    assert_eq!(IssuerKey::from_der(&key.to_der().unwrap()).unwrap().public().id(), key.public().id());
    assert!(PublicKey::take(&hex(&data["pkS"])).is_some());
    let vectors = data["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 5);
    for vector in vectors {
        let request = TokenRequest::take(&hex(&vector["token_request"])).unwrap();
        assert_eq!((request.key, request.to_bytes()), (key.public().short(), hex(&vector["token_request"])));
        assert_eq!(
            key.sign(&request.blinded, &mut system_rng().unwrap()).unwrap(),
            hex(&vector["token_response"])
        );
        let token = Token::take(&hex(&vector["token"])).unwrap();
        assert_eq!((token.key, token.to_bytes()), (*key.public().id(), hex(&vector["token"])));
        assert_eq!(token.nonce[..], hex(&vector["nonce"]));
        use sha2::{Digest, Sha256};
        assert_eq!(token.challenge[..], Sha256::digest(hex(&vector["token_challenge"]))[..]);
        assert!(key.public().verifies(&token));
        assert!(!key.public().verifies(&Token { nonce: [0; 32], ..token }));
    }
}

#[test]
fn damaged_keys_are_refused() {
    let data: Value = serde_json::from_str(include_str!("../data/rfc9578.json")).unwrap();
    let spki = hex(&data["pkS"]);
    for len in [0, 1, 5, 17, 24, 73, spki.len() - 1] {
        assert!(PublicKey::take(&spki[..len]).is_none(), "{len}");
    }
    for at in 0..90 {
        let mut other = spki.clone();
        other[at] ^= 0x55;
        // A change in the modulus may give another valid key; before the modulus nothing may
        // differ.
        assert!(at >= 80 || PublicKey::take(&other).is_none(), "{at}");
    }
    assert!(IssuerKey::from_der(&[0x30, 0x82]).is_none() && IssuerKey::from_pem("-----BEGIN").is_none());
}
