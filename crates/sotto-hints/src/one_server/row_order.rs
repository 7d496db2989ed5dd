//! The order of rows in partitions, and choices without branches.

use zeroize::Zeroize;

/// The number of a partition that no table has.
pub const NOWHERE: u32 = u32::MAX;

/// The place of a row in a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Zeroize)]
pub struct PartitionPlace {
    /// The partition of the row, l.
    pub partition: u16,
    /// The offset of the row in its partition, o.
    pub offset: u16,
}

impl PartitionPlace {
    /// The place as one number, as it is stored.
    #[inline]
    pub fn number(self) -> u32 {
        u32::from(self.partition) << 16 | u32::from(self.offset)
    }

    /// The place that a stored number means.
    #[inline]
    pub fn of(number: u32) -> Self {
        PartitionPlace { partition: (number >> 16) as u16, offset: number as u16 }
    }
}

/// The public order of rows in partitions.
pub trait RowOrder: Send + 'static {
    /// The order of a table with c partitions of w rows, w a power of two.
    fn new(partitions: usize, partition_rows: usize) -> Self;

    /// Number of places, of `all`, that an image stores: up to the last place that has a row.
    fn places(_rows: u64, all: u64) -> u64 {
        all
    }

    /// The places of consecutive rows from `first` on, in time that does not depend on the rows.
    fn run(&self, first: u64, out: &mut [PartitionPlace]);

    /// The place of a row.
    fn of(&self, row: u64) -> PartitionPlace {
        let mut place = [PartitionPlace::default()];
        self.run(row, &mut place);
        let [place] = place;
        place
    }
}

/// The order that fills partitions one after the other.
pub struct IdentityOrder {
    /// log2 of w.
    bits: u32,
}

impl RowOrder for IdentityOrder {
    fn new(_: usize, partition_rows: usize) -> Self {
        IdentityOrder { bits: partition_rows.ilog2() }
    }

    fn places(rows: u64, _: u64) -> u64 {
        rows
    }

    fn run(&self, first: u64, out: &mut [PartitionPlace]) {
        // w is a power of two, so no division depends on the index.
        let mask = (1 << self.bits) - 1;
        for (row, place) in (first..).zip(out) {
            *place = PartitionPlace { partition: (row >> self.bits) as u16, offset: (row & mask) as u16 };
        }
    }
}

/// `one` if `which` is 1 and `other` if it is 0, without a branch.
#[inline]
pub fn pick(which: u32, one: u32, other: u32) -> u32 {
    let mask = which.wrapping_neg();
    (one & mask) | (other & !mask)
}

/// 1 if a < b, without a branch.
#[inline]
pub fn below(a: u32, b: u32) -> u32 {
    (u64::from(a).wrapping_sub(u64::from(b)) >> 63) as u32
}

/// 1 if a = b, without a branch.
#[inline]
pub fn equal(a: u32, b: u32) -> u32 {
    (u64::from(a ^ b).wrapping_sub(1) >> 63) as u32
}
