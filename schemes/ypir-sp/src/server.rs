//! The server: one pass over the matrix, and one over the weights, for a few queries at once. A part
//! has some groups of a record's numbers, with their rows of the matrix and their weights.

use crate::YpirSp;
use sotto_core::{Misuse, PartIndex, RecordChange, RecordSource, Result, Section, Sink};
use sotto_silent::groups::MaskLayout;
use sotto_silent::matrix::{ByteChange, Matrix, change_panels, write_matrix};
use sotto_silent::message::{Partial, PartialFormat, Query};
use sotto_silent::packed_groups::{PackedGroups, write_packed};
use sotto_silent::packed_matrix::{BATCH, GroupRange, PackedMatrix, PackedQuery};
use sotto_silent::pieces::{PartSection, Piece};
use sotto_silent::{MatrixServer, Params};

/// An open table, or some groups of one.
pub struct Server {
    matrix: PackedMatrix,
}

/// The layout of the weights, and their packing.
fn packed(params: &Params<YpirSp>) -> Result<PackedGroups> {
    PackedGroups::new(params.packing(), params.bits(), MaskLayout::ARTIFACT)
}

/// The groups of a part.
fn share(params: &Params<YpirSp>, cut: PartIndex) -> GroupRange {
    GroupRange::share(&params.layout(), &params.packing(), (cut, 1), MaskLayout::ARTIFACT)
}

impl MatrixServer<YpirSp> for Server {
    const BATCH: usize = BATCH;
    type Expanded = PackedQuery;
    type Joiner = ();

    fn pieces(params: &Params<YpirSp>, cut: PartIndex) -> Vec<Piece> {
        share(params, cut).pieces
    }

    fn write(params: &Params<YpirSp>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let (layout, packed) = (params.layout(), packed(params)?);
        write_matrix(layout, Section::Resident, rows, out)?;
        write_packed(layout, Section::Resident, &packed, packed.together(0..params.packing().count()), out)
    }

    /// The changed bytes, and the weights of every group that they touch. Queries do not depend on the
    /// table, so nothing changes for clients.
    fn update_image(params: &Params<YpirSp>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let (layout, packed) = (params.layout(), packed(params)?);
        // A panel belongs to one group.
        let samples = params.samples();
        let group = |entries: &[ByteChange]| Ok(entries.first().map(|entry| entry.row as usize / samples));
        let touched = change_panels(layout, Section::Resident, changes, out, group)?;
        write_packed(layout, Section::Resident, &packed, packed.together(touched.into_iter().flatten()), out)
    }

    fn records(params: &Params<YpirSp>, held: PartSection) -> Box<dyn RecordSource> {
        Matrix::new(params.layout(), held, 0).records()
    }

    fn max_parts(params: &Params<YpirSp>) -> u32 {
        params.packing().count() as u32
    }

    fn partial(params: &Params<YpirSp>, cut: PartIndex) -> PartialFormat {
        let groups = share(params, cut).groups.len() as u64;
        PartialFormat { ciphers: params.bodies(groups), ..PartialFormat::default() }
    }

    fn open(params: &Params<YpirSp>, cut: PartIndex, held: PartSection) -> Result<Self> {
        let bits = (params.bits(), MaskLayout::ARTIFACT);
        Ok(Server { matrix: PackedMatrix::new(&share(params, cut), bits, held, 0)? })
    }

    fn joiner(_: &Params<YpirSp>) -> Result<()> {
        Ok(())
    }

    fn expand(&self, _: &Params<YpirSp>, (): &(), Query(fields): &Query) -> Result<PackedQuery> {
        let (words, keys) = fields.split_first().ok_or(Misuse::Rule("a query must have fields"))?;
        self.matrix.expand(words, keys)
    }

    /// The paper's Answer: multiply the matrix by the words of a few queries in one pass; then pack
    /// the products, in one pass over the weights, with the keys of each query.
    fn pass(&self, _: &Params<YpirSp>, queries: &[PackedQuery]) -> Vec<Partial> {
        let ciphers = self.matrix.pass(&queries.iter().collect::<Vec<_>>());
        ciphers.into_iter().map(|ciphers| Partial { ciphers, ..Partial::default() }).collect()
    }
}
