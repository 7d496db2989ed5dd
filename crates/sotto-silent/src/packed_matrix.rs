//! A matrix whose products are packed: one pass over it, and one over the weights after it, for a few
//! queries at once.

use crate::group_range::GroupRange;
use crate::matrix::{Matrix, SectionOffset};
use crate::packed_groups::{MaskLayout, PackedGroups, PackingKeys};
use crate::unit_vector::MessageBits;
use sotto_core::{Image, PeerMisbehaved, RecordSource, Result};
use sotto_lattice::ciphertext::Ciphertext;
use sotto_math::matrix::{QueryPlanes, scan_planes};
use std::sync::Arc;

/// Queries in one pass: their words have five or six planes, and twenty planes saturate the
/// multipliers.
pub const BATCH: usize = 4;

/// The matrix of an open image with its packing, or some groups of it.
pub struct PackedMatrix {
    matrix: Matrix,
    packed: PackedGroups,
    planes: usize,
}

/// A query in the form that both passes take.
pub struct PackedQuery {
    planes: QueryPlanes,
    keys: PackingKeys,
}

impl PackedMatrix {
    /// Opens some groups of a matrix, from an offset on.
    ///
    /// # Errors
    /// Those of [`sotto_core::ImageSection::open`].
    pub fn open(
        range: &GroupRange,
        (bits, masks): (MessageBits, MaskLayout),
        at: impl Into<SectionOffset>,
        image: Arc<dyn Image>,
    ) -> Result<Self> {
        let packed = PackedGroups::new(range.packing, bits, masks)?;
        let matrix = Matrix::open(range.layout, packed.bytes(), at, image)?;
        Ok(PackedMatrix { matrix, packed, planes: bits.query.div_ceil(8) as usize })
    }

    /// The packing.
    pub fn packed(&self) -> &PackedGroups {
        &self.packed
    }

    /// The records, one for each column.
    pub fn records(self) -> Box<dyn RecordSource> {
        self.matrix.records()
    }

    /// Prepares the words of a vector, and the bodies of its keys.
    ///
    /// # Errors
    /// [`PeerMisbehaved::NotCanonical`] for malformed keys.
    pub fn expand(&self, words: &[u64], keys: &[Vec<u64>]) -> Result<PackedQuery> {
        let planes = QueryPlanes::from_u64(words, self.planes, self.matrix.layout());
        let keys = self.packed.keys(keys).ok_or(PeerMisbehaved::NotCanonical("query"))?;
        Ok(PackedQuery { planes, keys })
    }

    /// The products of the matrix with a few queries, modulo q.
    fn products(&self, queries: &[&PackedQuery]) -> Vec<Vec<u64>> {
        let planes: Vec<&QueryPlanes> = queries.iter().map(|query| &query.planes).collect();
        let sums = self.matrix.times(&planes, self.planes, scan_planes);
        sums.iter().map(|sums| self.packed.products(sums, self.planes)).collect()
    }

    /// For each query the mask and the body of each group's ciphertext, one after the other, in the
    /// bits that are sent.
    pub fn pass(&self, queries: &[&PackedQuery]) -> Vec<Vec<Vec<u64>>> {
        let products = self.products(queries);
        let keys: Vec<&PackingKeys> = queries.iter().map(|query| &query.keys).collect();
        let packed = self.packed.pack(self.matrix.parts().1, &keys, &products);
        packed.into_iter().map(|groups| groups.into_iter().flatten().collect()).collect()
    }

    /// For each query the ciphertext of each group.
    pub fn ciphers(&self, queries: &[&PackedQuery]) -> Vec<Vec<Ciphertext>> {
        let products = self.products(queries);
        let keys: Vec<&PackingKeys> = queries.iter().map(|query| &query.keys).collect();
        self.packed.ciphers(self.matrix.parts().1, &keys, &products)
    }
}
