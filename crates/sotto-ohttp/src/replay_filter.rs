//! Which requests came before. Clients seal each request anew (RFC 9458, section 6.5), so one that comes twice was copied.

use crate::suite::KEY;
use std::collections::HashSet;

/// Of a request. What is left out makes two alike with a chance of 2^-128.
type RequestTag = [u8; 16];

/// The last requests, and as many before them: so many at most.
#[derive(Debug, Default)]
pub struct ReplayFilter {
    most: usize,
    young: HashSet<RequestTag>,
    old: HashSet<RequestTag>,
}

impl ReplayFilter {
    /// Knows the last `most` requests at least, and twice as many at most. 0: none.
    pub fn new(most: usize) -> Self {
        ReplayFilter { most, ..ReplayFilter::default() }
    }

    /// Whether a request comes for the first time, as far as is known. From then on it is known. Marks are made by X25519, of a
    /// secret that the sender chose: whoever chooses many that collide in a table of hashes meets its random key.
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

    /// How many are known.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether none is known.
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
