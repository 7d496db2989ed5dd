//! Division of a secret number by a public one, in time that does not depend on the secret.
//!
//! A processor's divide instruction may take longer for larger quotients, and the row that a client
//! looks up must stay secret. Multiplying by a reciprocal takes the same time for every row
//! (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994).

use std::hint::black_box;

/// Computes quotient and remainder of a secret `value` by a public `by`, which is not zero.
pub fn divide(value: u64, by: u64) -> (u64, u64) {
    // floor(value * floor((2^64 - 1) / by) / 2^64) is the quotient or one less, for every 64-bit
    // value.
    let reciprocal = u64::MAX / by.max(1);
    let guess = ((u128::from(value) * u128::from(reciprocal)) >> 64) as u64;
    let rest = value.wrapping_sub(guess.wrapping_mul(by));
    let (reduced, borrow) = rest.overflowing_sub(by);
    // All ones if `rest` was one divisor too large. The black box keeps the mask from becoming a branch.
    let mask = black_box(u64::from(borrow).wrapping_sub(1));
    (guess.wrapping_add(mask & 1), rest ^ (mask & (rest ^ reduced)))
}

#[cfg(test)]
mod tests {
    use super::divide;
    use proptest::prelude::*;

    #[test]
    fn edges() {
        for by in [1, 2, 3, 255, 256, 257, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            for value in [0, 1, by - 1, by, by.wrapping_add(1), by.wrapping_mul(2), u64::MAX - 1, u64::MAX] {
                assert_eq!(divide(value, by), (value / by, value % by), "{value} / {by}");
            }
        }
    }

    proptest! {
        #[test]
        fn is_division(value: u64, by in 1..=u64::MAX, shift in 0..63u32) {
            let by = (by >> shift).max(1);
            prop_assert_eq!(divide(value, by), (value / by, value % by));
        }
    }
}
