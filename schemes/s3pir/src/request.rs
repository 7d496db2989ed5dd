//! Making a request out of a hint: its partitions without the one asked about, and the others next to them.
//!
//! The loops go over all partitions whatever the hint is, and choose by masks. The one address that depends on the
//! hint is where the next offset is written: the list grows by one for a real partition and by none for another.

use crate::hints::{Hint, OUTSIDE, place};
use crate::message::Query;
use crate::params::Params;
use crate::prf::{OFFSET, Prf, RANK, TIE, joined};
use sotto_core::{PeerMisbehaved, Result};
use zeroize::{Zeroize, Zeroizing};

/// Partitions that are looked at together: their blocks stay in the processor's first cache.
const STRETCH: usize = 256;

/// The partition that is none of a table's.
const NOWHERE: u32 = u32::MAX;

/// Which set is asked for: that of a hint without one partition, or the half of a pair.
pub(crate) struct Real {
    /// The id.
    id: u32,
    cut: u32,
    /// 1 if the partitions are those outside the half.
    outside: u32,
    /// Partition of the extra entry, or [`NOWHERE`].
    with: u32,
    /// Offset of the extra entry.
    offset: u16,
    /// The partition to leave out, or [`NOWHERE`].
    without: u32,
}

impl Real {
    /// The set of `chosen` without `partition`; or, if `found` is 0, the half of `pair`: a set of the same kind that
    /// nobody has used or will use.
    pub(crate) fn choose(found: u32, chosen: (u32, &Hint), pair: (u32, &Hint), partition: u16) -> Self {
        let found = found.wrapping_neg();
        let pick = |one: u32, other: u32| (one & found) | (other & !found);
        let extra = place(chosen.1.extra);
        Real {
            id: pick(chosen.0, pair.0),
            cut: pick(chosen.1.cut, pair.1.cut),
            outside: pick(u32::from(chosen.1.mark & OUTSIDE != 0), 0),
            with: pick(u32::from(extra.partition), NOWHERE),
            offset: extra.offset,
            without: pick(u32::from(partition), NOWHERE),
        }
    }
}

/// The request for a real set. With `coin` 0 it is set 1 of the request, with 1 it is set 0.
///
/// # Errors
/// If the set has not c/2 partitions. Only a state that was damaged has such hints, and what it would send could tell
/// the sets apart.
pub(crate) fn build(params: &Params, prf: &Prf, real: &Real, coin: u8, room: &mut Room) -> Result<Query> {
    let c = params.partitions();
    let mut ones = vec![0; c.div_ceil(8)];
    // One place more: what is not real after the last real one is written there.
    let mut offsets = vec![0; c / 2 + 1];
    let mut count = 0;
    for first in (0..c).step_by(STRETCH) {
        let len = STRETCH.min(c - first);
        room.fill(prf, real, first, len);
        for (is, offset) in room.real.iter().zip(&room.offsets).take(len) {
            if let Some(at) = offsets.get_mut(count) {
                *at = *offset;
            }
            count += usize::from(*is);
        }
        for (byte, real) in ones.iter_mut().skip(first / 8).zip(room.real.chunks(8)) {
            *byte = real.iter().rev().fold(0, |bits, is| bits << 1 | (is ^ coin));
        }
    }
    if count != c / 2 {
        let why = "a hint that is not of half of the partitions".into();
        return Err(PeerMisbehaved::Malformed { what: "client state", why }.into());
    }
    offsets.truncate(c / 2);
    if let Some(last) = ones.last_mut().filter(|_| !c.is_multiple_of(8)) {
        *last &= (1 << (c % 8)) - 1;
    }
    Ok(Query { ones, offsets })
}

/// What is known of one stretch of partitions. It is kept from one query to the next, and wiped on drop.
pub(crate) struct Room {
    blocks: Zeroizing<Vec<[u8; 16]>>,
    /// 1 for the real partitions.
    real: [u8; STRETCH],
    offsets: [u16; STRETCH],
}

impl Room {
    pub(crate) fn new() -> Self {
        let blocks = STRETCH / 16 + STRETCH / 4 + STRETCH;
        Room { blocks: Zeroizing::new(vec![[0; 16]; blocks]), real: [0; STRETCH], offsets: [0; STRETCH] }
    }

    fn fill(&mut self, prf: &Prf, real: &Real, first: usize, len: usize) {
        let (j, k) = (u64::from(real.id), first as u64);
        let (high, rest) = self.blocks.split_at_mut(STRETCH / 16);
        let (low, lanes) = rest.split_at_mut(STRETCH / 4);
        // `first` is a multiple of the stretch, so blocks begin where it does.
        prf.aes().grid(RANK + k / 16, high.len(), j, 1, high);
        prf.aes().grid(TIE + k / 4, low.len(), j, 1, low);
        let lanes = lanes.get_mut(..len).unwrap_or_default();
        prf.aes().grid(OFFSET + k, len, j / 8, 1, lanes);

        let mask = prf.mask();
        let upper = u64::from(real.id >> 2 & 1).wrapping_neg();
        let shift = (real.id & 3) * 16;
        for ((out, block), k) in self.offsets.iter_mut().zip(lanes.iter()).zip(first as u32..) {
            let block = u128::from_le_bytes(*block);
            let word = (block as u64 & !upper) | ((block >> 64) as u64 & upper);
            let extra = (equal(k, real.with) as u16).wrapping_neg();
            *out = ((word >> shift) as u16 & mask & !extra) | (real.offset & extra);
        }
        let ranks = high.as_flattened().iter().zip(low.as_flattened().as_chunks().0);
        for ((out, (v, u)), k) in self.real.iter_mut().zip(ranks).zip(first as u32..) {
            let inside = below(joined(*v, u32::from_le_bytes(*u)), real.cut) ^ real.outside;
            *out = ((inside | equal(k, real.with)) & (1 ^ equal(k, real.without))) as u8;
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.real.zeroize();
        self.offsets.zeroize();
    }
}

/// 1 if a < b, without a branch.
pub(crate) fn below(a: u32, b: u32) -> u32 {
    (u64::from(a).wrapping_sub(u64::from(b)) >> 63) as u32
}

/// 1 if a = b, without a branch.
pub(crate) fn equal(a: u32, b: u32) -> u32 {
    (u64::from(a ^ b).wrapping_sub(1) >> 63) as u32
}
