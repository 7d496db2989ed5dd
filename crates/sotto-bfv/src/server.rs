//! The server: makes selectors of a query, multiplies the table by them, and makes the answer of
//! the sums.
//!
//! | module | contents |
//! |---|---|
//! | [`session`] | a client's evaluation keys, ready for key switching |
//! | [`image`] | the positions of plaintexts in the image |
//! | `group` | the records of one row and block, as plaintexts |
//! | `encode`, [`update_image`], `read` | records into the image, changes, and records out of it |
//! | `answer` | the steps of an answer |
//! | `part` | tables in parts |

mod answer;
mod encode;
mod group;
pub mod image;
mod part;
mod read;
pub mod session;
pub mod update_image;

use crate::cost;
use crate::family::{Bfv, Family, Method};
use crate::message::{Answer, Keys, Query};
use crate::params::Params;
use image::PlaintextTable;
use session::AdmittedKeys;
use sotto_core::{Image, RecordSource, Result, Sink};
use std::sync::Arc;

/// An open table, or some columns of one.
pub struct Server<F: Family> {
    pub(crate) table: PlaintextTable<F>,
}

impl<F: Family> sotto_core::Server<Bfv<F>> for Server<F> {
    type Session = AdmittedKeys<F>;

    fn session_bytes(params: &Params<F>) -> usize {
        cost::session_bytes(params.set, params.method.keys())
    }

    fn encode(params: &Params<F>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        encode::encode(params, rows, out)
    }

    fn open(params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        Ok(Server { table: PlaintextTable::open(params, image)? })
    }

    fn records(params: &Params<F>, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        Ok(Box::new(read::Records::new(PlaintextTable::open(params, image)?)))
    }

    fn admit(&self, keys: Keys) -> Result<AdmittedKeys<F>> {
        AdmittedKeys::new(self.table.params(), &keys)
    }

    fn answer_many(&self, asks: Vec<(&AdmittedKeys<F>, Query)>) -> Vec<Result<Answer>> {
        answer::answer_many(&self.table, asks)
    }
}
