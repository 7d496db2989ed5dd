//! Tests of details; whole messages are compared in `tests/suite`.

use super::*;
use crate::sets::{SETS, WeakParams};

#[test]
fn bits_that_responses_lack_are_those_of_the_library() {
    let expected = [[20, 12], [19, 11], [18, 10], [11, 3], [9, 0], [8, 0]];
    for (set, expected) in SETS.iter().zip(expected) {
        let codec = Codec::new(set.kit(WeakParams::Reject).unwrap().0).unwrap();
        assert_eq!(codec.skipped, expected, "{}", set.name);
    }
    assert!(skipped(4096, 100, 17).is_err());
}
