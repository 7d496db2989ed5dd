//! Moving an image to the next epoch: the changed bytes, and the rows of the hint of every block
//! that they touch. Queries do not depend on the table, so nothing changes for clients.

use crate::Hintless;
use crate::params::Params;
use crate::server::LinPirWriter;
use sotto_core::{Params as _, RecordChange, Result, Section, Sink, UpdateImage};
use sotto_silent::matrix::{ByteChange, change_panels};

impl UpdateImage for Hintless {
    fn revise(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let writer = LinPirWriter::new(params, out)?;
        let blocks = |entries: &[ByteChange]| {
            let mut blocks: Vec<usize> =
                entries.iter().map(|entry| entry.row as usize / params.block_rows()).collect();
            blocks.dedup();
            Ok(blocks)
        };
        let touched = change_panels(params.layout(), Section::Resident, changes, out, blocks)?;
        // The digits exist already: they are the same for every table.
        let masks = writer.linpir.prepare(&params.literal().seed, |_, _| Ok(()))?;
        writer.write(&masks, writer.linpir.together(touched.into_iter().flatten()))
    }
}
