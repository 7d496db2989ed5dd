//! The pseudo-random generator G of the paper, and the one that converts a leaf (its sections 3.1 and 3.2.1).
//!
//! Both are AES-128 in the mode of Matyas, Meyer and Oseas: `E_k(s) + s`, which stays hard to invert although everyone
//! knows the key. There are four keys: for left seeds, right seeds, control bits and leaves.
//!
//! Two things differ from common implementations. *Control bits have a block of their own*, where
//! others take a bit of the seed; so a seed has 128 unknown bits and not 127. *Keys belong to the
//! query*: they are derived from a salt that both keys of a query hold. With global keys, one
//! search would go through the seeds of all queries that a server ever saw, and find one of 2^40
//! for 2^88 (Guo, Katz, Wang, Yu; "Efficient and Secure Multiparty Computation from Fixed-Key Block
//! Ciphers", S&P 2020).

use sotto_math::aes::{self, Aes};

/// The BLAKE3 context in which the keys of a query are derived from its salt.
pub const CONTEXT: &str = "sotto 2026 dpf/1 tree keys v1";

/// A node's seed.
pub type Seed = [u8; 16];

/// The generator of one query.
#[derive(Debug)]
pub struct Generator {
    left: Aes,
    right: Aes,
    control: Aes,
    leaf: Aes,
}

impl Generator {
    /// The generator of a salt: 64 bytes of BLAKE3 are the keys for left, right, control and leaf, in this order.
    pub fn new(salt: &[u8; 16]) -> Self {
        let mut keys = [[0; 16]; 4];
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(salt);
        hasher.finalize_xof().fill(keys.as_flattened_mut());
        let [left, right, control, leaf] = keys.map(|key| Aes::new(&key));
        Generator { left, right, control, leaf }
    }

    /// The children's seeds of each node: `children[2 * i]` is the left one of `seeds[i]`.
    ///
    /// # Panics
    /// If there are not twice as many children as seeds.
    pub fn children(&self, seeds: &[Seed], children: &mut [Seed]) {
        aes::double(&self.left, &self.right, seeds, children);
    }

    /// The children's control bits of each node: bit 0 of a block's first byte is the left one, bit 1 the right one.
    ///
    /// # Panics
    /// If there are not as many blocks as seeds.
    pub fn control(&self, seeds: &[Seed], blocks: &mut [[u8; 16]]) {
        self.control.mmo(seeds, blocks);
    }

    /// The 512 bits of each leaf, as four blocks: those of the seed with 0, 1, 2 and 3 added to its first byte.
    ///
    /// # Panics
    /// If there are not four times as many blocks as seeds.
    pub fn leaves(&self, seeds: &[Seed], blocks: &mut [[u8; 16]]) {
        aes::widen(&self.leaf, seeds, blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_salt_and_every_purpose_has_another_function() {
        let seeds = [[0; 16], [1; 16]];
        let mut seen = std::collections::HashSet::new();
        for salt in [[0; 16], [1; 16]] {
            let generator = Generator::new(&salt);
            let (mut children, mut control, mut leaves) = ([[0; 16]; 4], [[0; 16]; 2], [[0; 16]; 8]);
            generator.children(&seeds, &mut children);
            generator.control(&seeds, &mut control);
            generator.leaves(&seeds, &mut leaves);
            seen.extend(children.into_iter().chain(control).chain(leaves));
        }
        assert_eq!(seen.len(), 2 * (4 + 2 + 8));
    }
}
