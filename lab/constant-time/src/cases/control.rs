//! Code that depends on secrets on purpose: if it is not reported, nothing else would be.

use super::Case;
use crate::secret::{hidden, shown, source, timed};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use sotto_testkit::rng::seeded;
use std::hint::black_box;
use subtle::ConstantTimeEq;

/// Prefix of the names of these cases.
pub(super) const PREFIX: &str = "control/";
/// The control that timing must report.
pub(super) const LEAKS: &str = "control/early-exit";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("control/branch", 1, || |_| assert!(branch(hidden(7)) == 1)),
        Case::new("control/index", 1, || {
            |_| assert!(shown(index(&[3, 1, 4, 1, 5, 9, 2, 6], hidden(5))) == 9)
        }),
    ]
}

/// The controls for timing: one stops at the first wrong byte, and one never does.
pub(super) fn for_the_clock() -> Vec<Case> {
    let bytes = |mut source: ChaCha20Rng| {
        let mut bytes = vec![0; 4096];
        source.fill_bytes(&mut bytes);
        bytes
    };
    let compared = move |name, same: fn(&[u8], &[u8]) -> bool| {
        Case::new(name, 1, move || {
            let right = bytes(seeded("right"));
            move |_| {
                let secret = bytes(source("right"));
                black_box(timed(|| same(&right, &secret)));
            }
        })
    };
    vec![
        compared(LEAKS, |a, b| a.iter().zip(b).all(|(a, b)| black_box(a) == b)),
        compared("control/constant", |a, b| a.ct_eq(b).into()),
    ]
}

/// A branch whose two sides no mask can replace.
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
