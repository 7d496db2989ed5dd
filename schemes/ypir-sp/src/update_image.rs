//! Moving an image to the next epoch: the changed bytes, and the weights of every group that they
//! touch. Queries do not depend on the table, so nothing changes for clients.

use crate::YpirSp;
use crate::params::Params;
use crate::server::packed;
use sotto_core::{Params as _, RecordChange, Result, Section, Sink, UpdateImage};
use sotto_silent::lattice::GROUP_BYTES;
use sotto_silent::matrix::{ByteChange, change_panels};
use sotto_silent::packed_groups::write_packed;

impl UpdateImage for YpirSp {
    fn revise(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let packed = packed(params)?;
        out.reserve(Section::Resident, params.literal().matrix_bytes() + packed.bytes())?;
        // A panel belongs to one group.
        let group =
            |entries: &[ByteChange]| Ok(entries.first().map(|entry| entry.row as usize / GROUP_BYTES));
        let touched = change_panels(params.layout(), Section::Resident, changes, out, group)?;
        let groups = packed.together(touched.into_iter().flatten());
        write_packed(params.layout(), Section::Resident, &packed, groups, out)
    }
}
