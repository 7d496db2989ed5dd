//! Making a request out of a hint: its offsets, but for the row that is asked for.

use crate::Whole;
use crate::hints::PROMOTED;
use crate::message::Query;
use sotto_hints::stream::place::{equal, pick};
use sotto_hints::stream::request::{Room, STRETCH};
use sotto_hints::stream::{Hint, NOWHERE, Place, Prf};
use zeroize::Zeroize;

/// Which offsets are asked for.
#[derive(Zeroize)]
#[zeroize(drop)]
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
    pub(crate) fn choose(found: u32, chosen: (u32, Hint<()>), unused: u32, instead: Place) -> Self {
        let own = Place::of(chosen.1.entry);
        let has_own = found & u32::from(chosen.1.mark & PROMOTED != 0);
        Real {
            id: pick(found, chosen.0, unused),
            home: pick(has_own, own.partition.into(), NOWHERE),
            own: own.offset,
            partition: pick(found, instead.partition.into(), NOWHERE),
            instead: instead.offset,
        }
    }

    /// The request for these offsets.
    pub(crate) fn build(&self, prf: &Prf<Whole>, room: &mut Room) -> Query {
        let mut offsets = vec![0; prf.partitions()];
        for (first, out) in (0..).step_by(STRETCH).zip(offsets.chunks_mut(STRETCH)) {
            room.offsets(prf, self.id, first, out, |k, offset| {
                let offset = pick(equal(k, self.home), self.own.into(), offset.into());
                pick(equal(k, self.partition), self.instead.into(), offset) as u16
            });
        }
        Query { offsets }
    }
}
