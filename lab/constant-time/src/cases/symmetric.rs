//! Symmetric lookups: blinding a secret row and a secret key, unblinding what the server evaluated, and opening a masked row;
//! and the function over P-384, which others' protocols have.

use super::Case;
use crate::secret::{SecretRng, hidden, hide, show};
use crate::trial::{pick, source, timed};
use sotto_oprf::p384;
use sotto_oprf::{Input, MaskVersion, RowMask, SecretKey, blind};
use sotto_testkit::rng::seeded;
use zeroize::Zeroizing;

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
