//! The server: one pass over the matrix, and one over the weights, for a few queries at once.

use crate::YpirSp;
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::server::together;
use sotto_core::{Image, Params as _, PeerMisbehaved, RecordSource, Result, Section, Sink};
use sotto_math::matrix::{QueryPlanes, scan_planes};
use sotto_silent::matrix::{Matrix, write_matrix};
use sotto_silent::packed_groups::{MaskLayout, PackedGroups, PackingKeys, write_packed};
use std::sync::Arc;

/// Queries in one pass: their words have five or six planes, and twenty planes saturate the
/// multipliers.
const BATCH: usize = 4;

/// An open table, or some groups of one.
pub struct Server {
    pub(crate) params: Params,
    pub(crate) matrix: Matrix,
    pub(crate) packed: PackedGroups,
}

/// A query in the form that both passes take.
struct ExpandedQuery {
    planes: QueryPlanes,
    keys: PackingKeys,
}

impl sotto_core::Server<YpirSp> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let packed = packed(params)?;
        out.reserve(Section::Resident, params.literal().matrix_bytes() + packed.bytes())?;
        write_matrix(params.layout(), Section::Resident, rows, out)?;
        let groups = packed.together(0..params.groups());
        write_packed(params.layout(), Section::Resident, &packed, groups, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let packed = packed(params)?;
        let matrix = Matrix::open(params.layout(), packed.bytes(), Section::Resident, image)?;
        Ok(Server { params: params.clone(), matrix, packed })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        let packed = packed(params)?;
        Ok(Matrix::open(params.layout(), packed.bytes(), Section::Resident, image)?.records())
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer: multiply the matrix by the words of a few queries in one pass; then pack the
    /// products, in one pass over the weights, with the keys of each query.
    fn answer_many(&self, queries: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let prepared = queries.iter().map(|(_, query)| self.prepare(query)).collect();
        together(prepared, |queries: Vec<ExpandedQuery>| {
            queries.chunks(BATCH).flat_map(|some| self.answers(some)).map(Ok).collect()
        })
    }
}

impl Server {
    fn prepare(&self, query: &Query) -> Result<ExpandedQuery> {
        let planes = QueryPlanes::from_u64(&query.words, self.params.planes(), self.matrix.layout());
        let bad = || PeerMisbehaved::NotCanonical("query");
        Ok(ExpandedQuery { planes, keys: self.packed.keys(&query.keys).ok_or_else(bad)? })
    }

    fn answers(&self, queries: &[ExpandedQuery]) -> Vec<Answer> {
        let planes: Vec<QueryPlanes> = queries.iter().map(|query| query.planes.clone()).collect();
        let keys: Vec<&PackingKeys> = queries.iter().map(|query| &query.keys).collect();
        let sums = self.matrix.times(&planes, self.params.planes(), scan_planes);
        let products = |sums: &Vec<i64>| self.packed.products(sums, self.params.planes());
        let products: Vec<Vec<u64>> = sums.iter().map(products).collect();
        let (_, weights) = self.matrix.parts();
        self.packed.pack(weights, &keys, &products).into_iter().map(Answer).collect()
    }
}

/// The layout of the weights, and their packing.
pub(crate) fn packed(params: &Params) -> Result<PackedGroups> {
    PackedGroups::new(params.literal().packing(), params.bits(), MaskLayout::Sent)
}
