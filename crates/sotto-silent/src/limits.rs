//! Checks that refuse literals of silent schemes.

use crate::lattice::{P_LOG2, PUBLIC_SEED, Q_BITS, SET};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{ParamsError, Result};
use sotto_prg::PublicSeed;
use std::ops::RangeInclusive;

/// The range of the bits of a vector's word.
pub const QUERY_BITS: RangeInclusive<u8> = 32..=Q_BITS as u8;

/// The range of the bits of a key's coefficient.
pub const KEY_BITS: RangeInclusive<u8> = 40..=Q_BITS as u8;

/// The range of the bits of a mask's coefficient in an answer; up to 37, the client's product with
/// the mask is exact.
pub const MASK_BITS: RangeInclusive<u8> = P_LOG2 as u8 + 2..=37;

/// Refuses another ring and other public polynomials. A server that chose those could try until it
/// found weak ones, so the seed is fixed for everyone.
///
/// # Errors
/// [`ParamsError::Field`] with the field that differs.
/// [`ParamsError::Field`].
pub fn public(set: &str, seed: &PublicSeed) -> Result<()> {
    if set != SET {
        return Err(field("set", format!("must be \"{SET}\"")));
    }
    if *seed != PUBLIC_SEED {
        return Err(field("seed", format!("must be the scheme's public seed {PUBLIC_SEED}")));
    }
    Ok(())
}

/// Refuses a number of bits outside its range.
///
/// # Errors
/// [`ParamsError::Field`] with the name of the field.
pub fn within(name: &'static str, value: u8, range: RangeInclusive<u8>) -> Result<()> {
    if range.contains(&value) { Ok(()) } else { Err(field(name, format!("must be in {range:?}"))) }
}

/// Refuses a value that is 0 or above the maximum.
///
/// # Errors
/// [`ParamsError::Field`] with the name of the field.
pub fn in_range(name: &'static str, value: u64, most: u64) -> Result<usize> {
    usize::try_from(value)
        .ok()
        .filter(|_| (1..=most).contains(&value))
        .ok_or_else(|| field(name, format!("must be in 1..={most}")))
}

/// Refuses a higher failure probability than sotto allows.
///
/// # Errors
/// [`ParamsError::Unreliable`] with the probability.
pub fn reliable(failure_log2: f64) -> Result<()> {
    let required = REQUIRED_FAILURE_LOG2;
    if failure_log2 > f64::from(required) {
        return Err(ParamsError::Unreliable { log2: failure_log2, required }.into());
    }
    Ok(())
}

/// The error for a refused field.
pub fn field(field: &'static str, why: String) -> sotto_core::Error {
    ParamsError::Field { field, why }.into()
}
