//! Making a request out of a hint: its offsets, but for the row that is asked for.
//!
//! The loop goes over all partitions whatever the hint is, and chooses by masks.

use crate::hints::{Hint, PROMOTED, place};
use crate::message::Query;
use crate::params::Params;
use crate::prf::{OFFSET, Place, Prf};
use zeroize::{Zeroize, Zeroizing};

/// Partitions that are looked at together: their blocks stay in the processor's first cache.
const STRETCH: usize = 256;

/// The partition that is none of a table's.
const NOWHERE: u32 = u32::MAX;

/// Which offsets are asked for.
pub(crate) struct Real {
    /// The id they are of.
    id: u32,
    /// Partition of the hint's own entry, or [`NOWHERE`]; and the entry's offset.
    home: u32,
    own: u16,
    /// The partition of the row that is asked for, or [`NOWHERE`]; and the offset of the row that is put there.
    partition: u32,
    instead: u16,
}

impl Real {
    /// The offsets of `chosen` with `instead` in the partition of the row; or, if `found` is 0, those of the id `unused`,
    /// which nobody has used or will use.
    pub(crate) fn choose(found: u32, chosen: (u32, &Hint), unused: u32, instead: Place) -> Self {
        let own = place(chosen.1.own);
        let has_own = found & u32::from(chosen.1.mark & PROMOTED != 0);
        Real {
            id: pick(found, chosen.0, unused),
            home: pick(has_own, own.partition.into(), NOWHERE),
            own: own.offset,
            partition: pick(found, instead.partition.into(), NOWHERE),
            instead: instead.offset,
        }
    }
}

/// The request for these offsets.
pub(crate) fn build(params: &Params, prf: &Prf, real: &Real, room: &mut Room) -> Query {
    let c = params.partitions();
    let mut offsets = vec![0; c];
    for (first, out) in (0..).step_by(STRETCH).zip(offsets.chunks_mut(STRETCH)) {
        room.fill(prf, real, first, out);
    }
    Query { offsets }
}

/// Blocks of one stretch of partitions. They are kept from one query to the next, and wiped on drop.
pub(crate) struct Room(Zeroizing<Vec<[u8; 16]>>);

impl Room {
    pub(crate) fn new() -> Self {
        Room(Zeroizing::new(vec![[0; 16]; STRETCH]))
    }

    fn fill(&mut self, prf: &Prf, real: &Real, first: u32, out: &mut [u16]) {
        let blocks = self.0.get_mut(..out.len()).unwrap_or_default();
        prf.aes().grid(OFFSET + u64::from(first), blocks.len(), u64::from(real.id) / 8, 1, blocks);
        let mask = prf.mask();
        let upper = u64::from(real.id >> 2 & 1).wrapping_neg();
        let shift = (real.id & 3) * 16;
        for ((out, block), k) in out.iter_mut().zip(blocks).zip(first..) {
            let block = u128::from_le_bytes(*block);
            let word = (block as u64 & !upper) | ((block >> 64) as u64 & upper);
            let offset = pick(equal(k, real.home), real.own.into(), (word >> shift) as u32);
            *out = pick(equal(k, real.partition), real.instead.into(), offset) as u16 & mask;
        }
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        (self.id, self.home, self.partition).zeroize();
        (self.own, self.instead).zeroize();
    }
}

/// `one` if `which` is 1 and `other` if it is 0, without a branch.
pub(crate) fn pick(which: u32, one: u32, other: u32) -> u32 {
    let mask = which.wrapping_neg();
    (one & mask) | (other & !mask)
}

/// 1 if a < b, without a branch.
pub(crate) fn below(a: u32, b: u32) -> u32 {
    (u64::from(a).wrapping_sub(u64::from(b)) >> 63) as u32
}

/// 1 if a = b, without a branch.
pub(crate) fn equal(a: u32, b: u32) -> u32 {
    (u64::from(a ^ b).wrapping_sub(1) >> 63) as u32
}
