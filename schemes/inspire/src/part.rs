//! Tables in parts: a part has some groups of a record's numbers, each with the rows of the matrix
//! and the weights of its polynomials, and its partial answer is their values.

use crate::Inspire;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::server::Server;
use sotto_core::{Image, Params as _, PartIndex, PartScheme, PeerMisbehaved, Result};
use sotto_silent::group_range::GroupRange;
use sotto_silent::lattice::Q_BITS;
use sotto_silent::message;
use sotto_silent::packed_groups::{MaskLayout, PackedGroups};
use std::ops::Range;
use std::sync::Arc;

fn groups_of(params: &Params, cut: PartIndex) -> Range<usize> {
    let share = cut.share(params.groups() as u64);
    share.start as usize..share.end as usize
}

/// The polynomials of a part's groups.
fn portion(params: &Params, cut: PartIndex) -> GroupRange {
    let (groups, t) = (groups_of(params, cut), params.places());
    let packed = groups.start * t..groups.end * t;
    GroupRange::of(&params.layout(), &params.literal().packing(), packed, Q_BITS)
}

impl PartScheme for Inspire {
    type Part = Server;
    type Joiner = ();

    fn max_parts(params: &Params) -> u32 {
        u32::try_from(params.groups()).unwrap_or(u32::MAX)
    }

    fn part_ranges(params: &Params, cut: PartIndex) -> Vec<Range<u64>> {
        portion(params, cut).bytes(0).collect()
    }

    fn open_part(params: &Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<Server> {
        let GroupRange { layout, packing, .. } = portion(params, cut);
        Server::open_some(
            params,
            layout,
            PackedGroups::new(packing, params.bits(), MaskLayout::Whole)?,
            image,
        )
    }

    fn partial_bytes(params: &Params, cut: PartIndex) -> usize {
        let group = params.literal().answer_bytes() / params.literal().groups();
        groups_of(params, cut).len() * group as usize
    }

    fn admit(_: &Params, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_part(part: &Server, queries: Vec<(&(), Query)>) -> Vec<Result<Vec<u8>>> {
        let written = |Answer(groups): Answer| {
            let mut out = Vec::new();
            message::put_groups(&groups, part.params.bits(), &mut out);
            out
        };
        let answers = sotto_core::Server::answer_many(part, queries);
        answers.into_iter().map(|answer| answer.map(written)).collect()
    }

    fn prepare_join(_: &Params) -> Result<()> {
        Ok(())
    }

    fn join((params, ()): (&Params, &()), _: (&(), Query), partials: &[Vec<u8>]) -> Result<Answer> {
        let groups = message::take_groups(&mut &*partials.concat(), params.bits(), params.groups());
        Ok(Answer(groups.ok_or(PeerMisbehaved::NotCanonical("partial"))?))
    }
}
