//! Tables in parts: a part has some groups of a record's numbers, with the rows of the matrix and the weights that are theirs,
//! and its partial is their ciphertexts.

use crate::YpirSp;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::server::Server;
use sotto_core::{Cut, Image, Params as _, Partial, PeerMisbehaved, Result, Section};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use sotto_silent::lattice::N;
use sotto_silent::matrix::Matrix;
use sotto_silent::message;
use sotto_silent::packed::{Masks, Packed};
use std::ops::Range;
use std::sync::Arc;

/// Rows of the matrix that a full group takes.
const GROUP_ROWS: usize = 2 * N;

fn groups_of(params: &Params, cut: Cut) -> Range<usize> {
    let share = cut.share(params.groups() as u64);
    share.start as usize..share.end as usize
}

/// The rows of some groups.
fn rows_of(params: &Params, groups: &Range<usize>) -> Range<usize> {
    let row = |group: usize| (group * GROUP_ROWS).min(params.layout().rows());
    row(groups.start)..row(groups.end)
}

impl Partial for YpirSp {
    type Part = Server;

    fn most_parts(params: &Params) -> u32 {
        u32::try_from(params.groups()).unwrap_or(u32::MAX)
    }

    fn holds(params: &Params, cut: Cut) -> Vec<Range<u64>> {
        let (groups, layout) = (groups_of(params, cut), params.layout());
        let rows = rows_of(params, &groups);
        let panel = |row: usize| (row.div_ceil(PANEL_ROWS) * layout.panel_bytes()) as u64;
        let behind = params.literal().packing().bytes_of(&groups, params.bits().mask);
        let behind =
            behind.map(|range| layout.bytes() as u64 + range.start..layout.bytes() as u64 + range.end);
        std::iter::once(panel(rows.start)..panel(rows.end)).chain(behind).collect()
    }

    fn open_part(params: &Params, cut: Cut, image: Arc<dyn Image>) -> Result<Server> {
        let groups = groups_of(params, cut);
        let layout = PanelLayout::new(rows_of(params, &groups).len(), params.layout().cols());
        let packed = Packed::new(params.literal().packing().some(&groups), params.bits(), Masks::Sent)?;
        let matrix = Matrix::open(layout, packed.bytes(), Section::Resident, image)?;
        Ok(Server { params: params.clone(), matrix, packed })
    }

    fn partial_bytes(params: &Params, cut: Cut) -> usize {
        let group = params.literal().answer_bytes() / params.literal().groups();
        groups_of(params, cut).len() * group as usize
    }

    fn admit(_: &Params, (): ()) -> Result<()> {
        Ok(())
    }

    fn partials(part: &Server, asks: Vec<(&(), Query)>) -> Vec<Result<Vec<u8>>> {
        let written = |Answer(groups): Answer| {
            let mut out = Vec::new();
            message::put_groups(&groups, part.params.bits(), &mut out);
            out
        };
        let answers = sotto_core::Server::answer_many(part, asks);
        answers.into_iter().map(|answer| answer.map(written)).collect()
    }

    fn join(params: &Params, _: (&(), Query), partials: &[Vec<u8>]) -> Result<Answer> {
        let groups = message::take_groups(&mut &*partials.concat(), params.bits(), params.groups());
        Ok(Answer(groups.ok_or(PeerMisbehaved::NotCanonical("partial"))?))
    }
}
