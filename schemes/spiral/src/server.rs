//! The server: expansion, one pass over the table for up to four queries, folding, packing.

use crate::Spiral;
use sotto_core::{Change, Image, Misuse, Result, Revise, Rows, Sink, Stream};
use sotto_cube::answer::{Cube, Prepared};
use sotto_cube::session::Session;
use sotto_cube::{Answer, Keys, Params, Query, UnitAnswer, encode, revise};
use std::sync::Arc;

/// An open table.
pub struct Server {
    cube: Cube<Spiral>,
}

impl sotto_core::Server<Spiral> for Server {
    type Session = Session;

    fn session_bytes(params: &Params<Spiral>) -> usize {
        params.session_bytes() as usize
    }

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
impl Stream for Spiral {
    type Prepared = Prepared;

    fn prepare(server: &Server, session: &Session, query: Query) -> Result<Prepared> {
        server.cube.prepare(session, &query)
    }

    fn unit(server: &Server, query: &Prepared, unit: u64) -> Result<UnitAnswer> {
        server.cube.unit(unit, &[query])?.pop().ok_or_else(|| Misuse::Rule("one query has one answer").into())
    }
}

impl Revise for Spiral {
    fn revise(params: &Params<Spiral>, changes: &[Change], out: &dyn Sink) -> Result<()> {
        revise::revise(params, changes, out)
    }
}
