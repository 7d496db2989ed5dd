//! The server: expansion, one pass over the table for up to four queries, folding, packing.

use crate::Spiral;
use sotto_core::{Change, Image, Misuse, Result, Revise, Rows, Sink};
use sotto_cube::answer::{BATCH, Cube, Prepared};
use sotto_cube::session::Session;
use sotto_cube::{Answer, Keys, Params, Query, encode, revise};
use std::sync::Arc;

/// An open table.
pub struct Server {
    cube: Cube<Spiral>,
}

impl sotto_core::Server<Spiral> for Server {
    type Session = Session;

    fn encode(params: &Params<Spiral>, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        encode::encode(params, rows, out)
    }

    fn open(params: &Params<Spiral>, image: Arc<dyn Image>) -> Result<Self> {
        Ok(Server { cube: Cube::open(params, image)? })
    }

    fn admit(&self, keys: Keys) -> Result<Session> {
        self.cube.admit(&keys)
    }

    /// Answer (section 4 of the paper): expand the query into selectors and RGSW encryptions of bits (the
    /// Stream variants were sent them); multiply the table by the selectors; fold by CMUX; pack, in the Pack
    /// variants; switch to the bits that are sent. A record of several units takes all but the first step
    /// for each.
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

impl Revise for Spiral {
    fn revise(params: &Params<Spiral>, changes: &[Change], out: &dyn Sink) -> Result<()> {
        revise::revise(params, changes, out)
    }
}
