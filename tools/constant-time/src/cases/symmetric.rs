//! Symmetric lookups: blinding a secret row and a secret key, unblinding what the server evaluated, and opening a masked row.

use super::Case;
use crate::secret::{Hidden, hidden, show};
use sotto_oprf::{Input, Mask, SecretKey, Version, blind};
use sotto_testkit::rng::seeded;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("oprf/row", || {
            open(Input::row("t", hidden(5), Version(3)), Input::row("t", 5, Version(3)));
        }),
        Case::new("oprf/key", || {
            open(Input::key("t", &hidden(*b"a name"), 20), Input::key("t", b"a name", 20));
        }),
    ]
}

/// `wanted` is what the client asks for, and `item` the same where the server masks its table.
fn open(wanted: sotto_oprf::Result<Input>, item: sotto_oprf::Result<Input>) {
    let (wanted, item) = (wanted.expect("a short name"), item.expect("a short name"));
    let key = SecretKey::generate(&mut seeded("server")).expect("a key");
    let asked = blind(vec![wanted], &mut Hidden(seeded("client"))).expect("an input");
    let mut elements = asked.elements().to_vec();
    show(elements.as_flattened_mut());
    let answer = key.evaluate(&elements, &mut seeded("evaluation")).expect("one element");
    let outputs = asked.finish(&answer.elements, &answer.proof, &key.public()).expect("an honest answer");
    let masked = Mask::new(&key.at(&item).expect("an input")).close(Version(3), b"item");
    let mut item = Mask::new(&outputs[0]).open(&masked).expect("the item's own mask");
    show(item.as_mut_slice());
    assert!(item.as_slice() == b"item");
}
