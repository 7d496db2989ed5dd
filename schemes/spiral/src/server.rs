//! The server, which is the family's: see [`Cube`]. Its steps are those of the paper's section 4: expand the query into
//! selectors and RGSW encryptions of bits (the Stream variants were sent them); multiply the table by the selectors; fold by
//! CMUX; pack, in the Pack variants; switch to the bits that are sent. A record of several units takes all but the first
//! step for each.

use crate::Spiral;
use sotto_core::{Change, Misuse, Result, Revise, Sink, Stream};
use sotto_cube::answer::{Cube, Prepared};
use sotto_cube::session::Session;
use sotto_cube::{Params, Query, UnitAnswer, revise};

/// One query, answered unit by unit: the setting of SpiralStream.
impl Stream for Spiral {
    type Prepared = Prepared;

    fn prepare(server: &Cube<Self>, session: &Session, query: Query) -> Result<Prepared> {
        server.prepare(session, &query)
    }

    fn unit(server: &Cube<Self>, query: &Prepared, unit: u64) -> Result<UnitAnswer> {
        server.unit(unit, &[query]).pop().ok_or(Misuse::Rule("one query has one answer").into())
    }
}

impl Revise for Spiral {
    fn revise(params: &Params<Self>, changes: &[Change], out: &dyn Sink) -> Result<()> {
        revise::revise(params, changes, out)
    }
}
