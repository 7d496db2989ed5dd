//! Tables in parts: a part has some rows of the matrix, and its partial answer is those words of
//! the answer.

use super::VeriSimplePir;
use super::message::{Answer, Query};
use super::params::Params;
use super::server::{ROWS, Server};
use sotto_core::{Image, PartIndex, PartScheme, Result, Section};
use sotto_silent::lwe::ring;
use sotto_silent::matrix::{Matrix, RowRange};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a word.
const WORD: usize = 4;

impl PartScheme for VeriSimplePir {
    type Part = Server;
    type Joiner = ();

    const SECTION: Section = ROWS;

    fn max_parts(params: &Params) -> u32 {
        RowRange::max_parts(&params.layout())
    }

    fn part_ranges(params: &Params, cut: PartIndex) -> Vec<Range<u64>> {
        vec![RowRange::of(&params.layout(), cut).bytes]
    }

    fn open_part(params: &Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<Server> {
        let layout = RowRange::of(&params.layout(), cut).layout;
        Ok(Server { matrix: Matrix::open(layout, 0, ROWS, image)? })
    }

    fn partial_bytes(params: &Params, cut: PartIndex) -> usize {
        RowRange::of(&params.layout(), cut).rows.len() * WORD
    }

    fn admit(_: &Params, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_part(part: &Server, queries: Vec<(&(), Query)>) -> Vec<Result<Vec<u8>>> {
        let bytes = |Answer(words): Answer| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let answers = sotto_core::Server::answer_many(part, queries);
        answers.into_iter().map(|answer| answer.map(bytes)).collect()
    }

    fn prepare_join(_: &Params) -> Result<()> {
        Ok(())
    }

    fn join((params, ()): (&Params, &()), _: (&(), Query), partials: &[Vec<u8>]) -> Result<Answer> {
        let mut words = Vec::with_capacity(params.l());
        for partial in partials {
            ring::take_words("partial", partial.as_chunks().0, &mut words)?;
        }
        Ok(Answer(words))
    }
}
