//! Random dummy rows, for lookups that only keep their number constant.

use rand_core::CryptoRng;

/// A random row below `rows`, within 2^-64 of uniform; 0 if there is none.
pub fn row(rows: u64, rng: &mut dyn CryptoRng) -> u64 {
    let wide = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
    // The upper half of a product of 192 bits.
    let low = (wide & u128::from(u64::MAX)) * u128::from(rows);
    (((wide >> 64) * u128::from(rows) + (low >> 64)) >> 64) as u64
}
