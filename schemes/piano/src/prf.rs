//! What a hint is, as a function of the client's key and the hint's id. Nothing of it is stored.
//!
//! Every value is a part of an AES block, and the block's input is (x, y), two numbers of 64 bits. The top byte of x says
//! what the value is for, so that no two purposes share a block:
//!
//! | x | y | what |
//! |---|---|---|
//! | `OFFSET` + k | j/8 | for 8 ids j the offset r in partition k |
//! | `REPLACE` | j/8 | for 8 backups j the offset of its replacement entry |
//! | `TAG` + k | offset | 16 bits by which a promoted backup's own entry is searched for |
//!
//! Ids 0..M are hints, the next c m are backups, and the next Q are used by one query each that no hint is spent on.

use crate::params::Params;
use sotto_math::aes::Aes;
use zeroize::Zeroizing;

/// Offsets in partitions.
pub const OFFSET: u64 = 1 << 56;
/// Offsets of replacement entries.
pub const REPLACE: u64 = 2 << 56;
/// Tags of rows.
pub const TAG: u64 = 3 << 56;
/// The name by which a client knows its own queries.
pub const NAME: u64 = 4 << 56;

/// A row by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its partition, l.
    pub partition: u16,
    /// Its number there, o.
    pub offset: u16,
}

/// The pseudo-random function of one client.
pub struct Prf {
    aes: Aes,
    /// What is left of 16 random bits to be an offset: w - 1.
    mask: u16,
}

impl Prf {
    /// The function under a key.
    pub fn new(params: &Params, key: &[u8; 16]) -> Self {
        // w is at most 2^16.
        Prf { aes: Aes::new(key), mask: (params.partition_rows() - 1) as u16 }
    }

    /// What blocks are made with.
    pub fn aes(&self) -> &Aes {
        &self.aes
    }

    /// What offsets are masked with.
    pub fn mask(&self) -> u16 {
        self.mask
    }

    /// One block.
    pub fn block(&self, x: u64, y: u64) -> u128 {
        let mut out = [[0; 16]];
        self.aes.grid(x, 1, y, 1, &mut out);
        u128::from_le_bytes(out[0])
    }

    /// The offset of id j in partition k.
    pub fn offset(&self, id: u32, partition: u16) -> u16 {
        self.lane(OFFSET + u64::from(partition), id)
    }

    /// The offset of a backup's replacement entry, in the backup's partition.
    pub fn replacement(&self, id: u32) -> u16 {
        self.lane(REPLACE, id)
    }

    /// The tag of a row, never 0. Of two rows, one in 65535 pairs has the same.
    pub fn tag(&self, place: Place) -> u16 {
        let block = self.block(TAG + u64::from(place.partition), u64::from(place.offset));
        // 64 bits, reduced to 1..=65535: the deviation from uniform is 2^-48.
        1 + (block as u64 % 65535) as u16
    }

    fn lane(&self, x: u64, id: u32) -> u16 {
        lane(self.block(x, u64::from(id) / 8), id) & self.mask
    }
}

/// The 16 bits of a block that are those of an id.
pub(crate) fn lane(block: u128, id: u32) -> u16 {
    (block >> (id % 8 * 16)) as u16
}

/// Room for the blocks of many ids, wiped on drop. It is kept from one query to the next, since wiping takes longer than
/// the blocks do.
#[derive(Default)]
pub(crate) struct Blocks {
    inputs: Zeroizing<Vec<[u8; 16]>>,
    out: Zeroizing<Vec<[u8; 16]>>,
}

impl Blocks {
    /// The offsets of ids that are no sequence, in one partition.
    pub(crate) fn offsets(&mut self, prf: &Prf, ids: &[u32], partition: u16) -> impl Iterator<Item = u16> {
        self.inputs.resize(ids.len(), [0; 16]);
        self.out.resize(ids.len(), [0; 16]);
        let x = u128::from(OFFSET + u64::from(partition));
        for (input, id) in self.inputs.iter_mut().zip(ids) {
            *input = (u128::from(id / 8) << 64 | x).to_le_bytes();
        }
        prf.aes.mmo(&self.inputs, &mut self.out);
        // What `mmo` adds to a block is the input.
        let blocks = self.inputs.iter().zip(self.out.iter());
        let blocks = blocks.map(|(input, out)| u128::from_le_bytes(*input) ^ u128::from_le_bytes(*out));
        blocks.zip(ids).map(|(block, id)| lane(block, *id) & prf.mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::{Params as _, Shape};

    fn prf(rows: u64, key: u8) -> Prf {
        let literal = crate::select::select(&Shape::new(rows, 1, 1000)).unwrap();
        Prf::new(&Params::check(literal).unwrap(), &[key; 16])
    }

    /// With 64,000 draws over 16 cells, a cell that is off by a tenth moves the sum of squares by seven deviations. The key
    /// is fixed, so this fails always or never.
    #[test]
    fn offsets_are_uniform() {
        let prf = prf(200, 3);
        assert_eq!(prf.mask(), 15);
        let kinds: [&dyn Fn(u32) -> u16; 3] =
            [&|id| prf.offset(id, 0), &|id| prf.offset(id / 8, (id % 8) as u16), &|id| prf.replacement(id)];
        for kind in kinds {
            let mut seen = [0u32; 16];
            (0..64_000).for_each(|id| seen[usize::from(kind(id))] += 1);
            let sum: f64 = seen.iter().map(|n| (f64::from(*n) - 4000.0).powi(2) / 4000.0).sum();
            assert!((sum - 15.0).abs() < 4.0 * 30f64.sqrt(), "{seen:?}");
        }
    }

    #[test]
    fn offsets_of_many_ids_are_those_of_each() {
        let prf = prf(5000, 9);
        let ids = [7, 8, 0, 70_000, 1 << 25, 3];
        let each: Vec<u16> = ids.iter().map(|id| prf.offset(*id, 11)).collect();
        assert!(Blocks::default().offsets(&prf, &ids, 11).eq(each));
    }

    #[test]
    fn tags_of_one_key_seldom_meet() {
        let prf = prf(1 << 16, 1);
        let tags: Vec<u16> =
            (0..4096).map(|i| prf.tag(Place { partition: i / 256, offset: i % 256 })).collect();
        assert!(!tags.contains(&0));
        let distinct = tags.iter().collect::<std::collections::BTreeSet<_>>().len();
        // 4096^2 / 2 / 65535 = 128 pairs are expected to meet.
        assert!((3900..4096).contains(&distinct), "{distinct} of 4096");
    }
}
