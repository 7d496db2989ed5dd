//! What a hint is, as a function of the client's key and the hint's id. Nothing of it is stored but the cut.
//!
//! Every value is a part of an AES block, and the block's input is (x, y), two numbers of 64 bits. The top byte of x says
//! what the value is for, so that no two purposes share a block:
//!
//! | x | y | what |
//! |---|---|---|
//! | `RANK` + k/16 | j | for 16 partitions k the top byte v of j's rank in k |
//! | `TIE` + k/4 | j | for 4 partitions k the lower 24 bits u of it |
//! | `OFFSET` + k | j/8 | for 8 ids j the offset r in partition k |
//! | `EXTRA` + a | j | two tries to find j's extra entry |
//! | `TAG` + k | offset | 16 bits by which an extra entry is searched for |
//!
//! The *half* of id j is the c/2 partitions of lowest rank: those below its *cut*, the rank of number c/2 + 1. If that one
//! equals the one before, the id is *void* and never used; no partition is preferred by that, so halves are exactly
//! uniform. Ranks have two parts since 24 of their bits matter for one partition in 256: the first pass over a table
//! spends one block on 16 partitions.

use crate::params::Params;
use sotto_math::aes::Aes;
use zeroize::{Zeroize, Zeroizing};

/// Top bytes of ranks.
pub const RANK: u64 = 1 << 56;
/// Lower bits of ranks.
pub const TIE: u64 = 2 << 56;
/// Offsets in partitions.
pub const OFFSET: u64 = 3 << 56;
/// Extra entries.
pub const EXTRA: u64 = 4 << 56;
/// Tags of rows.
pub const TAG: u64 = 5 << 56;
/// The name by which a client knows its own queries.
pub const NAME: u64 = 6 << 56;

/// The cut of an id that is void: no rank is below it.
pub const VOID: u32 = 0;

/// A row by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroize)]
pub struct Place {
    /// Its partition, l.
    pub partition: u16,
    /// Its number there, o.
    pub offset: u16,
}

/// The pseudo-random function of one client.
pub struct Prf {
    aes: Aes,
    partitions: usize,
    /// What is left of 16 random bits to be an offset: w - 1.
    mask: u16,
}

impl Prf {
    /// The function under a key.
    pub fn new(params: &Params, key: &[u8; 16]) -> Self {
        // w is at most 2^16.
        Prf {
            aes: Aes::new(key),
            partitions: params.partitions(),
            mask: (params.partition_rows() - 1) as u16,
        }
    }

    /// What blocks are made with.
    pub fn aes(&self) -> &Aes {
        &self.aes
    }

    /// Partitions of the table, c.
    pub fn partitions(&self) -> usize {
        self.partitions
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

    /// The rank of partition k for id j, v and u together.
    pub fn rank(&self, id: u32, partition: u16) -> u32 {
        let (j, k) = (u64::from(id), u64::from(partition));
        let (high, low) = (self.block(RANK + k / 16, j), self.block(TIE + k / 4, j));
        joined(part(high, k % 16 * 8) as u8, part(low, k % 4 * 32) as u32)
    }

    /// The offset of id j in partition k.
    pub fn offset(&self, id: u32, partition: u16) -> u16 {
        let (j, k) = (u64::from(id), u64::from(partition));
        part(self.block(OFFSET + k, j / 8), j % 8 * 16) as u16 & self.mask
    }

    /// The ranks of all partitions for one id.
    pub fn ranks(&self, id: u32) -> Vec<u32> {
        let (c, j) = (self.partitions, u64::from(id));
        let (mut high, mut low) = (vec![[0; 16]; c.div_ceil(16)], vec![[0; 16]; c.div_ceil(4)]);
        self.aes.grid(RANK, high.len(), j, 1, &mut high);
        self.aes.grid(TIE, low.len(), j, 1, &mut low);
        let low = low.as_flattened().as_chunks().0;
        high.as_flattened().iter().zip(low).take(c).map(|(v, u)| joined(*v, u32::from_le_bytes(*u))).collect()
    }

    /// The cut of an id, [`VOID`] if it has none.
    pub fn cut(&self, id: u32) -> u32 {
        cut_of(&mut self.ranks(id))
    }

    /// The extra entry of a main hint: uniform over the partitions that are not in the half and their rows.
    pub fn extra(&self, id: u32, cut: u32) -> Place {
        let wide = self.partitions.next_power_of_two() - 1;
        let tries = (EXTRA..).flat_map(|x| {
            let block = self.block(x, u64::from(id));
            [part(block, 0), part(block, 64)]
        });
        let places = tries.filter(|words| (*words as u32 as usize & wide) < self.partitions).map(|words| {
            // Below c, which is at most 2^16.
            Place { partition: (words as usize & wide) as u16, offset: (words >> 32) as u16 & self.mask }
        });
        let mut outside = places.filter(|place| self.rank(id, place.partition) >= cut);
        // Half of all partitions are outside, so the tries do not end before one is found.
        outside.next().unwrap_or(Place { partition: 0, offset: 0 })
    }

    /// The tag of a row, never 0. Of two rows, one in 65535 pairs has the same.
    pub fn tag(&self, place: Place) -> u16 {
        let block = self.block(TAG + u64::from(place.partition), u64::from(place.offset));
        tag_of(block)
    }
}

/// The rank of number c/2 + 1 of c, or [`VOID`] if the one before equals it.
fn cut_of(ranks: &mut [u32]) -> u32 {
    let (below, cut, _) = ranks.select_nth_unstable(ranks.len() / 2);
    if below.iter().max() == Some(cut) { VOID } else { *cut }
}

/// Room for N blocks of each of many ids, wiped on drop. It is kept from one query to the next, since wiping takes
/// longer than the blocks do.
#[derive(Default)]
pub(crate) struct Blocks<const N: usize> {
    inputs: Zeroizing<Vec<[[u8; 16]; N]>>,
    out: Zeroizing<Vec<[[u8; 16]; N]>>,
}

impl<const N: usize> Blocks<N> {
    /// Makes the blocks of several inputs (x, y) for each id.
    pub(crate) fn of(
        &mut self,
        prf: &Prf,
        ids: &[u32],
        inputs: impl Fn(u64) -> [(u64, u64); N],
    ) -> impl Iterator<Item = [u128; N]> {
        self.inputs.resize(ids.len(), [[0; 16]; N]);
        self.out.resize(ids.len(), [[0; 16]; N]);
        for (bytes, id) in self.inputs.iter_mut().zip(ids) {
            let inputs = inputs(u64::from(*id)).map(|(x, y)| u128::from(x) | u128::from(y) << 64);
            *bytes = inputs.map(u128::to_le_bytes);
        }
        prf.aes.mmo(self.inputs.as_flattened(), self.out.as_flattened_mut());
        // What `mmo` adds to a block is the input.
        self.inputs.iter().zip(self.out.iter()).map(|(inputs, out)| {
            std::array::from_fn(|i| u128::from_le_bytes(inputs[i]) ^ u128::from_le_bytes(out[i]))
        })
    }
}

/// A rank out of its two parts; of the second the top byte does not count.
pub(crate) fn joined(v: u8, u: u32) -> u32 {
    u32::from(v) << 24 | (u & 0x00FF_FFFF)
}

/// 64 bits of a block, from bit `from` on.
pub(crate) fn part(block: u128, from: u64) -> u64 {
    (block >> from) as u64
}

/// 64 bits, reduced to 1..=65535. The deviation from uniform is 2^-48.
pub(crate) fn tag_of(block: u128) -> u16 {
    1 + (block as u64 % 65535) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::{Params as _, Shape};

    fn prf(rows: u64, key: u8) -> (Params, Prf) {
        let literal = crate::select::select(&Shape::new(rows, 1, 1000)).unwrap();
        let params = Params::check(literal).unwrap();
        let prf = Prf::new(&params, &[key; 16]);
        (params, prf)
    }

    #[test]
    fn a_half_is_half_of_the_partitions() {
        for rows in [1, 2, 5, 100, 1000, 70_000] {
            let (params, prf) = prf(rows, 7);
            for id in [0, 1, 7, 8, 1000, 1 << 24] {
                let (ranks, cut) = (prf.ranks(id), prf.cut(id));
                assert_eq!(ranks.iter().filter(|rank| **rank < cut).count(), params.partitions() / 2);
                let one_by_one: Vec<u32> = (0..=ranks.len() - 1).map(|k| prf.rank(id, k as u16)).collect();
                assert_eq!(ranks, one_by_one);
                let extra = prf.extra(id, cut);
                assert!(prf.rank(id, extra.partition) >= cut, "an extra entry inside the half");
                assert!(usize::from(extra.offset) < params.partition_rows());
                assert!((0..params.partitions()).all(|k| prf.offset(id, k as u16) <= prf.mask()));
            }
        }
    }

    /// Sum of (seen - expected)^2 / expected, less its mean, in its own deviations.
    fn deviations(seen: &[u32], expected: f64) -> f64 {
        let square = |count: &u32| (f64::from(*count) - expected).powi(2) / expected;
        let freedom = (seen.len() - 1) as f64;
        (seen.iter().map(square).sum::<f64>() - freedom) / (2.0 * freedom).sqrt()
    }

    /// With 70,000 draws over at most 70 cells, a cell that is off by a tenth moves the sum by six deviations and more.
    /// The key is fixed, so this fails always or never.
    #[test]
    fn halves_offsets_and_extras_are_uniform() {
        // Of 8 partitions there are 70 halves.
        let (params, prf) = prf(100, 3);
        assert_eq!((params.partitions(), params.partition_rows()), (8, 16));
        let mut halves = std::collections::BTreeMap::new();
        let (mut offsets, mut extras) = (vec![0; 16], vec![0; 4 * 16]);
        for id in 0..70_000 {
            let (ranks, cut) = (prf.ranks(id), prf.cut(id));
            let half = ranks.iter().fold(0u8, |bits, rank| bits << 1 | u8::from(*rank < cut));
            *halves.entry(half).or_insert(0) += 1;
            offsets[usize::from(prf.offset(id, 3))] += 1;
            let extra = prf.extra(id, cut);
            let outside = (0..extra.partition).filter(|k| ranks[usize::from(*k)] >= cut).count();
            extras[outside * 16 + usize::from(extra.offset)] += 1;
        }
        let halves: Vec<u32> = halves.into_values().collect();
        assert_eq!(halves.len(), 70);
        for (seen, name) in [(&halves, "halves"), (&offsets, "offsets"), (&extras, "extra entries")] {
            let off = deviations(seen, 70_000.0 / seen.len() as f64);
            assert!(off.abs() < 4.0, "{name} are {off:.1} deviations from uniform");
        }
    }

    #[test]
    fn tags_of_one_key_seldom_meet() {
        let (_, prf) = prf(1 << 16, 1);
        let tags: Vec<u16> =
            (0..4096).map(|i| prf.tag(Place { partition: i / 256, offset: i % 256 })).collect();
        assert!(!tags.contains(&0));
        let distinct = tags.iter().collect::<std::collections::BTreeSet<_>>().len();
        // 4096^2 / 2 / 65535 = 128 pairs are expected to meet.
        assert!((3900..4096).contains(&distinct), "{distinct} of 4096");
    }

    #[test]
    fn a_tie_at_the_cut_and_no_other_makes_an_id_void() {
        assert_eq!(cut_of(&mut [9, 3, 7, 5]), 7);
        assert_eq!(cut_of(&mut [3, 3, 7, 7]), 7);
        assert_eq!(cut_of(&mut [7, 3, 9, 7]), VOID);
        assert_eq!(cut_of(&mut [4, 4]), VOID);
        assert_eq!(cut_of(&mut [4, 0]), 4);
    }
}
