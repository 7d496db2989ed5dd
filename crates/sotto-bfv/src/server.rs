//! The server: a query becomes selectors, the table is multiplied by them, and sums become what is sent.
//!
//! | module | what lives there |
//! |---|---|
//! | [`session`] | a client's keys, ready to switch with |
//! | [`desk`] | what a method works with |
//! | [`merge`] | sums in slots, turned into as few ciphertexts as they fit |
//! | [`image`] | where plaintexts lie in the image |
//! | `group` | the records of one row and block, as plaintexts |
//! | `encode`, [`revise`], `read` | records into the image, changes of them, and records out of it |
//! | `answer` | the steps of an answer |
//! | `part` | tables in parts |

mod answer;
mod encode;
pub mod evaluator;
mod group;
pub mod image;
pub mod merge;
mod part;
mod read;
pub mod session;
pub mod update_image;

use crate::cost;
use crate::family::{Family, Method};
use crate::message::{Answer, Keys, Query};
use crate::params::Params;
use crate::scheme::Bfv;
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
