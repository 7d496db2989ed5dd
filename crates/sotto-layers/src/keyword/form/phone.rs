//! Telephone numbers, as E.164 writes them and phones request them: `+`, and 7 to 15 digits of
//! which the first is no zero.
//!
//! Signs between the digits are refused: removing them would make the time depend on where they
//! are. Readers of publishers' files remove them before. Numbers without a country are refused,
//! since their meaning depends on the caller's location.

use super::{Key, KeyError, among};
use std::hint::black_box;
use zeroize::Zeroizing;

pub(super) const MAX_BYTES: u32 = 16;

const NO_NUMBER: KeyError =
    KeyError::Not("a telephone number of E.164 (+15550000007: a plus sign, 7 to 15 digits, no spaces)");

/// Only whether it is a number, and its length, decide a branch.
pub(super) fn canonical(text: &[u8]) -> Result<Key, KeyError> {
    let Some((plus, digits)) = text.split_first().filter(|(_, digits)| (7..=15).contains(&digits.len()))
    else {
        return Err(NO_NUMBER);
    };
    let mut wrong = i32::from(plus ^ b'+');
    for (i, digit) in digits.iter().enumerate() {
        wrong |= !among(i32::from(*digit), 0x30 + i32::from(i == 0), 0x3a);
    }
    match black_box(wrong) {
        0 => Ok(Zeroizing::new(text.to_vec())),
        _ => Err(NO_NUMBER),
    }
}
