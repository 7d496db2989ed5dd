//! The server: expansion modulo Q, the switch to q, one pass over the table for up to four queries, folding.

use crate::FSpiral;
use sotto_core::{Change, Image, Misuse, Result, Revise, Rows, Sink};
use sotto_cube::answer::{BATCH, Cube, Prepared};
use sotto_cube::session::Session;
use sotto_cube::{Answer, Keys, Params, Query, encode, revise};
use std::sync::Arc;

/// An open table.
pub struct Server {
    cube: Cube<FSpiral>,
}

impl sotto_core::Server<FSpiral> for Server {
    type Session = Session;

    fn encode(params: &Params<FSpiral>, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        encode::encode(params, rows, out)
    }

    fn open(params: &Params<FSpiral>, image: Arc<dyn Image>) -> Result<Self> {
        Ok(Server { cube: Cube::open(params, image)? })
    }

    fn admit(&self, keys: Keys) -> Result<Session> {
        self.cube.admit(&keys)
    }

    /// Answer (the paper's Algorithm 5, with one key switch to a split and one product to a CMUX): expand the
    /// query modulo Q and switch selectors and bits to q; multiply the table by the selectors; fold; switch
    /// to the bits that are sent. A record of several units takes the last three steps for each.
    fn answer(&self, session: &Session, query: Query) -> Result<Answer> {
        let query = self.cube.prepare(session, &query)?;
        let unit = |unit| {
            let columns = self.cube.first_dimension(unit, &[&query])?.pop();
            let columns = columns.ok_or(Misuse::Rule("one query has one answer"))?;
            let folded = self.cube.fold(columns, &query);
            self.cube.respond(session, folded)
        };
        Ok(Answer((0..self.cube.params().grid.units()).map(unit).collect::<Result<_>>()?))
    }

    fn answer_many(&self, asks: Vec<(&Session, Query)>) -> Vec<Result<Answer>> {
        let (sessions, queries): (Vec<&Session>, Vec<Query>) = asks.into_iter().unzip();
        let prepared =
            sessions.iter().zip(&queries).map(|(session, query)| self.cube.prepare(session, query));
        let prepared: Vec<Result<Prepared>> = prepared.collect();
        self.cube.answer_many(&sessions, prepared, BATCH)
    }
}

impl Revise for FSpiral {
    fn revise(params: &Params<FSpiral>, changes: &[Change], out: &dyn Sink) -> Result<()> {
        revise::revise(params, changes, out)
    }
}
