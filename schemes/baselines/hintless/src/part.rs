//! Tables in parts: a part has some rows of the matrix; the first part also has one ring of LinPIR,
//! and the last one the other. Partial answers are concatenated.
//!
//! A ring is not divided, since all of it takes the same rotations of a client's secret. A part
//! with a ring has fewer rows.

use crate::Hintless;
use crate::linpir::server::LinPir;
use crate::linpir::{RINGS, answer_bytes_of, ring_bytes};
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::server::Server;
use sotto_core::{Image, Params as _, PartIndex, PartScheme, PeerMisbehaved, Result, Section, work};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use sotto_silent::matrix::{Matrix, RowRange};
use std::ops::Range;
use std::sync::Arc;

/// The contents of a part.
struct PartContents {
    /// Panels of the matrix.
    panels: Range<usize>,
    /// Rows of these panels.
    rows: usize,
    rings: Range<usize>,
}

impl PartContents {
    fn of(params: &Params, cut: PartIndex) -> Self {
        let panels = before(params, cut.part(), cut.parts())..before(params, cut.part() + 1, cut.parts());
        let row = |panel: usize| (panel * PANEL_ROWS).min(params.l());
        let first = if cut.part() == 0 { 0 } else { 1 };
        let end = if cut.part() + 1 == cut.parts() { RINGS } else { 1 };
        PartContents { rows: row(panels.end) - row(panels.start), panels, rings: first..end }
    }

    fn layout(&self, params: &Params) -> PanelLayout {
        PanelLayout::new(self.rows, params.m())
    }
}

/// Panels of the parts before a part: one for each part, and the others such that the parts have
/// equal work, as far as the undivided rings permit.
fn before(params: &Params, part: u32, parts: u32) -> usize {
    let layout = params.layout();
    let panels = layout.panels() as i128;
    let (part, parts) = (i128::from(part), i128::from(parts));
    if part == 0 || part == parts {
        return if part == 0 { 0 } else { layout.panels() };
    }
    let panel = i128::from(layout.panel_bytes() as u64 * work::READ_BYTE);
    let [first, last] = params.literal().ring_ops().map(i128::from);
    let share = (first + panels * panel + last) * part / parts;
    let more = ((share - first).div_euclid(panel) - part).clamp(0, panels - parts);
    (part + more) as usize
}

impl PartScheme for Hintless {
    type Part = Server;
    type Joiner = ();

    fn max_parts(params: &Params) -> u32 {
        RowRange::max_parts(&params.layout())
    }

    fn part_ranges(params: &Params, cut: PartIndex) -> Vec<Range<u64>> {
        let (share, literal) = (PartContents::of(params, cut), params.literal());
        let panel = |panel: usize| (panel * params.layout().panel_bytes()) as u64;
        let bytes = ring_bytes(literal.blocks(), literal.block_rows);
        let ring = |k: usize| literal.matrix_bytes() + bytes.iter().take(k).sum::<u64>();
        let rings = ring(share.rings.start)..ring(share.rings.end);
        vec![panel(share.panels.start)..panel(share.panels.end), rings]
    }

    fn open_part(params: &Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<Server> {
        let share = PartContents::of(params, cut);
        let (layout, rows) = (share.layout(params), [params.l(), params.block_rows()]);
        let linpir = LinPir::some(params.rings(), share.rings, &params.literal().seed, rows)?;
        let matrix = Matrix::open(layout, linpir.bytes(), Section::Resident, image)?;
        Ok(Server { params: params.clone(), matrix, linpir })
    }

    fn partial_bytes(params: &Params, cut: PartIndex) -> usize {
        let share = PartContents::of(params, cut);
        let rings = share.rings.map(|k| answer_bytes_of(k, params.literal().blocks()));
        4 * share.rows + rings.sum::<u64>() as usize
    }

    fn admit(_: &Params, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_part(part: &Server, queries: Vec<(&(), Query)>) -> Vec<Result<Vec<u8>>> {
        let written = |answer: Answer| {
            let mut out = Vec::new();
            answer.put_some(&part.params, part.linpir.rings(), &mut out);
            out
        };
        let answers = sotto_core::Server::answer_many(part, queries);
        answers.into_iter().map(|answer| answer.map(written)).collect()
    }

    fn prepare_join(_: &Params) -> Result<()> {
        Ok(())
    }

    fn join((params, ()): (&Params, &()), _: (&(), Query), partials: &[Vec<u8>]) -> Result<Answer> {
        let mut joined = Answer { words: Vec::with_capacity(params.l()), products: Vec::new() };
        let parts = u32::try_from(partials.len()).unwrap_or(u32::MAX);
        for (cut, partial) in PartIndex::all(parts).zip(partials) {
            let PartContents { rows, rings, .. } = PartContents::of(params, cut);
            let taken = Answer::take_some(params, rows, rings, partial);
            let Answer { words, products } = taken.ok_or(PeerMisbehaved::NotCanonical("partial"))?;
            joined.words.extend(words);
            joined.products.extend(products);
        }
        Ok(joined)
    }
}
