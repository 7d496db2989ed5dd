//! The server, which is the family's: see [`Cube`]. Its steps are those of the paper's Algorithm 5, with one key switch to a
//! split and one product to a CMUX: expand the query modulo Q and switch selectors and bits to q; multiply the table by the
//! selectors; fold; switch to the bits that are sent. A record of several units takes the last three steps for each.

use crate::FSpiral;
use sotto_core::{Change, Misuse, Result, Revise, Sink, Stream};
use sotto_cube::answer::{Cube, Prepared};
use sotto_cube::session::Session;
use sotto_cube::{Params, Query, UnitAnswer, revise};

/// One query, answered unit by unit: the setting of SpiralStream.
impl Stream for FSpiral {
    type Prepared = Prepared;

    fn prepare(server: &Cube<Self>, session: &Session, query: Query) -> Result<Prepared> {
        server.prepare(session, &query)
    }

    fn unit(server: &Cube<Self>, query: &Prepared, unit: u64) -> Result<UnitAnswer> {
        server.unit(unit, &[query]).pop().ok_or(Misuse::Rule("one query has one answer").into())
    }
}

impl Revise for FSpiral {
    fn revise(params: &Params<Self>, changes: &[Change], out: &dyn Sink) -> Result<()> {
        revise::revise(params, changes, out)
    }
}
