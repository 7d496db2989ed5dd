//! SHA-256 node by node, with the processor's instructions if it has them.

use sha2::block_api::compress256;

/// Initial hash value (FIPS 180-4, section 5.3.3).
pub(in crate::simd) const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Number of bits of a node: a byte and two hashes.
pub(in crate::simd) const BITS: u32 = 8 * 65;

pub(in crate::simd) fn nodes(pairs: &[[[u8; 32]; 2]], out: &mut [[u8; 32]]) {
    let mut blocks = [[0; 64]; 2];
    let padded = blocks.as_flattened_mut();
    padded[0] = 1;
    padded[65] = 0x80;
    padded[124..].copy_from_slice(&BITS.to_be_bytes());
    for (pair, out) in pairs.iter().zip(out) {
        blocks.as_flattened_mut()[1..65].copy_from_slice(pair.as_flattened());
        let mut state = START;
        compress256(&mut state, &blocks);
        for (word, bytes) in state.iter().zip(out.as_chunks_mut::<4>().0) {
            *bytes = word.to_be_bytes();
        }
    }
}
