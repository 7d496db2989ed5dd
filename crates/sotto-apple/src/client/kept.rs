//! What is kept of a client between calls: which keys it has, and the secret that they are of.
//!
//! ```text
//!  0     1           9            41
//!  +-----+-----------+------------+--------------------------+
//!  | ver | timestamp | digest of  | coefficients of the      |
//!  | u8  | u64       | what for   | secret, i8 each          |
//!  +-----+-----------+------------+--------------------------+
//! ```

use super::told::Told;
use crate::config::Id;
use sotto_lattice::bgv::Secret;
use zeroize::Zeroizing;

const VERSION: u8 = 1;

pub(super) fn write(key_id: &Id, timestamp: u64, secret: &Secret) -> Zeroizing<Vec<u8>> {
    let coefficients = secret.coefficients();
    let mut out = Zeroizing::new(Vec::with_capacity(1 + 8 + key_id.len() + coefficients.len()));
    out.push(VERSION);
    out.extend(timestamp.to_le_bytes());
    out.extend(key_id);
    out.extend(coefficients.iter().map(|coefficient| *coefficient as i8 as u8));
    out
}

/// The timestamp and the secret, if they are for what is told. Total.
pub(super) fn read(kept: &[u8], told: &Told) -> Option<(u64, Secret)> {
    let ([version], rest) = kept.split_first_chunk()?;
    let (timestamp, rest) = rest.split_first_chunk()?;
    let (key_id, coefficients) = rest.split_first_chunk::<32>()?;
    if *version != VERSION || *key_id != told.key_id {
        return None;
    }
    let coefficients = coefficients.iter().map(|coefficient| i32::from(*coefficient as i8));
    let secret = Secret::again(told.codec.kit().ring(), Zeroizing::new(coefficients.collect()))?;
    Some((u64::from_le_bytes(*timestamp), secret))
}
