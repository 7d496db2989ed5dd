//! Tables in parts: a part has some partitions, and its partial answer is the sum of their rows.
//! Every part gets every query as a whole.

use super::server::ROWS;
use super::{Answer, Family, OneServerScheme, Params, Server};
use crate::message::MessageLengths;
use sotto_core::parts::add_partials;
use sotto_core::{Image, PartIndex, PartScheme, Result, Section};
use std::ops::Range;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Partitions that stay in one part: their halves are one byte of a query.
const TOGETHER: usize = 8;

impl<F: Family> Params<F> {
    /// The partitions of a part.
    fn partitions_of(&self, cut: PartIndex) -> Range<usize> {
        let share = cut.share(self.partitions().div_ceil(TOGETHER) as u64);
        let place = |units: u64| (units as usize * TOGETHER).min(self.partitions());
        place(share.start)..place(share.end)
    }

    /// The range of bytes of these partitions' rows.
    pub(super) fn bytes_of(&self, partitions: &Range<usize>) -> Range<u64> {
        let partition_bytes = (self.partition_rows() * self.row_bytes()) as u64;
        let place = |partition: usize| (partition as u64 * partition_bytes).min(self.table_bytes());
        place(partitions.start)..place(partitions.end)
    }
}

impl<F: Family> PartScheme for OneServerScheme<F> {
    type Part = Server<F>;
    type Joiner = ();

    const SECTION: Section = ROWS;

    fn max_parts(params: &Params<F>) -> u32 {
        u32::try_from(params.partitions().div_ceil(TOGETHER)).unwrap_or(u32::MAX)
    }

    fn part_ranges(params: &Params<F>, cut: PartIndex) -> Vec<Range<u64>> {
        vec![params.bytes_of(&params.partitions_of(cut))]
    }

    fn open_part(params: &Params<F>, cut: PartIndex, image: Arc<dyn Image>) -> Result<Server<F>> {
        Server::open_some(ROWS, params, params.partitions_of(cut), image)
    }

    fn partial_bytes(params: &Params<F>, _: PartIndex) -> usize {
        params.answer_bytes()
    }

    fn admit(_: &Params<F>, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_part(part: &Server<F>, asks: Vec<(&(), F::Query)>) -> Vec<Result<Vec<u8>>> {
        let one = |query| part.gather(query).map(|Answer(sum)| sum.to_vec());
        asks.into_iter().map(|((), query)| one(query)).collect()
    }

    fn prepare_join(_: &Params<F>) -> Result<()> {
        Ok(())
    }

    fn join(_: (&Params<F>, &()), _: (&(), F::Query), partials: &[Vec<u8>]) -> Result<Answer> {
        add_partials(partials).map(|sum| Answer(Zeroizing::new(sum)))
    }
}
