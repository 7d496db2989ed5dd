//! Moving an image to the next epoch: the changed bytes, the columns of the second matrix that
//! follow from them, and the rows of its hint. Queries do not depend on the table, but clients
//! fetch the hint again.

use crate::DoublePir;
use crate::params::Params;
use crate::server::HINT;
use rayon::prelude::*;
use sotto_core::{Params as _, RecordChange, Result, Section, Sink, UpdateImage};
use sotto_silent::lwe::ring::Ring;
use sotto_silent::lwe::update::ReversedBlocks;
use sotto_silent::matrix::ByteChange;
use sotto_silent::two_pass::revise;

impl UpdateImage for DoublePir {
    /// Each changed column adds to every row of the hint. Where many columns change, encoding the
    /// table from scratch is cheaper.
    fn revise(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let (cut, ring) = (params.cut(), Ring::new()?);
        out.reserve(Section::Resident, cut.first_bytes() + cut.second_bytes())?;
        out.reserve(HINT, params.literal().hint_bytes())?;
        revise(&cut, Section::Resident, changes, out, |entries| {
            let blocks = ReversedBlocks::touched(&ring, entries);
            let rows: Vec<&[ByteChange]> = entries.chunk_by(|a, b| a.row == b.row).collect();
            rows.par_iter().try_for_each(|changes| blocks.write_row(&ring, changes, HINT, out).map(drop))
        })
    }
}
