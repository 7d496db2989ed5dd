//! Moving an image to the next epoch: the changed bytes, and the rows of the hint of every block that they touch. Queries do not
//! depend on the table, so clients notice nothing.

use crate::Hintless;
use crate::params::Params;
use crate::server::Writer;
use sotto_core::{Change, Params as _, Result, Revise, Section, Sink};
use sotto_silent::matrix::write_changes;

impl Revise for Hintless {
    fn revise(params: &Params, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let writer = Writer::new(params, out)?;
        let entries = write_changes(params.layout(), Section::Resident, changes, out)?;
        let touched = entries.iter().map(|entry| entry.row as usize / params.block_rows());
        // The digits are there already: they are the same for every table.
        let masks = writer.linpir.prepare(&params.literal().seed, |_, _| Ok(()))?;
        writer.write(&masks, writer.linpir.together(touched))
    }
}
