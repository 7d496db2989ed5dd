//! The server: one row of each partition, added up by halves.
//!
//! An image has a single section, the rows one after the other. Clients stream it once, and the server reads its
//! rows from the same bytes.

use crate::S3pir;
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::{Artifact, Change, Image, Result, Revise, Rows, Section, Sink};
use sotto_hints::table::{Place, in_order};
use sotto_math::gather::{self, Picks, gather};
use std::sync::Arc;

/// Where the rows lie in an image, if clients stream them.
pub(crate) const ROWS: Section = Section::Public(Artifact::Rows);

/// An open table.
pub struct Server {
    params: Params,
    image: Arc<dyn Image>,
    place: Place,
}

/// A table in a section.
pub(crate) fn place(section: Section, params: &Params) -> Place {
    Place { section, rows: params.rows(), row_bytes: params.row_bytes(), bytes: params.table_bytes() }
}

impl sotto_core::Server<S3pir> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        place(ROWS, params).encode(rows, out, in_order)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        Server::open_at(ROWS, params, image)
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_many(&self, asks: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        asks.into_iter().map(|((), query)| self.gather(query)).collect()
    }
}

impl Revise for S3pir {
    fn revise(params: &Params, changes: &[Change], out: &dyn Sink) -> Result<()> {
        place(ROWS, params).revise(changes, out, |row| row)
    }
}

impl Server {
    /// Opens an image whose rows lie in `section`.
    pub(crate) fn open_at(section: Section, params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let place = place(section, params);
        place.check(image.as_ref())?;
        Ok(Server { params: params.clone(), image, place })
    }

    /// The table.
    pub(crate) fn rows(&self) -> Result<&[u8]> {
        self.place.of(self.image.as_ref())
    }

    /// Both parities of a query.
    pub(crate) fn gather(&self, query: Query) -> Result<Answer> {
        let row_bytes = self.params.row_bytes();
        let rows =
            gather::Rows { bytes: self.rows()?, row_bytes, partition_rows: self.params.partition_rows() };
        let offsets = query.offsets(&self.params);
        let mut parities = vec![0; 2 * row_bytes];
        let (zero, one) = parities.split_at_mut(row_bytes);
        gather(rows, Picks { offsets: &offsets, halves: &query.ones }, [zero, one]);
        Ok(Answer(parities))
    }
}
