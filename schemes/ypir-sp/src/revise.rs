//! Moving an image to the next epoch: the changed bytes, and the digits of every group that they touch. Queries do not depend
//! on the table, so clients notice nothing.

use crate::YpirSp;
use crate::params::Params;
use sotto_core::{Change, Params as _, Result, Revise, Section, Sink};
use sotto_silent::lattice::GROUP_BYTES;
use sotto_silent::matrix::write_changes;
use sotto_silent::packed::Packed;

impl Revise for YpirSp {
    fn revise(params: &Params, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let packed = Packed::new(params.groups(), params.bits())?;
        out.reserve(Section::Resident, params.literal().matrix_bytes() + packed.bytes())?;
        let entries = write_changes(params.layout(), Section::Resident, changes, out)?;
        let touched = entries.iter().map(|entry| entry.row as usize / GROUP_BYTES);
        packed.write_all(params.layout(), Section::Resident, packed.together(touched), out)
    }
}
