//! The offline phase: parities of all hints, from one pass over the table.
//!
//! The work goes by partitions, not by hints (the paper, section 4.1, streams entries one by one):
//! while the rows of some partitions are in a cache, every id adds its own. Only the cut of an id
//! is stored; halves and offsets are computed again for each partition, with three blocks of AES
//! for sixteen of them.
//!
//! | module | contents |
//! |---|---|
//! | [`cuts`] | the cut of an id: the rank that separates its half from the other partitions |
//! | [`extras`] | the extra entries of hints, outside their half |
//! | [`sums`] | the sums of rows of a few partitions into parities |

pub mod cuts;
pub mod extras;
pub mod sums;

use sotto_math::aes::Aes;

/// The input of the block of (x, y).
fn input(x: u64, y: u64) -> [u8; 16] {
    (u128::from(y) << 64 | u128::from(x)).to_le_bytes()
}

/// The blocks of inputs that form no grid.
fn blocks(aes: &Aes, inputs: &[[u8; 16]], out: &mut Vec<[u8; 16]>) {
    out.clear();
    out.resize(inputs.len(), [0; 16]);
    aes.mmo(inputs, out);
    for (out, input) in out.iter_mut().zip(inputs) {
        *out = (u128::from_ne_bytes(*out) ^ u128::from_ne_bytes(*input)).to_ne_bytes();
    }
}

#[cfg(test)]
mod tests;
