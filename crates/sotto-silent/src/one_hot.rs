//! The ones of a query, place by place. A unit vector has one of them, and a query for the sum of several records a few.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// Most ones of a query, as a query for a sum has at most one for each bit of its pattern: what noise bounds count with.
pub const MAX: u32 = u128::BITS;

/// Which places of a vector are ones. No place is an index, and nothing is shifted by a secret: the pattern comes in at its first
/// place, and moves on by a bit with each place after it.
pub struct OneHot {
    first: u32,
    ones: u128,
    left: u128,
}

impl OneHot {
    /// Place `first + i` for each bit `i` of `ones`.
    pub fn new(first: u32, ones: u128) -> Self {
        OneHot { first, ones, left: 0 }
    }

    /// Whether the next place is a one. Places are counted from 0, and come one after the other.
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
