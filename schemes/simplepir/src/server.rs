//! The server: one pass over the matrix for up to eight queries at once. A part has some rows of the
//! matrix, and its result is those words of the answer.

use crate::SimplePir;
use crate::delta;
use crate::literal::ParamsLiteral;
use rayon::prelude::*;
use sotto_core::{Artifact, Misuse, PartIndex, RecordChange, RecordSource, Result, Section, Sink};
use sotto_math::matrix::QueryPlanes;
use sotto_silent::lwe::hint::{HintUpdater, write_hint};
use sotto_silent::lwe::ring::rounded;
use sotto_silent::lwe::update::update_rows;
use sotto_silent::matrix::{
    ACCELERATED_BATCH, BATCH, ByteChange, Matrix, RowRange, change_panels, write_changes, write_matrix,
};
use sotto_silent::message::{Field, Partial, PartialFormat, Query};
use sotto_silent::pieces::{PartSection, Piece};
use sotto_silent::{MatrixServer, Params};

/// The section of the client's hint in an image.
const HINT: Section = Section::Public(Artifact::Hint);

/// The section of the delta that moves a hint to this epoch.
const DELTA: Section = Section::Public(Artifact::HintDelta);

/// Bytes of a pass that take as long as adding one changed byte's row of a dense matrix to a row of
/// the hint.
const DENSE: usize = 8;

/// An open table, or a part of one.
pub struct Server {
    matrix: Matrix,
}

impl MatrixServer<SimplePir> for Server {
    const BATCH: usize = BATCH;
    const ACCELERATED_BATCH: usize = ACCELERATED_BATCH;
    type Expanded = QueryPlanes;
    type Joiner = ();

    fn pieces(params: &Params<SimplePir>, cut: PartIndex) -> Vec<Piece> {
        vec![RowRange::of(&params.layout(), cut).piece]
    }

    fn artifacts(params: &Params<SimplePir>) -> Vec<(Section, u64)> {
        vec![(HINT, params.hint_bytes())]
    }

    /// The paper's Setup: the matrix D, and the hint H = D A.
    fn write(params: &Params<SimplePir>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        write_matrix(params.layout(), Section::Resident, rows, out)?;
        match params.dense() {
            _ if !out.wants(HINT, 0..params.hint_bytes()) => Ok(()),
            None => write_hint(params.layout(), Section::Resident, HINT, out),
            Some(dense) => dense.write_hint(&params.seed, params.layout(), [Section::Resident, HINT], out),
        }
    }

    /// The changed bytes, the hint rows that they touch, and the delta. Memory is about 40 bytes for
    /// each piece of a change in a panel, and that of the delta. For a panel with many changes, hint
    /// rows are computed from scratch, so that no update takes much longer than encoding the table.
    fn update_image(params: &Params<SimplePir>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let layout = params.layout();
        let shares = match params.dense() {
            None => {
                let hint = HintUpdater::new(layout, Section::Resident, HINT, out)?;
                change_panels(layout, Section::Resident, changes, out, |entries| {
                    hint.panel(entries)?;
                    Ok(DeltaRows::of(params, entries))
                })?
            }
            Some(dense) => {
                let entries = write_changes(layout, Section::Resident, changes, out)?;
                // Where many bytes change, rows are computed from scratch.
                if entries.len() > layout.bytes() / DENSE {
                    dense.write_hint(&params.seed, layout, [Section::Resident, HINT], out)?;
                } else {
                    update_rows(Some((dense, &params.seed)), &entries, HINT, out)?;
                }
                vec![DeltaRows::of(params, &entries)]
            }
        };
        write_delta(params, &shares, out)
    }

    fn records(params: &Params<SimplePir>, held: PartSection) -> Box<dyn RecordSource> {
        Matrix::new(params.layout(), held, 0).records()
    }

    fn max_parts(params: &Params<SimplePir>) -> u32 {
        RowRange::max_parts(&params.layout())
    }

    fn partial(params: &Params<SimplePir>, cut: PartIndex) -> PartialFormat {
        let rows = RowRange::of(&params.layout(), cut).rows.len() as u64;
        let words = vec![Field::words(rows, params.answer_bits.into())];
        PartialFormat { words, ..PartialFormat::default() }
    }

    fn open(params: &Params<SimplePir>, cut: PartIndex, held: PartSection) -> Result<Self> {
        Ok(Server { matrix: Matrix::new(RowRange::of(&params.layout(), cut).layout, held, 0) })
    }

    fn joiner(_: &Params<SimplePir>) -> Result<()> {
        Ok(())
    }

    fn expand(&self, params: &Params<SimplePir>, (): &(), Query(fields): &Query) -> Result<QueryPlanes> {
        let [words] = fields.as_slice() else { return Err(Misuse::ForeignValue("query").into()) };
        Ok(QueryPlanes::from_u64(words, params.query_bits.div_ceil(8).into(), self.matrix.layout()))
    }

    /// The paper's Answer, for eight queries in one pass: `y = D c`, then the top t of b bits of every
    /// word.
    fn pass(&self, params: &Params<SimplePir>, queries: &[QueryPlanes]) -> Vec<Partial> {
        let y = self.matrix.times_u32(&queries.iter().collect::<Vec<_>>());
        let of_query = |mut y: Vec<u32>| {
            y.truncate(self.matrix.layout().rows());
            let words = vec![rounded(&y, params.query_bits.into(), params.answer_bits.into())];
            Partial { words, ..Partial::default() }
        };
        y.into_iter().map(of_query).collect()
    }
}

/// The delta of some consecutive rows, each in the shorter encoding.
struct DeltaRows {
    /// Changed bytes, encoded as in the delta.
    entries: Vec<u8>,
    /// Rows that the delta has as a whole.
    whole: Vec<u32>,
}

impl DeltaRows {
    fn of(params: &ParamsLiteral, entries: &[ByteChange]) -> Self {
        let most = delta::most_entries(params);
        let mut share = DeltaRows { entries: Vec::new(), whole: Vec::new() };
        for changes in entries.chunk_by(|a, b| a.row == b.row) {
            match changes.first() {
                Some(first) if changes.len() > most => share.whole.push(first.row),
                _ => changes.iter().for_each(|entry| delta::put_entry(entry, &mut share.entries)),
            }
        }
        share
    }
}

/// Writes the delta, after the hint is written.
fn write_delta(params: &ParamsLiteral, shares: &[DeltaRows], out: &dyn Sink) -> Result<()> {
    let count = shares.iter().map(|share| share.entries.len()).sum::<usize>() / delta::ENTRY;
    let whole: Vec<u32> = shares.iter().flat_map(|share| share.whole.iter().copied()).collect();
    // At most 710 entries in each of at most 2^20 rows, so both counts fit.
    let header = delta::header(count as u32, whole.len() as u32);
    out.reserve(DELTA, delta::row_offset(params, count, whole.len()))?;
    out.write_at(DELTA, 0, &header)?;
    let mut at = header.len() as u64;
    for share in shares.iter().filter(|share| !share.entries.is_empty()) {
        out.write_at(DELTA, at, &share.entries)?;
        at += share.entries.len() as u64;
    }
    whole.par_iter().enumerate().try_for_each(|(i, row)| {
        let mut bytes = row.to_le_bytes().to_vec();
        bytes.resize(delta::row_bytes(params), 0);
        let (_, words) = bytes.split_at_mut(4);
        out.read_at(HINT, u64::from(*row) * words.len() as u64, words)?;
        out.write_at(DELTA, delta::row_offset(params, count, i), &bytes)
    })?;
    out.progress("hint delta", 1, 1);
    Ok(())
}
