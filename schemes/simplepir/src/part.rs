//! Tables in parts: a part has some rows of the matrix, and its partial answer is those words of
//! the answer.

use crate::SimplePir;
use crate::message::{Answer, Query, bytes, pack, unpack};
use crate::params::Params;
use crate::server::Server;
use sotto_core::{Image, Params as _, PartIndex, PartScheme, Result, Section};
use sotto_silent::matrix::{Matrix, RowRange};
use std::ops::Range;
use std::sync::Arc;

impl PartScheme for SimplePir {
    type Part = Server;
    type Joiner = ();

    fn max_parts(params: &Params) -> u32 {
        RowRange::max_parts(&params.layout())
    }

    fn part_ranges(params: &Params, cut: PartIndex) -> Vec<Range<u64>> {
        vec![RowRange::of(&params.layout(), cut).bytes]
    }

    fn open_part(params: &Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<Server> {
        let layout = RowRange::of(&params.layout(), cut).layout;
        Ok(Server { params: params.clone(), matrix: Matrix::open(layout, 0, Section::Resident, image)? })
    }

    fn partial_bytes(params: &Params, cut: PartIndex) -> usize {
        bytes(RowRange::of(&params.layout(), cut).rows.len(), params.literal().answer_bits)
    }

    fn admit(_: &Params, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_part(part: &Server, queries: Vec<(&(), Query)>) -> Vec<Result<Vec<u8>>> {
        let packed = |Answer(words): Answer| {
            let mut out = Vec::new();
            pack(&words, part.params.answer_bits(), &mut out);
            out
        };
        let answers = sotto_core::Server::answer_many(part, queries);
        answers.into_iter().map(|answer| answer.map(packed)).collect()
    }

    fn prepare_join(_: &Params) -> Result<()> {
        Ok(())
    }

    fn join((params, ()): (&Params, &()), _: (&(), Query), partials: &[Vec<u8>]) -> Result<Answer> {
        let mut words = Vec::with_capacity(params.l());
        let parts = u32::try_from(partials.len()).unwrap_or(u32::MAX);
        for (cut, partial) in PartIndex::all(parts).zip(partials) {
            let rows = RowRange::of(&params.layout(), cut).rows.len();
            words.extend(unpack("partial", partial, rows, params.answer_bits())?);
        }
        Ok(Answer(words))
    }
}
