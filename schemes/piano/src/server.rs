//! The server: one row of each partition, added up.
//!
//! An image has a single section, the rows by their places ([`places`](crate::places)). Clients stream it once, and the
//! server reads its rows from the same bytes.

use crate::Piano;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::places::Places;
use crate::prf::Place;
use sotto_core::{Artifact, Change, Image, Result, Revise, Rows, Section, Sink};
use sotto_hints::table;
use sotto_math::gather::{self, Picks, gather};
use std::sync::Arc;

/// Where the rows lie in an image.
pub(crate) const ROWS: Section = Section::Public(Artifact::Rows);

/// An open table.
pub struct Server {
    params: Params,
    image: Arc<dyn Image>,
    /// All partitions are of the half 0.
    halves: Vec<u8>,
}

impl sotto_core::Server<Piano> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        let order = Places::new(params);
        let mut places = Vec::new();
        table(params).encode(rows, out, |first, run| {
            places.resize(run.len(), Place { partition: 0, offset: 0 });
            order.run(first, &mut places);
            run.iter_mut().zip(&places).for_each(|(at, place)| *at = index(params, *place));
        })
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        table(params).check(image.as_ref())?;
        Ok(Server { params: params.clone(), image, halves: vec![0; params.partitions().div_ceil(8)] })
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_many(&self, asks: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        asks.into_iter().map(|((), query)| self.one(query)).collect()
    }
}

impl Server {
    fn one(&self, query: Query) -> Result<Answer> {
        let row_bytes = self.params.row_bytes();
        let bytes = table(&self.params).of(self.image.as_ref())?;
        let rows = gather::Rows { bytes, row_bytes, partition_rows: self.params.partition_rows() };
        let (mut parity, mut nothing) = (vec![0; row_bytes], vec![0; row_bytes]);
        gather(rows, Picks { offsets: &query.offsets, halves: &self.halves }, [&mut parity, &mut nothing]);
        Ok(Answer(parity))
    }
}

impl Revise for Piano {
    fn revise(params: &Params, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let order = Places::new(params);
        table(params).revise(changes, out, |row| index(params, order.of(row)))
    }
}

fn table(params: &Params) -> table::Place {
    let (rows, row_bytes) = (params.rows(), params.row_bytes());
    table::Place { section: ROWS, rows, row_bytes, bytes: params.table_bytes() }
}

/// Number of a place, partition after partition.
pub(crate) fn index(params: &Params, place: Place) -> u64 {
    u64::from(place.partition) * params.partition_rows() as u64 + u64::from(place.offset)
}
