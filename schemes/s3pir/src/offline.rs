//! The offline phase: parities of all hints, from one pass over the table.
//!
//! Work goes by partitions, not by hints (the paper, section 4.1, streams entries one by one): while the rows of some
//! partitions are in a cache, every id adds its own. Nothing of an id is stored but its cut; halves and offsets are made
//! again for each partition, three blocks of AES for sixteen of them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`cuts`] | which partitions an id takes: the rank that parts them |
//! | [`extras`] | the entries that hints have besides their half |
//! | `sets` | a run of ids, and how the rows of a few partitions get into its parities |
//! | [`pass`] | the pass: chunks of a table in, hints and pairs out |
//!
//! The time of all this depends on secret sets, as the order of what lies in caches does. It comes before there is a
//! query, and the sets are fresh: nothing here depends on what will be asked.

pub mod cuts;
pub mod extras;
pub mod pass;
mod sets;

use sotto_math::aes::Aes;

/// The input of the block of (x, y).
fn input(x: u64, y: u64) -> [u8; 16] {
    (u128::from(y) << 64 | u128::from(x)).to_le_bytes()
}

/// The blocks of inputs that are no grid.
fn blocks(aes: &Aes, inputs: &[[u8; 16]], out: &mut Vec<[u8; 16]>) {
    out.clear();
    out.resize(inputs.len(), [0; 16]);
    aes.mmo(inputs, out);
    for (out, input) in out.iter_mut().zip(inputs) {
        *out = (u128::from_ne_bytes(*out) ^ u128::from_ne_bytes(*input)).to_ne_bytes();
    }
}

/// Does something for each of many parts of the work: on the pool in which it is called, if that is one.
#[cfg(feature = "server")]
fn each<T: Send>(parts: Vec<T>, work: impl Fn(T) + Sync + Send) {
    use rayon::prelude::*;
    if rayon::current_thread_index().is_some() {
        parts.into_par_iter().for_each(work);
    } else {
        parts.into_iter().for_each(work);
    }
}

/// Does something for each of many parts of the work.
#[cfg(not(feature = "server"))]
fn each<T>(parts: Vec<T>, work: impl Fn(T)) {
    parts.into_iter().for_each(work);
}

#[cfg(test)]
mod tests;
