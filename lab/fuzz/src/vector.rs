//! Recorded lookups: one that was changed is refused, or says the same.

use sotto_binding::vector::{Vector, replay};

/// A vector, replayed.
pub(crate) fn vector(data: &[u8]) -> bool {
    let Ok(replayed) = replay(data) else { return false };
    // Nobody makes another row of recorded answers by changing bytes.
    let seeds = vectors();
    let (seed, _) = Vector::parse(&seeds[0]).unwrap();
    assert_eq!((replayed.row, replayed.value), (seed.row, seed.value.0));
    true
}

/// One of a scheme that answers quickly.
pub(crate) fn vectors() -> Vec<Vec<u8>> {
    let files: [&[u8]; 2] = [
        include_bytes!("../../../spec/vectors/dpf-1.json"),
        include_bytes!("../../../spec/vectors/dpf-1.bin"),
    ];
    vec![files.concat()]
}
