//! The round keys of AES-128.

use ::aes::hazmat::{Block, cipher_round, inv_mix_columns};
use zeroize::Zeroize;

/// Round constants of the key schedule: powers of two in the field of 256 elements (FIPS 197,
/// section 5.2).
pub(crate) const CONSTANTS: [u8; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1B, 0x36];

/// Expands a key by `KeyExpansion` of FIPS 197, section 5.2.
pub(crate) fn expand(key: &[u8; 16]) -> [[u8; 16]; 11] {
    let mut rounds = [*key; 11];
    let mut words = [[0; 4]; 4];
    words.as_flattened_mut().copy_from_slice(key);
    for (round, constant) in rounds[1..].iter_mut().zip(CONSTANTS) {
        let [a, b, c, d] = words[3];
        let mut before = substitute([b, c, d, a]);
        before[0] ^= constant;
        for (word, out) in words.iter_mut().zip(round.as_chunks_mut::<4>().0) {
            word.iter_mut().zip(before).for_each(|(w, b)| *w ^= b);
            (*out, before) = (*word, *word);
        }
    }
    words.zeroize();
    rounds
}

/// Applies the S-box to four bytes, in constant time.
///
/// Without a table, it is extracted from a whole round. A round is the S-box, a shift of rows, a
/// mix of columns and a round key, here zero. The shift changes nothing where all columns are
/// equal, and the mix can be undone.
fn substitute(word: [u8; 4]) -> [u8; 4] {
    let mut block = Block::default();
    block.copy_from_slice([word; 4].as_flattened());
    cipher_round(&mut block, &Block::default());
    inv_mix_columns(&mut block);
    [block[0], block[1], block[2], block[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_keys_of_the_standard() {
        // FIPS 197, appendix A.1.
        let rounds = expand(&0x2b7e1516_28aed2a6_abf71588_09cf4f3cu128.to_be_bytes());
        let expected: [u128; 11] = [
            0x2b7e1516_28aed2a6_abf71588_09cf4f3c,
            0xa0fafe17_88542cb1_23a33939_2a6c7605,
            0xf2c295f2_7a96b943_5935807a_7359f67f,
            0x3d80477d_4716fe3e_1e237e44_6d7a883b,
            0xef44a541_a8525b7f_b671253b_db0bad00,
            0xd4d1c6f8_7c839d87_caf2b8bc_11f915bc,
            0x6d88a37a_110b3efd_dbf98641_ca0093fd,
            0x4e54f70e_5f5fc9f3_84a64fb2_4ea6dc4f,
            0xead27321_b58dbad2_312bf560_7f8d292f,
            0xac7766f3_19fadc21_28d12941_575c006e,
            0xd014f9a8_c9ee2589_e13f0cc8_b6630ca6,
        ];
        assert_eq!(rounds.map(u128::from_be_bytes), expected);
    }
}
