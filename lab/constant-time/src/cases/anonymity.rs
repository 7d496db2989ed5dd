//! Anonymity of clients: tokens that are signed blindly, and requests that are sealed for a
//! gateway.

use super::Case;
use crate::secret::{SecretRng, hide, show};
use crate::trial::{pick, source, timed};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use sotto_ohttp::suite::Aead;
use sotto_ohttp::{client, gateway};
use sotto_pass::client::Client;
use sotto_pass::key::IssuerKey;
use sotto_pass::message::{TokenRequest, challenge};
use sotto_testkit::rng::seeded;

/// Among them a key of an issuer: to make one takes long under Valgrind.
const VECTORS: &str = include_str!("../../../../guests/sotto-pass/tests/data/rfc9578.json");

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("token/blind", 1, || {
            let data: serde_json::Value = serde_json::from_str(VECTORS).expect("the RFC's vectors");
            let key = IssuerKey::from_pem(data["skS"].as_str().expect("a key")).expect("a key");
            move |_| token(&key)
        }),
        Case::new("ohttp/seal", Aead::ALL.len(), || |round| sealed(Aead::ALL[round])),
    ]
}

/// A token: its issuer does not learn what is blinded, or with which blind.
fn token(issuer: &IssuerKey) {
    let spki = issuer.public().spki();
    let listed = serde_json::json!([{ "token-type": 2, "token-key": URL_SAFE.encode(spki) }]);
    let directory = serde_json::json!({ "token-keys": listed });
    let wallet = Client::new(spki, &directory, &challenge("issuer.example"), 0);
    let wallet = wallet.expect("a key that is listed");
    let rng = &mut SecretRng(source("client"));
    let (mut body, pending) = timed(|| wallet.request(rng)).expect("a request");
    show(body.as_mut_slice());
    let request = TokenRequest::take(&body).expect("a request");
    let answer = issuer.sign(&request.blinded, &mut seeded("signer")).expect("a signature");
    assert!(timed(|| wallet.finish(pending, &answer)).is_ok());
}

/// A request that is sealed for a gateway with a cipher, and its response.
fn sealed(aead: Aead) {
    let gateway_key = gateway::GatewayKey::generate(1, &mut seeded("gateway")).expect("a key");
    let mut config = gateway_key.config();
    config.aeads = vec![aead];
    let mut request = b"what is asked".to_vec();
    request[0] = pick(request[0].into(), 256) as u8;
    let clear = request.clone();
    hide(request.as_mut_slice());
    let rng = &mut SecretRng(source("client"));
    let (mut body, pending) = timed(|| client::seal(&config, &request, rng)).expect("a key that is one");
    show(body.as_mut_slice());
    let opened = gateway::open([&gateway_key].into_iter(), &body).expect("sealed for this key");
    assert!(opened.plain == clear);
    let answer = opened.reply.seal(b"what is said", &mut seeded("answer")).expect("an answer");
    let mut read = timed(|| pending.open(&answer)).expect("an honest answer");
    show(read.as_mut_slice());
    assert!(read == b"what is said");
}
