//! SHA-256 of the nodes of hash trees, many at a time.
//!
//! A node of RFC 6962 (section 2.1) is the hash of a byte 1 and its children's hashes: two blocks,
//! whose rounds are sequential. Nodes of one layer are independent, so vector registers hold a word
//! of sixteen of them.

use crate::simd::{self, Kernels};

/// Computes SHA-256 of the byte 1 and both hashes of `pairs[i]`, to `out[i]`.
///
/// # Panics
/// If there are not as many outputs as pairs.
pub fn nodes(pairs: &[[[u8; 32]; 2]], out: &mut [[u8; 32]]) {
    nodes_with(simd::kernels(), pairs, out);
}

fn nodes_with(kernels: &dyn Kernels, pairs: &[[[u8; 32]; 2]], out: &mut [[u8; 32]]) {
    assert_eq!(pairs.len(), out.len(), "as many outputs as pairs");
    kernels.nodes(pairs, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn every_backend_hashes_every_count_as_defined() {
        for count in (0..=35).chain([255, 256]) {
            let byte = |i: usize| (i as u32).wrapping_mul(2_654_435_761).to_le_bytes()[3];
            let hash = |i: usize| std::array::from_fn(|j| byte(32 * i + j + count));
            let pairs: Vec<[[u8; 32]; 2]> = (0..count).map(|i| [hash(2 * i), hash(2 * i + 1)]).collect();
            let want = |pair: &[[u8; 32]; 2]| {
                Sha256::new().chain_update([1]).chain_update(pair.as_flattened()).finalize()
            };
            let want: Vec<[u8; 32]> = pairs.iter().map(|pair| want(pair).into()).collect();
            for kernels in simd::available() {
                let mut out = vec![[0; 32]; count];
                nodes_with(kernels, &pairs, &mut out);
                assert_eq!(out, want, "{count} pairs by {}", kernels.name());
            }
        }
    }

    #[test]
    #[should_panic(expected = "as many outputs as pairs")]
    fn too_few_outputs_are_a_fault_of_the_caller() {
        nodes(&[[[0; 32]; 2]], &mut []);
    }
}
