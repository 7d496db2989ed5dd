//! Moving an image to the next epoch: the changed bytes, the columns of the second matrix that
//! follow from them, and the weights of every group that those touch. Queries do not depend on the
//! table, so nothing changes for clients.

use crate::Ypir;
use crate::params::Params;
use crate::server::{packed, second};
use sotto_core::{RecordChange, Result, Section, Sink, UpdateImage};
use sotto_silent::lattice::GROUP_BYTES;
use sotto_silent::packed_groups::write_packed;
use sotto_silent::two_pass::revise;
use std::collections::BTreeSet;

impl UpdateImage for Ypir {
    fn revise(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let (cut, packed) = (params.cut(), packed(params)?);
        out.reserve(Section::Resident, cut.first_bytes() + cut.second_bytes() + packed.bytes())?;
        let mut touched = BTreeSet::new();
        revise(&cut, Section::Resident, changes, out, |entries| {
            touched.extend(entries.iter().map(|entry| entry.row as usize / GROUP_BYTES));
            Ok(())
        })?;
        write_packed(cut.second(), second(&cut), &packed, packed.together(touched.into_iter()), out)
    }
}
