//! The server: rotations, unfolding, one pass over the table for up to four queries, and the last products.
//!
//! | module | contents |
//! |---|---|
//! | [`session`] | a client's keys, ready to switch with |
//! | [`image`] | the positions of rows in the image |
//! | [`encode`], [`revise`] | writing rows into the image, and changing them |
//! | `read` | records of the image |
//! | `part` | tables in parts |
//! | `buffers` | memory that is reused from one answer to the next |
//! | [`prepare`] | from a query to u and v |
//! | [`answer`] | sums over rows, products with u, and the messages that result |
//! | [`paper`] | the paper's order of products |
//! | [`steps`] | one answer step by step, in either order |

pub mod answer;
mod buffers;
pub mod encode;
pub mod image;
pub mod paper;
mod part;
pub mod prepare;
mod read;
pub mod revise;
pub mod session;
pub mod steps;

use crate::BgvPir;
use crate::cost;
use crate::literal::ParamsLiteral;
use crate::message::{Answer, Keys, Query};
use crate::params::Params;
use crate::rings::on_ring;
use answer::ColumnSums;
use image::PlaintextTable;
use prepare::ExpandedQuery;
use rayon::prelude::*;
use read::Records;
use session::{Session, with_keys};
use sotto_core::server::together;
use sotto_core::{Image, RecordChange, RecordSource, Result, Sink, UpdateImage, WhiteningScheme, WriteSlot};
use sotto_prg::PublicSeed;
use std::sync::Arc;

/// Queries in one pass over the table.
const BATCH: usize = 4;

/// An open table, or some columns of one.
pub struct Server {
    table: PlaintextTable,
}

impl Server {
    /// The first step of an answer: rotations and unfolding.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for a query that was not decoded under these parameters.
    pub fn prepare(&self, session: &Session, query: &Query) -> Result<ExpandedQuery> {
        let params = self.table.params();
        with_keys!(params, session, (rns, keys) => prepare::prepare(&self.table, rns, keys, query))
    }

    /// The second step of an answer: one pass over the table for several queries.
    pub fn first_dimension(&self, queries: &[&ExpandedQuery]) -> Vec<ColumnSums> {
        answer::first_dimension(&self.table, queries)
    }

    /// The third step of an answer: products with u, and rounding for the wire.
    ///
    /// # Errors
    /// None for the session, the query and the sums of one client.
    pub fn finish(&self, session: &Session, query: &ExpandedQuery, sums: &ColumnSums) -> Result<Answer> {
        let params = self.table.params();
        with_keys!(params, session, (rns, keys) => {
            let products = answer::products(&self.table, rns, query, sums);
            Ok(answer::finish(params, rns, keys, products))
        })
    }
}

impl sotto_core::Server<BgvPir> for Server {
    type Session = Session;

    fn session_bytes(params: &Params) -> usize {
        cost::session_bytes(&params.literal)
    }

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        on_ring!(&*params.ring, rns => encode::encode(params, rns, rows, out))
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        Ok(Server { table: PlaintextTable::open(params, image)? })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        Ok(Box::new(Records::open(params, image)?))
    }

    fn admit(&self, keys: Keys) -> Result<Session> {
        Session::admit(self.table.params(), &keys)
    }

    /// Answer (Algorithms 1 and 3, in the distributed order): rotate each query S - 1 times and unfold both sides of its tree;
    /// then `w_a = sum over b of v[b] X[a, b]`, for up to four queries in one pass over the table; and for each of them
    /// `r = sum over a of u[a] w_a`, which is relinearized once and switched to few bits.
    fn answer_many(&self, queries: Vec<(&Session, Query)>) -> Vec<Result<Answer>> {
        let answer = |queries: &[(&Session, Query)]| {
            let prepared =
                queries.par_iter().map(|(session, query)| Ok((*session, self.prepare(session, query)?)));
            together(prepared.collect(), |queries: Vec<(&Session, ExpandedQuery)>| {
                let prepared: Vec<&ExpandedQuery> = queries.iter().map(|(_, query)| query).collect();
                let sums = self.first_dimension(&prepared);
                queries
                    .iter()
                    .zip(sums)
                    .map(|((session, query), sums)| self.finish(session, query, &sums))
                    .collect()
            })
        };
        queries.chunks(BATCH).flat_map(answer).collect()
    }
}

impl WhiteningScheme for BgvPir {
    fn with_whitening_seed(literal: ParamsLiteral, seed: [u8; 32]) -> ParamsLiteral {
        ParamsLiteral { mask: PublicSeed(seed), ..literal }
    }

    fn write_slot(params: &Params, record: u64) -> WriteSlot {
        WriteSlot { column: 0, summand: record / u64::from(params.layout.period) }
    }

    fn max_writes(params: &Params) -> u64 {
        params.literal.written.into()
    }
}

impl UpdateImage for BgvPir {
    fn revise(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        on_ring!(&*params.ring, rns => revise::revise(params, rns, changes, out))
    }
}
