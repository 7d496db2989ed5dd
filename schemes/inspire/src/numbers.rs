//! Records as numbers of 15 bits: a record is a string of bits, the lowest of each byte first, and a number is 15 of them.
//!
//! Interpolation divides by t, a power of two, so the plain modulus has to be odd. Two signed bytes
//! of the matrix hold 2^16 residues and no more: 65537 is one too many, and 65535 cannot hold all
//! values of two bytes. So it is 2^15 + 1, whose smaller numbers also leave two more bits for
//! noise.

use sotto_silent::lattice::N;
use sotto_silent::plain_modulus::PlainModulus;

/// The plain modulus p.
pub const P: u16 = (1 << NUMBER_BITS) + 1;

/// The plain modulus in the form that encryption takes.
pub const PLAIN: PlainModulus = PlainModulus::odd(P);

/// Bits of a record in a number.
pub const NUMBER_BITS: u32 = 15;

/// Bytes of a record in a group of N numbers.
pub const GROUP_BYTES: u64 = N as u64 * NUMBER_BITS as u64 / 8;

/// Number of numbers of a record of `record_bytes` bytes.
pub const fn numbers(record_bytes: u64) -> u64 {
    (record_bytes * 8).div_ceil(NUMBER_BITS as u64)
}

/// Groups of N numbers in a record of `record_bytes` bytes.
pub const fn groups(record_bytes: u64) -> u64 {
    record_bytes.div_ceil(GROUP_BYTES)
}

/// The number in which byte `offset` of a record begins, and the bits of that number before the
/// byte.
pub fn place(offset: u64) -> (u64, u32) {
    let bit = offset * 8;
    (bit / u64::from(NUMBER_BITS), (bit % u64::from(NUMBER_BITS)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_whole_bytes() {
        assert_eq!((GROUP_BYTES, groups(3840), groups(3841), groups(32768)), (3840, 1, 2, 9));
        assert_eq!((numbers(1), numbers(2), numbers(15), numbers(3840)), (1, 2, 8, 2048));
        assert_eq!((place(0), place(1), place(2), place(15)), ((0, 0), (0, 8), (1, 1), (8, 0)));
    }
}
