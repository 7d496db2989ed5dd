//! The pseudo-random function of a client: derives hints from the client's key and the hints' ids.
//!
//! Every value is a part of an AES block whose input is (x, y), two numbers of 64 bits. The top
//! byte of x is the purpose of the value, so no two purposes share a block. The values that all
//! families have:
//!
//! | x | y | value |
//! |---|---|---|
//! | [`ParamsFamily::OFFSET`] + k | j/8 | for 8 ids j the offset r in partition k |
//! | [`ParamsFamily::TAG`] + k | offset | 16 bits by which a hint's own entry is searched for |
//! | [`ParamsFamily::NAME`] | 0 | the name by which a client recognizes its queries |

use super::params::{Params, ParamsFamily};
use super::row_order::PartitionPlace;
use sotto_math::aes::Aes;
use std::marker::PhantomData;
use zeroize::Zeroizing;

/// The pseudo-random function under one client's key.
pub struct Prf<F> {
    aes: Aes,
    partitions: usize,
    /// The mask that makes an offset of 16 random bits: w - 1.
    mask: u16,
    family: PhantomData<F>,
}

impl<F: ParamsFamily> Prf<F> {
    /// The function under a key, for a table with these parameters.
    pub fn new(params: &Params<F>, key: &[u8; 16]) -> Self {
        // w is at most 2^16.
        let (partitions, mask) = (params.partitions(), (params.partition_rows() - 1) as u16);
        Prf { aes: Aes::new(key), partitions, mask, family: PhantomData }
    }

    /// The block cipher.
    #[inline]
    pub fn aes(&self) -> &Aes {
        &self.aes
    }

    /// Partitions of the table, c.
    #[inline]
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// The mask of offsets, w - 1.
    #[inline]
    pub fn mask(&self) -> u16 {
        self.mask
    }

    /// The block of the input (x, y).
    pub fn block(&self, x: u64, y: u64) -> u128 {
        let mut out = [[0; 16]];
        self.aes.grid(x, 1, y, 1, &mut out);
        let [block] = out;
        u128::from_le_bytes(block)
    }

    /// The offset of id j in partition k.
    pub fn offset(&self, id: u32, partition: u16) -> u16 {
        self.offset_of(F::OFFSET + u64::from(partition), id)
    }

    /// The offset of an id from the block of the input (x, j/8).
    pub fn offset_of(&self, x: u64, id: u32) -> u16 {
        lane(self.block(x, u64::from(id) / 8), id) & self.mask
    }

    /// The tag of a row, never 0. One in 65535 pairs of rows shares a tag.
    pub fn tag(&self, place: PartitionPlace) -> u16 {
        let block = self.block(F::TAG + u64::from(place.partition), u64::from(place.offset));
        // 64 bits, reduced to 1..=65535: the deviation from uniform is 2^-48.
        1 + (block as u64 % 65535) as u16
    }

    /// A number by which a client recognizes its queries.
    pub(super) fn name(&self) -> u64 {
        self.block(F::NAME, 0) as u64
    }
}

/// The 16 bits of a block that belong to an id.
#[inline]
pub fn lane(block: u128, id: u32) -> u16 {
    (block >> (id % 8 * 16)) as u16
}

/// The 16-bit values of consecutive ids from the blocks of (x, j/8); masked, they are offsets in a
/// partition.
#[inline]
pub fn lanes(blocks: &[[u8; 16]]) -> impl Iterator<Item = u16> + '_ {
    blocks.as_flattened().as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes))
}

/// Scratch for N blocks of each of many ids, wiped on drop. It is reused from one query to the
/// next, since wiping takes longer than making the blocks.
#[derive(Default)]
pub struct Blocks<const N: usize> {
    inputs: Zeroizing<Vec<[[u8; 16]; N]>>,
    out: Zeroizing<Vec<[[u8; 16]; N]>>,
}

impl<const N: usize> Blocks<N> {
    /// Computes the blocks of several inputs (x, y) for each id.
    #[inline]
    pub fn of(
        &mut self,
        aes: &Aes,
        ids: &[u32],
        inputs: impl Fn(u64) -> [(u64, u64); N],
    ) -> impl Iterator<Item = [u128; N]> {
        self.inputs.resize(ids.len(), [[0; 16]; N]);
        self.out.resize(ids.len(), [[0; 16]; N]);
        for (bytes, id) in self.inputs.iter_mut().zip(ids) {
            let inputs = inputs(u64::from(*id)).map(|(x, y)| u128::from(x) | u128::from(y) << 64);
            *bytes = inputs.map(u128::to_le_bytes);
        }
        aes.mmo(self.inputs.as_flattened(), self.out.as_flattened_mut());
        // `mmo` adds the input to its block.
        self.inputs.iter().zip(self.out.iter()).map(|(inputs, out)| {
            std::array::from_fn(|i| u128::from_le_bytes(inputs[i]) ^ u128::from_le_bytes(out[i]))
        })
    }
}
