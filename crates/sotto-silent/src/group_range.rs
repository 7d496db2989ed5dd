//! Some groups of a record's numbers, as one part of a table has them: their rows of the matrix,
//! which are consecutive, and the packing data after the matrix.

use crate::groups::Groups;
use sotto_core::PartIndex;
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use std::ops::Range;

/// Some consecutive groups of a packed matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRange {
    /// The numbers of the groups.
    pub groups: Range<usize>,
    /// The layout of these rows alone.
    pub layout: PanelLayout,
    /// The packing groups of these rows alone.
    pub packing: Groups,
    /// The bytes of the rows in the whole matrix.
    matrix: Range<u64>,
    /// The bytes of weights, digits and masks after the whole matrix.
    behind: [Range<u64>; 3],
}

impl GroupRange {
    /// The given groups of a matrix, with masks of `mask_bits` bits a coefficient.
    pub fn of(layout: &PanelLayout, packing: &Groups, groups: Range<usize>, mask_bits: u32) -> Self {
        let row = |group: usize| (group * 2 * packing.size()).min(layout.rows());
        let rows = row(groups.start)..row(groups.end);
        let byte = |row: usize| (row.div_ceil(PANEL_ROWS) * layout.panel_bytes()) as u64;
        let behind = packing.bytes_of(&groups, mask_bits);
        let behind =
            behind.map(|range| layout.bytes() as u64 + range.start..layout.bytes() as u64 + range.end);
        GroupRange {
            layout: PanelLayout::new(rows.len(), layout.cols()),
            packing: packing.some(&groups),
            matrix: byte(rows.start)..byte(rows.end),
            behind,
            groups,
        }
    }

    /// The share of a part, in units of `unit` groups. There may be fewer units than parts.
    pub fn share(
        layout: &PanelLayout,
        packing: &Groups,
        (cut, unit): (PartIndex, usize),
        mask_bits: u32,
    ) -> Self {
        let units = cut.share((packing.count() / unit) as u64);
        let groups = units.start as usize * unit..units.end as usize * unit;
        Self::of(layout, packing, groups, mask_bits)
    }

    /// The byte ranges of these groups, in order, in a section where the matrix begins at `start`.
    pub fn bytes(&self, start: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        let all = std::iter::once(self.matrix.clone()).chain(self.behind.clone());
        all.map(move |range| start + range.start..start + range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::N;

    #[test]
    fn portions_are_the_matrix_and_what_is_behind_it() {
        let (packing, bits) = (Groups::new(3 * N + 100, 1), 30);
        let layout = PanelLayout::new(2 * packing.numbers() - 1, 9);
        let mut all: Vec<Range<u64>> = Vec::new();
        for groups in [0..1, 1..1, 1..3, 3..4] {
            let portion = GroupRange::of(&layout, &packing, groups, bits);
            let bytes: u64 = portion.bytes(64).map(|range| range.end - range.start).sum();
            assert_eq!(bytes, portion.layout.bytes() as u64 + portion.packing.bytes(bits));
            all.extend(portion.bytes(64).filter(|range| !range.is_empty()));
        }
        all.sort_by_key(|range| range.start);
        assert!(all.windows(2).all(|two| two[0].end == two[1].start), "{all:?}");
        let end = 64 + layout.bytes() as u64 + packing.bytes(bits);
        assert_eq!((all[0].start, all[all.len() - 1].end), (64, end));
    }
}
