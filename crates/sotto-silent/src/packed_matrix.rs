//! A matrix whose products are packed: one pass over it, and one over the weights after it, for a few
//! queries at once. A part has some groups of a record's numbers: their rows of the matrix, which are
//! consecutive, and their packing data.

use crate::groups::{Groups, MaskLayout};
use crate::matrix::Matrix;
use crate::packed_groups::{PackedGroups, PackingKeys};
use crate::pieces::{PartSection, Piece};
use crate::unit_vector::MessageBits;
use sotto_core::{PartIndex, PeerMisbehaved, Result};
use sotto_lattice::ciphertext::Ciphertext;
use sotto_math::matrix::PANEL_ROWS;
use sotto_math::matrix::{PanelLayout, QueryPlanes};
use std::ops::Range;
use std::sync::Arc;

/// Queries in one pass: their words have five or six planes, and twenty planes saturate the
/// multipliers.
pub const BATCH: usize = 4;

/// Some consecutive groups of a packed matrix, which is four pieces of a section: the matrix, and the
/// weights, digits and masks after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRange {
    /// The numbers of the groups.
    pub groups: Range<usize>,
    /// The layout of these rows alone.
    pub layout: PanelLayout,
    /// The packing groups of these rows alone.
    pub packing: Groups,
    /// The bytes of the rows, and of the groups' packing data.
    pub pieces: Vec<Piece>,
}

impl GroupRange {
    /// Pieces of a packed matrix in a section.
    pub const PIECES: usize = 4;

    /// The share of a part, in units of `unit` groups. There may be fewer units than parts.
    pub fn share(
        layout: &PanelLayout,
        packing: &Groups,
        (cut, unit): (PartIndex, usize),
        masks: MaskLayout,
    ) -> Self {
        let units = cut.share((packing.count() / unit) as u64);
        Self::of(layout, packing, units.start as usize * unit..units.end as usize * unit, masks)
    }

    /// The share of a part of each of some buckets, which are alike: the groups of all buckets are
    /// divided, so a part may have no groups of some buckets.
    pub fn shares(
        buckets: usize,
        layout: &PanelLayout,
        packing: &Groups,
        cut: PartIndex,
        masks: MaskLayout,
    ) -> Vec<Self> {
        let all = cut.share((buckets * packing.count()) as u64);
        let of_bucket = |bucket: usize| {
            let first = bucket * packing.count();
            let group = |of_all: u64| (of_all as usize).clamp(first, first + packing.count()) - first;
            Self::of(layout, packing, group(all.start)..group(all.end), masks)
        };
        (0..buckets).map(of_bucket).collect()
    }

    fn of(layout: &PanelLayout, packing: &Groups, groups: Range<usize>, masks: MaskLayout) -> Self {
        // At several scales, panels of as many records follow each other.
        let of_number = packing.plain().bytes() * packing.plain().scales();
        let row = |group: usize| (group * of_number * packing.size()).min(layout.rows());
        let rows = row(groups.start)..row(groups.end);
        let byte = |row: usize| (row.div_ceil(PANEL_ROWS) * layout.panel_bytes()) as u64;
        let matrix = Piece { bytes: layout.bytes() as u64, part: byte(rows.start)..byte(rows.end) };
        GroupRange {
            layout: PanelLayout::new(rows.len(), layout.cols()),
            packing: packing.some(&groups),
            pieces: std::iter::once(matrix).chain(packing.pieces(&groups, masks)).collect(),
            groups,
        }
    }
}

/// The matrix of an open image with its packing, or some groups of it.
pub struct PackedMatrix {
    matrix: Matrix,
    weights: Matrix,
    packed: PackedGroups,
    planes: usize,
    held: PartSection,
    /// The piece of the section that the weights are.
    piece: usize,
}

/// A query in the form that both passes take.
pub struct PackedQuery {
    planes: QueryPlanes,
    keys: Arc<PackingKeys>,
}

impl PackedMatrix {
    /// Some groups of a matrix, which are four pieces of a section from one on.
    ///
    /// # Errors
    /// The errors of [`PackedGroups::new`].
    pub fn new(
        range: &GroupRange,
        (bits, masks): (MessageBits, MaskLayout),
        held: PartSection,
        piece: usize,
    ) -> Result<Self> {
        let packed = PackedGroups::new(range.packing, bits, masks)?;
        let (planes, weights) = (bits.query.div_ceil(8) as usize, piece + 1);
        Ok(PackedMatrix {
            matrix: Matrix::new(range.layout, held.clone(), piece),
            weights: Matrix::new(packed.layout(), held.clone(), weights),
            packed,
            planes,
            held,
            piece: weights,
        })
    }

    /// The packing.
    pub fn packed(&self) -> &PackedGroups {
        &self.packed
    }

    /// Prepares the words of a vector, and the bodies of its keys.
    ///
    /// # Errors
    /// [`PeerMisbehaved::NotCanonical`] for malformed keys.
    pub fn expand(&self, words: &[u64], keys: &[Vec<u64>]) -> Result<PackedQuery> {
        Ok(self.with_keys(words, self.keys(keys)?))
    }

    /// Prepares the bodies of keys, which serve every matrix of one packing.
    ///
    /// # Errors
    /// [`PeerMisbehaved::NotCanonical`] for malformed keys.
    pub fn keys(&self, keys: &[Vec<u64>]) -> Result<Arc<PackingKeys>> {
        Ok(Arc::new(self.packed.keys(keys).ok_or(PeerMisbehaved::NotCanonical("query"))?))
    }

    /// Prepares the words of a vector.
    pub fn with_keys(&self, words: &[u64], keys: Arc<PackingKeys>) -> PackedQuery {
        PackedQuery { planes: QueryPlanes::from_u64(words, self.planes, self.matrix.layout()), keys }
    }

    /// The products of the matrix with a few queries, modulo q.
    fn products(&self, queries: &[&PackedQuery]) -> Vec<Vec<u64>> {
        let planes: Vec<&QueryPlanes> = queries.iter().map(|query| &query.planes).collect();
        let sums = self.matrix.times_planes(&planes);
        sums.iter().map(|sums| self.packed.products(sums, self.planes)).collect()
    }

    /// For each query the body of each group's ciphertext, in the bits that are sent.
    pub fn pass(&self, queries: &[&PackedQuery]) -> Vec<Vec<Vec<u64>>> {
        let products = self.products(queries);
        let (keys, sums) = self.weigh(queries);
        self.packed.pack(self.packing_data(), &keys, &sums, &products)
    }

    /// For each query the ciphertext of each group.
    pub fn ciphers(&self, queries: &[&PackedQuery]) -> Vec<Vec<Ciphertext>> {
        let products = self.products(queries);
        let (keys, sums) = self.weigh(queries);
        self.packed.ciphers(self.packing_data(), &keys, &sums, &products)
    }

    /// The keys of queries, and the products of the weights with them.
    fn weigh<'a>(&self, queries: &[&'a PackedQuery]) -> (Vec<&'a PackingKeys>, Vec<Vec<i64>>) {
        let keys: Vec<&PackingKeys> = queries.iter().map(|query| &*query.keys).collect();
        let planes: Vec<&QueryPlanes> = keys.iter().map(|keys| keys.planes()).collect();
        let sums = self.weights.times_planes(&planes);
        (keys, sums)
    }

    /// Weights, digits of last switches, and masks.
    fn packing_data(&self) -> &[u8] {
        self.held.pieces(self.piece..self.piece + 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::N;

    #[test]
    fn parts_are_the_pieces() {
        let (packing, masks) = (Groups::new(3 * N + 100, 1), MaskLayout::Whole);
        let layout = PanelLayout::new(2 * packing.numbers() - 1, 9);
        let mut all: Vec<Range<u64>> = Vec::new();
        for cut in PartIndex::all(5) {
            let part = GroupRange::share(&layout, &packing, (cut, 1), masks);
            let ranges = Piece::ranges(&part.pieces);
            let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            assert_eq!(bytes, part.layout.bytes() as u64 + part.packing.bytes(masks));
            all.extend(ranges.into_iter().filter(|range| !range.is_empty()));
        }
        all.sort_by_key(|range| range.start);
        assert!(all.windows(2).all(|two| two[0].end == two[1].start), "{all:?}");
        assert_eq!((all[0].start, all[all.len() - 1].end), (0, layout.bytes() as u64 + packing.bytes(masks)));
    }

    #[test]
    fn parts_of_buckets_are_their_groups_in_order() {
        let (packing, masks) = (Groups::new(2 * N + 100, 1), MaskLayout::Whole);
        let layout = PanelLayout::new(2 * packing.numbers(), 9);
        for parts in [1, 2, 5, 12, 20] {
            let mut all = Vec::new();
            for cut in PartIndex::all(parts) {
                let shares = GroupRange::shares(4, &layout, &packing, cut, masks);
                let groups = shares
                    .iter()
                    .enumerate()
                    .flat_map(|(b, share)| share.groups.clone().map(move |g| (b, g)));
                all.extend(groups);
            }
            let want: Vec<_> = (0..4).flat_map(|bucket| (0..3).map(move |group| (bucket, group))).collect();
            assert_eq!(all, want, "{parts}");
        }
    }
}
