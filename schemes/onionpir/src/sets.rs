//! Parameter sets.

use sotto_cube::literal::{GadgetTriple, TableForm, Upload};
use sotto_cube::rings;
use sotto_cube::template::{Template, WhenTried};

/// A set of OnionPIR's shape: N = 2048 and one prime without a switch of moduli; one gadget, `key`,
/// for all keys of expansion, and one for the external products of the tree.
///
/// 41 bits of a query's word are sent. The truncation error stays far below the noise of the first
/// key switch, and every later round doubles both.
const fn onion(name: &'static str, about: &'static str, p_log2: u8, key: GadgetTriple) -> Template {
    Template {
        name,
        about,
        tried: WhenTried::Always,
        ring: rings::SMALL,
        upload: Upload::Expanded,
        form: TableForm::Plain,
        n: 1,
        p_log2,
        nu2: 0..=13,
        expand: key,
        expand_right: key,
        convert: [4, 10, 10],
        fold: [3, 8, 26],
        pack: [0, 0, 0],
        sent_bits: [41, 48, 50],
    }
}

/// Every set, the default first.
pub static SETS: [Template; 2] = [
    onion("default", "N = 2048, q of 50 bits, p = 2^11: one polynomial holds 2,816 B", 11, [15, 3, 5]),
    onion("few-keys", "the same with p = 2^9, 2,304 B, and under half the keys", 9, [6, 7, 8]),
];
