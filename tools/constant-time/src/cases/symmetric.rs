//! Symmetric lookups: blinding a secret row and a secret key, unblinding what the server evaluated, and opening a masked row.

use super::Case;
use crate::secret::{Hidden, hidden, show};
use crate::trial::{pick, source, timed};
use sotto_oprf::{Input, MaskVersion, RowMask, SecretKey, blind};
use sotto_testkit::rng::seeded;

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
    ]
}

/// `wanted` is what the client asks for, and `item` the same where the server masks its table.
fn open(wanted: impl FnOnce() -> sotto_oprf::Result<Input>, item: sotto_oprf::Result<Input>) {
    let key = SecretKey::generate(&mut seeded("server")).expect("a key");
    let rng = &mut Hidden(source("client"));
    let asked = timed(|| blind(vec![wanted().expect("a short name")], rng)).expect("an input");
    let mut elements = asked.elements().to_vec();
    show(elements.as_flattened_mut());
    let answer = key.evaluate(&elements, &mut seeded("evaluation")).expect("one element");
    let public = key.public();
    let outputs = timed(|| asked.finish(&answer.elements, &answer.proof, &public)).expect("an honest answer");
    let item = item.expect("a short name");
    let masked = RowMask::new(&key.at(&item).expect("an input")).close(MaskVersion(3), b"item");
    let mut item = timed(|| RowMask::new(&outputs[0]).open(&masked)).expect("the item's own mask");
    show(item.as_mut_slice());
    assert!(item.as_slice() == b"item");
}
