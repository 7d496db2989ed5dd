//! The pseudo-random function of a client: derives hints from the client's key and the hints' ids.
//! Only the cut of a hint is stored.
//!
//! In addition to the offsets and tags of all one-server schemes
//! ([`sotto_hints::one_server::prf`]):
//!
//! | x | y | value |
//! |---|---|---|
//! | `RANK` + k/16 | j | for 16 partitions k the top byte v of j's rank in k |
//! | `TIE` + k/4 | j | for 4 partitions k the lower 24 bits u of it |
//! | `EXTRA` + a | j | two tries to find j's extra entry |
//!
//! The *half* of id j is the c/2 partitions of lowest rank: those below its *cut*, the rank of
//! number c/2 + 1. If that one equals the one before, the id is *void* and never used; no partition
//! is preferred by that, so halves are exactly uniform. Ranks have two parts since 24 of their bits
//! matter for one partition in 256: the first pass over a table spends one block on 16 partitions.

use crate::HalfSets;
use sotto_hints::one_server::Prf;

/// PRF input x for the top bytes of ranks.
pub const RANK: u64 = 1 << 56;
/// PRF input x for the lower bits of ranks.
pub const TIE: u64 = 2 << 56;
/// PRF input x for extra entries.
pub const EXTRA: u64 = 4 << 56;

/// The cut of a void id: no rank is below it.
pub const VOID: u32 = 0;

/// The rank of partition k for id j, v and u combined.
pub(crate) fn rank(prf: &Prf<HalfSets>, id: u32, partition: u16) -> u32 {
    let (j, k) = (u64::from(id), u64::from(partition));
    rank_in(prf.block(RANK + k / 16, j), prf.block(TIE + k / 4, j), k)
}

/// The rank of partition k, from its two blocks.
#[inline]
pub(crate) fn rank_in(high: u128, low: u128, k: u64) -> u32 {
    joined((high >> (k % 16 * 8)) as u8, (low >> (k % 4 * 32)) as u32)
}

/// Combines the two parts of a rank; the top byte of the second does not count.
#[inline]
pub(crate) fn joined(v: u8, u: u32) -> u32 {
    u32::from(v) << 24 | (u & 0x00FF_FFFF)
}

/// The two words of a block that tries an extra entry: a partition, of the least power of two that
/// holds c, and an offset.
pub(crate) fn tries(prf: &Prf<HalfSets>, block: u128) -> [(usize, u16); 2] {
    let wide = prf.partitions().next_power_of_two() - 1;
    [block as u64, (block >> 64) as u64]
        .map(|words| (words as usize & wide, (words >> 32) as u16 & prf.mask()))
}

/// The definitions above, implemented literally.
#[cfg(test)]
pub(crate) mod naive {
    use super::*;
    use sotto_hints::one_server::PartitionPlace;

    /// The ranks of all partitions for one id.
    pub(crate) fn ranks(prf: &Prf<HalfSets>, id: u32) -> Vec<u32> {
        (0..prf.partitions()).map(|k| rank(prf, id, k as u16)).collect()
    }

    /// The cut of an id, [`VOID`] if it has none.
    pub(crate) fn cut(prf: &Prf<HalfSets>, id: u32) -> u32 {
        cut_of(&mut ranks(prf, id))
    }

    /// The rank of number c/2 + 1 of c, or [`VOID`] if the one before equals it.
    pub(crate) fn cut_of(ranks: &mut [u32]) -> u32 {
        let (below, cut, _) = ranks.select_nth_unstable(ranks.len() / 2);
        if below.iter().max() == Some(cut) { VOID } else { *cut }
    }

    /// The extra entry of a main hint: uniform over the partitions that are not in the half and their rows.
    pub(crate) fn extra(prf: &Prf<HalfSets>, id: u32, cut: u32) -> PartitionPlace {
        let words = (EXTRA..).flat_map(|x| tries(prf, prf.block(x, u64::from(id))));
        let inside = words.filter(|(partition, _)| *partition < prf.partitions());
        let mut places =
            inside.map(|(partition, offset)| PartitionPlace { partition: partition as u16, offset });
        places.find(|place| rank(prf, id, place.partition) >= cut).expect("half of all are outside")
    }
}

#[cfg(test)]
mod tests {
    use super::naive::{cut, cut_of, extra, ranks};
    use super::*;
    use crate::Params;
    use sotto_core::{Params as _, TableShape};

    fn prf(rows: u64, key: u8) -> (Params, Prf<HalfSets>) {
        let params = Params::check(Params::select(&TableShape::new(rows, 1, 1000)).unwrap()).unwrap();
        let prf = Prf::new(&params, &[key; 16]);
        (params, prf)
    }

    #[test]
    fn a_half_is_half_of_the_partitions() {
        for rows in [1, 2, 5, 100, 1000, 70_000] {
            let (params, prf) = prf(rows, 7);
            for id in [0, 1, 7, 8, 1000, 1 << 24] {
                let (ranks, cut) = (ranks(&prf, id), cut(&prf, id));
                assert_eq!(ranks.iter().filter(|rank| **rank < cut).count(), params.partitions() / 2);
                assert!(params.has(extra(&prf, id, cut)));
                assert!((0..params.partitions()).all(|k| prf.offset(id, k as u16) <= prf.mask()));
            }
        }
    }

    /// Sum of (seen - expected)^2 / expected, minus its mean, in units of its deviation.
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
            let (ranks, cut) = (ranks(&prf, id), cut(&prf, id));
            let half = ranks.iter().fold(0u8, |bits, rank| bits << 1 | u8::from(*rank < cut));
            *halves.entry(half).or_insert(0) += 1;
            offsets[usize::from(prf.offset(id, 3))] += 1;
            let extra = extra(&prf, id, cut);
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
    fn a_tie_at_the_cut_and_no_other_makes_an_id_void() {
        assert_eq!(cut_of(&mut [9, 3, 7, 5]), 7);
        assert_eq!(cut_of(&mut [3, 3, 7, 7]), 7);
        assert_eq!(cut_of(&mut [7, 3, 9, 7]), VOID);
        assert_eq!(cut_of(&mut [4, 4]), VOID);
        assert_eq!(cut_of(&mut [4, 0]), 4);
    }
}
