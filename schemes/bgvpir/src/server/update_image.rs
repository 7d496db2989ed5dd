//! Moving an image to the next epoch: only the rows that changed are read, changed and written.

use super::encode::coefficients;
use super::image::{bytes, cell, offset, shape, stored};
use super::read::read;
use crate::literal::RowFormat;
use crate::params::Inner;
use rayon::prelude::*;
use sotto_core::{Misuse, RecordChange, Result, Section, Sink};
use sotto_lattice::bgv::table_product::TableProduct as Shape;
use sotto_lattice::bgv::{RnsRing, SlotRing};
use std::collections::BTreeMap;

/// Applies changes to an image of the old table. Clients need no delta, since they hold nothing of
/// the table.
///
/// # Errors
/// [`Misuse::IndexPastEnd`] for a change outside the records; storage errors.
pub(super) fn update_image<R: SlotRing>(
    params: &Inner,
    rns: &RnsRing<R>,
    changes: &[RecordChange],
    out: &dyn Sink,
) -> Result<()> {
    let (records, len) = (params.literal.records, params.record_bytes() as u64);
    let mut rows: BTreeMap<u64, Vec<&RecordChange>> = BTreeMap::new();
    for change in changes {
        if change.record >= records {
            return Err(Misuse::IndexPastEnd { index: change.record, len: records }.into());
        }
        let end = change.offset.saturating_add(change.bytes.len() as u64);
        if end > len {
            return Err(Misuse::IndexPastEnd { index: end, len }.into());
        }
        rows.entry(change.record / u64::from(params.layout.period)).or_default().push(change);
    }
    let shape = shape(params)?;
    out.reserve(Section::Resident, bytes(params))?;
    let rows: Vec<_> = rows.into_iter().collect();
    // Rows that share cache lines are consecutive in one column, and are processed in order.
    let bunch = |alpha| {
        let (row, col) = cell(params, alpha, 0);
        (col, shape.layout().sharing(row))
    };
    let bunches: Vec<_> = rows.chunk_by(|(a, _), (b, _)| bunch(*a) == bunch(*b)).collect();
    let apply = |(alpha, changes): &(u64, Vec<&RecordChange>)| {
        Row { params, rns, shape: &shape, out, alpha: *alpha }.apply(changes)
    };
    bunches.into_par_iter().try_for_each(|rows| rows.iter().try_for_each(apply))
}

/// One row in an image.
struct Row<'a, R: SlotRing> {
    params: &'a Inner,
    rns: &'a RnsRing<R>,
    shape: &'a Shape,
    out: &'a dyn Sink,
    alpha: u64,
}

impl<R: SlotRing> Row<'_, R> {
    /// Reads all layers, changes records in the order of the changes, and writes all layers back.
    fn apply(&self, changes: &[&RecordChange]) -> Result<()> {
        let (params, places) = (self.params, &self.params.layout);
        let mut layers =
            (0..places.layers as usize).map(|layer| self.read(layer)).collect::<Result<Vec<_>>>()?;
        for change in changes {
            let beta = change.record % u64::from(places.period);
            let mut record = places.get(&layers, beta as usize);
            let start = change.offset as usize;
            if let Some(bytes) = record.get_mut(start..start + change.bytes.len()) {
                bytes.copy_from_slice(&change.bytes);
            }
            for (layer, slots) in layers.iter_mut().enumerate() {
                places.put(&record, layer, beta as usize, slots);
            }
        }
        for (layer, slots) in layers.into_iter().enumerate() {
            let cell = cell(params, self.alpha, layer);
            let coefficients = coefficients(params, self.rns, self.alpha, layer, slots);
            let at = |offset, bytes: &mut [u8]| self.out.read_at(Section::Resident, offset, bytes);
            let put = |offset, bytes: &[u8]| self.out.write_at(Section::Resident, offset, bytes);
            match params.literal.form {
                RowFormat::Values => self.shape.write_cell(self.rns, cell, &coefficients, at, put)?,
                RowFormat::Coefficients => {
                    let mut bytes = Vec::new();
                    stored(params).put(&coefficients, &mut bytes);
                    put(offset(params, cell), &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// The slots of a layer in the clear.
    fn read(&self, layer: usize) -> Result<Vec<u64>> {
        let at = |offset, out: &mut [u8]| self.out.read_at(Section::Resident, offset, out);
        read(self.params, self.rns, self.shape, self.alpha, layer, at)
    }
}
