//! Moving an image to the next epoch: the changed bytes, the columns of the second matrix that follow from them, and the digits
//! of every group that those touch. Queries do not depend on the table, so clients notice nothing.

use crate::Ypir;
use crate::params::Params;
use crate::server::{packed, second};
use sotto_core::{Change, Result, Revise, Section, Sink};
use sotto_silent::lattice::GROUP_BYTES;
use sotto_silent::second::revise;
use std::collections::BTreeSet;

impl Revise for Ypir {
    fn revise(params: &Params, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let (cut, packed) = (params.cut(), packed(params)?);
        out.reserve(Section::Resident, cut.first_bytes() + cut.second_bytes() + packed.bytes())?;
        let mut touched = BTreeSet::new();
        revise(&cut, Section::Resident, changes, out, |entries| {
            touched.extend(entries.iter().map(|entry| entry.row as usize / GROUP_BYTES));
            Ok(())
        })?;
        packed.write_all(cut.second(), second(&cut), packed.together(touched.into_iter()), out)
    }
}
