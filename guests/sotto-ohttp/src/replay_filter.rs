//! Detects requests that were received before. Clients seal each request again (RFC 9458, section
//! 6.5), so a request that arrives twice was copied.

use crate::suite::KEY;
use std::collections::HashSet;

/// Truncated encapsulated key of a request. Two requests collide with probability 2^-128.
type RequestTag = [u8; 16];

/// The most recent requests, in two generations of limited size.
#[derive(Debug, Default)]
pub struct ReplayFilter {
    most: usize,
    young: HashSet<RequestTag>,
    old: HashSet<RequestTag>,
}

impl ReplayFilter {
    /// A filter that remembers at least the last `most` requests, and at most twice as many; 0
    /// remembers none.
    pub fn new(most: usize) -> Self {
        ReplayFilter { most, ..ReplayFilter::default() }
    }

    /// Whether a request is new, as far as the filter remembers. It is remembered from then on.
    /// Tags are the result of X25519 on a secret of the sender's choice; a sender who tries to
    /// cause hash collisions faces the table's random key.
    pub fn is_new(&mut self, request: &[u8; KEY]) -> bool {
        let Some(mark) = request.first_chunk() else { return true };
        if self.most == 0 {
            return true;
        }
        if self.old.contains(mark) || !self.young.insert(*mark) {
            return false;
        }
        if self.young.len() >= self.most {
            self.old = std::mem::take(&mut self.young);
        }
        true
    }

    /// Number of remembered requests.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether no request is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_known_and_older_ones_make_room() {
        let request = |i: u32| {
            let mut bytes = [0; KEY];
            bytes[..4].copy_from_slice(&i.to_le_bytes());
            bytes
        };
        let mut seen = ReplayFilter::new(10);
        for i in 0..1000 {
            assert!(seen.is_new(&request(i)));
            assert!(seen.len() <= 20);
            (i.saturating_sub(9)..=i)
                .for_each(|known| assert!(!seen.is_new(&request(known)), "{known} at {i}"));
        }
        assert!(seen.is_new(&request(0)), "forgotten");
        let mut none = ReplayFilter::new(0);
        assert!(none.is_new(&request(1)) && none.is_new(&request(1)) && none.is_empty());
    }
}
