//! The vectors of RFC 9578, appendix B.2.

use serde_json::Value;
use sotto_pass::key::{IssuerKey, PublicKey};
use sotto_pass::message::{Token, TokenRequest};
use sotto_prg::system_rng;

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
