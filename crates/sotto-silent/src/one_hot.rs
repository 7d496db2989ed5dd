//! The positions of ones in a query. A unit vector has one, and a query for the sum of several
//! records a few.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// Maximum number of ones in a query: one for each bit of the pattern of a sum. Noise bounds count
/// with it.
pub const MAX: u32 = u128::BITS;

/// An iterator over the places of a vector that says which are ones. No place is used as an index,
/// and nothing is shifted by a secret amount: the pattern enters at its first place, and moves by
/// one bit with each place after it.
pub struct OneHot {
    first: u32,
    ones: u128,
    left: u128,
}

impl OneHot {
    /// A one at place `first + i` for each bit `i` of `ones`.
    pub fn new(first: u32, ones: u128) -> Self {
        OneHot { first, ones, left: 0 }
    }

    /// Whether the next place is a one. Places are counted from 0 and must come in order.
    pub fn is_one(&mut self, place: u32) -> Choice {
        self.left = u128::conditional_select(&(self.left >> 1), &self.ones, place.ct_eq(&self.first));
        Choice::from(self.left as u8 & 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_are_where_the_pattern_says() {
        for (first, ones) in [(0, 1u128), (5, 1), (3, 0b1011), (7, 1 << 127 | 1), (120, u128::MAX), (299, 5)]
        {
            let mut pattern = OneHot::new(first, ones);
            for place in 0..300u32 {
                let want = place.checked_sub(first).is_some_and(|i| i < 128 && ones >> i & 1 == 1);
                assert_eq!(bool::from(pattern.is_one(place)), want, "{first} {ones:x} {place}");
            }
        }
    }
}
