//! Blinding: a secret row and a secret key of symmetric tables, unblinding what the server evaluated,
//! and opening a masked row; the function over P-384, which others' protocols have; and tokens that
//! are signed blindly. Requests that are sealed for a gateway are here too.

use super::Case;
use crate::secret::{SecretRng, hidden, hide, pick, show, source, timed};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use sotto_ohttp::suite::Aead;
use sotto_ohttp::{client, gateway};
use sotto_oprf::p384;
use sotto_oprf::{Input, MaskVersion, RowMask, SecretKey, blind};
use sotto_pass::client::Client;
use sotto_pass::key::IssuerKey;
use sotto_pass::message::{TokenRequest, challenge};
use sotto_testkit::rng::seeded;
use zeroize::Zeroizing;

/// Among them a key of an issuer: to make one takes long under Valgrind.
const VECTORS: &str = include_str!("../../../../guests/sotto-pass/tests/data/rfc9578.json");

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("oprf/row", 1, || {
            |_| {
                let row = pick(5, 1 << 20);
                open(|| Input::row("t", hidden(row), MaskVersion(3)), Input::row("t", row, MaskVersion(3)));
            }
        }),
        Case::new("oprf/key", 1, || {
            |_| {
                let mut key = *b"a name";
                key[0] = pick(key[0].into(), 256) as u8;
                open(|| Input::key("t", &hidden(key), 20), Input::key("t", &key, 20));
            }
        }),
        Case::new("oprf/p384", 1, || |_| evaluated()),
        Case::new("token/blind", 1, || {
            let data: serde_json::Value = serde_json::from_str(VECTORS).expect("the RFC's vectors");
            let key = IssuerKey::from_pem(data["skS"].as_str().expect("a key")).expect("a key");
            move |_| token(&key)
        }),
        Case::new("ohttp/seal", Aead::ALL.len(), || |round| sealed(Aead::ALL[round])),
    ]
}

/// `input` is what the client asks for, and `item` the same where the server masks its table.
fn open(input: impl FnOnce() -> sotto_oprf::Result<Input>, item: sotto_oprf::Result<Input>) {
    let key = SecretKey::generate(&mut seeded("server")).expect("a key");
    let rng = &mut SecretRng(source("client"));
    let blinded = timed(|| blind(vec![input().expect("a short name")], rng)).expect("an input");
    let mut elements = blinded.elements().to_vec();
    show(elements.as_flattened_mut());
    let answer = key.evaluate(&elements, &mut seeded("evaluation")).expect("one element");
    let public = key.public();
    let outputs =
        timed(|| blinded.finish(&answer.elements, &answer.proof, &public)).expect("an honest answer");
    let item = item.expect("a short name");
    let masked = RowMask::new(&key.at(&item).expect("an input")).close(MaskVersion(3), b"item");
    let mut item = timed(|| RowMask::new(&outputs[0]).open(&masked)).expect("the item's own mask");
    show(item.as_mut_slice());
    assert!(item.as_slice() == b"item");
}

/// An evaluation over P-384, of a secret input with a secret blind.
fn evaluated() {
    let server = p384::SecretKey::generate(&mut seeded("server")).expect("a key");
    let mut input = *b"a name";
    input[0] = pick(input[0].into(), 256) as u8;
    let mut secret = input.to_vec();
    hide(secret.as_mut_slice());
    let rng = &mut SecretRng(source("client"));
    let blinded = timed(|| p384::blind(Zeroizing::new(secret), rng)).expect("a short input");
    let mut element = *blinded.element();
    show(&mut element);
    let answer = server.evaluate(&element, &mut seeded("evaluation")).expect("an element");
    let public = server.public();
    let output = timed(|| blinded.finish(&answer.element, &answer.proof, &public)).expect("an honest answer");
    let mut bytes = *output.bytes();
    show(&mut bytes);
    assert!(bytes == *server.at(&input).expect("a short input").bytes());
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
