//! The server that the schemes of the family share.

use super::{BATCH, CubeTable, ExpandedQuery};
use crate::read::Records;
use crate::session::Session;
use crate::{Answer, CubeScheme, Family, Keys, Params, Query, encode};
use sotto_core::server::together;
use sotto_core::{Image, RecordSource, Result, Server, Sink};
use std::sync::Arc;

impl<F: Family> Server<CubeScheme<F>> for CubeTable<F> {
    type Session = Session;

    fn session_bytes(params: &Params<F>) -> usize {
        params.session_bytes() as usize
    }

    fn encode(params: &Params<F>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        encode::encode(params, rows, out)
    }

    fn open(params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        CubeTable::open(params, image)
    }

    fn records(params: &Params<F>, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        Ok(Box::new(Records::open(params, image)?))
    }

    fn admit(&self, keys: Keys) -> Result<Session> {
        Session::admit(&self.params, &keys)
    }

    /// Answers many queries: expands each query into selectors and bits; then, for each unit of a
    /// record, multiplies the table by the selectors of up to four queries in one pass, folds the
    /// sums by the bits, and switches to the bits that are sent.
    fn answer_many(&self, asks: Vec<(&Session, Query)>) -> Vec<Result<Answer>> {
        let asks: Vec<(&Session, &Query)> = asks.iter().map(|(session, query)| (*session, query)).collect();
        together(self.prepare_all(&asks), |queries: Vec<ExpandedQuery>| {
            let queries: Vec<&ExpandedQuery> = queries.iter().collect();
            queries.chunks(BATCH).flat_map(|some| self.units(some)).map(Ok).collect()
        })
    }
}
