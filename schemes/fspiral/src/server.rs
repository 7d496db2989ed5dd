//! The server: expansion modulo Q, the switch to q, one pass over the table for up to four queries, folding.

use crate::FSpiral;
use sotto_core::{Change, Image, Misuse, Result, Revise, Rows, Sink, Stream};
use sotto_cube::answer::{Cube, Prepared};
use sotto_cube::session::Session;
use sotto_cube::{Answer, Keys, Params, Query, UnitAnswer, encode, revise};
use std::sync::Arc;

/// An open table.
pub struct Server {
    cube: Cube<FSpiral>,
}

impl sotto_core::Server<FSpiral> for Server {
    type Session = Session;

    fn session_bytes(params: &Params<FSpiral>) -> usize {
        params.session_bytes() as usize
    }

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
            Ok(self.cube.respond(folded, &query))
        };
        Ok(Answer((0..self.cube.params().grid.units()).map(unit).collect::<Result<_>>()?))
    }

    /// The same for several queries, up to four in one pass over the table.
    fn answer_many(&self, asks: Vec<(&Session, Query)>) -> Vec<Result<Answer>> {
        self.cube.answer_many(&asks)
    }
}

/// One query, answered unit by unit: the setting of SpiralStream.
impl Stream for FSpiral {
    type Prepared = Prepared;

    fn prepare(server: &Server, session: &Session, query: Query) -> Result<Prepared> {
        server.cube.prepare(session, &query)
    }

    fn unit(server: &Server, query: &Prepared, unit: u64) -> Result<UnitAnswer> {
        server.cube.unit(unit, &[query])?.pop().ok_or_else(|| Misuse::Rule("one query has one answer").into())
    }
}

impl Revise for FSpiral {
    fn revise(params: &Params<FSpiral>, changes: &[Change], out: &dyn Sink) -> Result<()> {
        revise::revise(params, changes, out)
    }
}
