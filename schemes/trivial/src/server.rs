//! The table in an image, which clients download; a server answers no queries.

use crate::TrivialPir;
use crate::params::Params;
use sotto_core::{Artifact, Image, RecordChange, RecordSource, Result, Section, Sink, UpdateImage};
use sotto_hints::row_table::{RowTable, in_order};
use std::sync::Arc;

/// An open table.
pub struct Server;

/// The location of the records.
fn table(params: &Params) -> RowTable {
    RowTable {
        section: Section::Public(Artifact::Hint),
        rows: params.records(),
        row_bytes: params.record_bytes(),
        bytes: params.table_bytes(),
    }
}

impl sotto_core::Server<TrivialPir> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        table(params).encode(rows, out, in_order)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        table(params).check(image.as_ref()).map(|()| Server)
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        table(params).records(image, |record| record)
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_many(&self, asks: Vec<(&(), ())>) -> Vec<Result<()>> {
        asks.into_iter().map(|_| Ok(())).collect()
    }
}

impl UpdateImage for TrivialPir {
    fn update_image(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        table(params).update_image(changes, out, |record| record)
    }
}
