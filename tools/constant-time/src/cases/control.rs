//! Code that depends on secrets on purpose: if it is not reported, nothing else would be.

use super::Case;
use crate::secret::{hidden, shown};
use std::hint::black_box;

/// What these cases' names begin with.
pub(super) const PREFIX: &str = "control/";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("control/branch", || assert!(branch(hidden(7)) == 1)),
        Case::new("control/index", || assert!(shown(index(&[3, 1, 4, 1, 5, 9, 2, 6], hidden(5))) == 9)),
    ]
}

/// A branch: the two ways do what no mask can do.
#[inline(never)]
fn branch(secret: u64) -> u64 {
    if secret & 1 == 1 {
        return black_box(1);
    }
    black_box(2) + black_box(3)
}

/// An address: the mask leaves nothing to a check of bounds.
#[inline(never)]
fn index(table: &[u8; 8], secret: usize) -> u8 {
    table[secret & 7]
}
