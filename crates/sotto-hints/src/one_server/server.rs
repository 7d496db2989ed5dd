//! The server: sums of one row of each partition.
//!
//! An image has a single section, the rows in the order of their places. Clients stream it once,
//! and the server answers from the same bytes. A part of a table has some partitions, and its
//! partial answer is the sum of their rows; every part gets every query as a whole.

use super::{Answer, Family, OneServerScheme, Params, PartitionPlace, RowOrder};
use crate::message::MessageLengths;
use crate::row_table;
use sotto_core::parts::add_partials;
use sotto_core::{
    Artifact, Image, PartIndex, PartScheme, RecordChange, RecordSource, Result, Section, Sink, UpdateImage,
};
use sotto_math::gather::{self, RowPicks, gather};
use std::ops::Range;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The section of the rows in an image that clients stream.
pub const ROWS: Section = Section::Public(Artifact::Rows);

/// Partitions that stay in one part: their halves are one byte of a query.
const TOGETHER: usize = 8;

/// An open table, or some partitions of one.
pub struct Server<F: Family> {
    params: Params<F>,
    image: Arc<dyn Image>,
    place: row_table::RowTable,
    /// The partitions of this server; the first is a multiple of eight.
    partitions: Range<usize>,
}

impl<F: Family> sotto_core::Server<OneServerScheme<F>> for Server<F> {
    type Session = ();

    fn encode(params: &Params<F>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        params.encode(ROWS, rows, out)
    }

    fn open(params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        Server::open_at(ROWS, params, image)
    }

    fn records(params: &Params<F>, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        params.records(ROWS, image)
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_many(&self, queries: Vec<(&(), F::Query)>) -> Vec<Result<Answer>> {
        queries.into_iter().map(|((), query)| self.gather(query)).collect()
    }
}

impl<F: Family> UpdateImage for OneServerScheme<F> {
    fn update_image(params: &Params<F>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        params.update_image(ROWS, changes, out)
    }
}

impl<F: Family> Params<F> {
    fn table(&self, section: Section) -> row_table::RowTable {
        let (rows, row_bytes, bytes) = (self.rows(), self.row_bytes(), self.table_bytes());
        row_table::RowTable { section, rows, row_bytes, bytes }
    }

    fn order(&self) -> F::Order {
        F::Order::new(self.partitions(), self.partition_rows())
    }

    /// Writes an image with the rows in `section`.
    ///
    /// # Errors
    /// The errors of [`RowTable::encode`](row_table::RowTable::encode).
    pub fn encode(&self, section: Section, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let (order, mut places) = (self.order(), Vec::new());
        self.table(section).encode(rows, out, |first, run| {
            places.resize(run.len(), PartitionPlace::default());
            order.run(first, &mut places);
            run.iter_mut().zip(&places).for_each(|(at, place)| *at = self.index(*place));
        })
    }

    /// The rows of an image that has them in `section`.
    ///
    /// # Errors
    /// The errors of [`RowTable::records`](row_table::RowTable::records).
    pub fn records(&self, section: Section, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        let (params, order) = (self.clone(), self.order());
        self.table(section).records(image, move |row| {
            let mut place = [PartitionPlace::default()];
            order.run(row, &mut place);
            let [place] = place;
            params.index(place)
        })
    }

    /// Moves an image with the rows in `section` to the next epoch.
    ///
    /// # Errors
    /// The errors of [`RowTable::update_image`](row_table::RowTable::update_image).
    pub fn update_image(&self, section: Section, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let order = self.order();
        self.table(section).update_image(changes, out, |row| self.index(order.of(row)))
    }

    /// The partitions of a part.
    fn partitions_of(&self, cut: PartIndex) -> Range<usize> {
        let share = cut.share(self.partitions().div_ceil(TOGETHER) as u64);
        let place = |units: u64| (units as usize * TOGETHER).min(self.partitions());
        place(share.start)..place(share.end)
    }

    /// The range of bytes of these partitions' rows.
    fn bytes_of(&self, partitions: &Range<usize>) -> Range<u64> {
        let partition_bytes = (self.partition_rows() * self.row_bytes()) as u64;
        let place = |partition: usize| (partition as u64 * partition_bytes).min(self.table_bytes());
        place(partitions.start)..place(partitions.end)
    }
}

impl<F: Family> Server<F> {
    /// Opens an image with the rows in `section`.
    ///
    /// # Errors
    /// The errors of [`RowTable::check`](row_table::RowTable::check).
    pub fn open_at(section: Section, params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        let place = params.table(section);
        place.check(image.as_ref())?;
        Ok(Server { params: params.clone(), image, place, partitions: 0..params.partitions() })
    }

    /// Opens an image that has only some partitions, with their rows in `section`.
    ///
    /// # Errors
    /// The errors of [`RowTable::check`](row_table::RowTable::check).
    fn open_some(
        section: Section,
        params: &Params<F>,
        partitions: Range<usize>,
        image: Arc<dyn Image>,
    ) -> Result<Self> {
        let bytes = params.bytes_of(&partitions);
        let place = row_table::RowTable { bytes: bytes.end - bytes.start, ..params.table(section) };
        place.check(image.as_ref())?;
        Ok(Server { params: params.clone(), image, place, partitions })
    }

    /// The bytes of the rows.
    ///
    /// # Errors
    /// The errors of [`RowTable::of`](row_table::RowTable::of).
    pub fn rows(&self) -> Result<&[u8]> {
        self.place.of(self.image.as_ref())
    }

    /// The parities of the two halves of a query, or of the first half.
    ///
    /// # Errors
    /// The errors of [`Server::rows`].
    pub fn gather(&self, query: F::Query) -> Result<Answer> {
        let (row_bytes, partition_rows) = (self.params.row_bytes(), self.params.partition_rows());
        let rows = gather::PartitionRows { bytes: self.rows()?, row_bytes, partition_rows };
        let (offsets, halves) = F::picks(&self.params, query);
        let Range { start, end } = self.partitions.clone();
        let offsets = offsets.get(start..end).unwrap_or_default();
        let halves = halves.get(start / 8..end.div_ceil(8)).unwrap_or_default();
        let mut parities = vec![0; 2 * row_bytes];
        let (zero, one) = parities.split_at_mut(row_bytes);
        gather(rows, RowPicks { offsets, halves }, [zero, one]);
        parities.truncate(F::ANSWER_ROWS * row_bytes);
        Ok(Answer(Zeroizing::new(parities)))
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

    fn answer_part(part: &Server<F>, queries: Vec<(&(), F::Query)>) -> Vec<Result<Vec<u8>>> {
        let one = |query| part.gather(query).map(|Answer(sum)| sum.to_vec());
        queries.into_iter().map(|((), query)| one(query)).collect()
    }

    fn prepare_join(_: &Params<F>) -> Result<()> {
        Ok(())
    }

    fn join(_: &Params<F>, (): &(), (): &(), _: F::Query, partials: &[Vec<u8>]) -> Result<Answer> {
        add_partials(partials).map(|sum| Answer(Zeroizing::new(sum)))
    }
}
