//! Moving an image to the next epoch: only the rows that changed are read, changed and written.

use super::encode::{coefficients, limbs};
use super::image::{bytes, cell, offset, shape, stored};
use super::read::{lines, read};
use crate::literal::Form;
use crate::params::Inner;
use rayon::prelude::*;
use sotto_core::{Change, Misuse, Result, Section, Sink};
use sotto_lattice::bgv::{Rns, SlotRing};
use sotto_math::tiles::TileLayout;
use std::collections::BTreeMap;

/// Applies changes to an image that holds the old table. There is nothing a client needs to be told: it holds nothing of the
/// table.
///
/// # Errors
/// [`Misuse::IndexPastEnd`] for a change outside the records; storage errors.
pub(super) fn revise<R: SlotRing>(
    params: &Inner,
    rns: &Rns<R>,
    changes: &[Change],
    out: &dyn Sink,
) -> Result<()> {
    let (records, len) = (params.literal.records, params.record_bytes() as u64);
    let mut rows: BTreeMap<u64, Vec<&Change>> = BTreeMap::new();
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
    rows.par_iter().try_for_each(|(alpha, changes)| {
        Row { params, rns, layout: shape.layout(), out, alpha: *alpha }.apply(changes)
    })
}

/// One row in an image.
struct Row<'a, R: SlotRing> {
    params: &'a Inner,
    rns: &'a Rns<R>,
    layout: &'a TileLayout,
    out: &'a dyn Sink,
    alpha: u64,
}

impl<R: SlotRing> Row<'_, R> {
    /// Reads all layers, changes records in the order of the changes, writes all layers back.
    fn apply(&self, changes: &[&Change]) -> Result<()> {
        let (params, places) = (self.params, &self.params.layout);
        let mut layers =
            (0..places.layers as usize).map(|layer| self.read(layer)).collect::<Result<Vec<_>>>()?;
        for change in changes {
            let beta = change.record % u64::from(places.period);
            let mut record = places.get(&layers, beta as usize);
            let start = change.offset as usize;
            if let Some(room) = record.get_mut(start..start + change.bytes.len()) {
                room.copy_from_slice(&change.bytes);
            }
            for (layer, slots) in layers.iter_mut().enumerate() {
                places.put(&record, layer, beta as usize, slots);
            }
        }
        for (layer, slots) in layers.into_iter().enumerate() {
            if self.params.literal.form == Form::Coefficients {
                let coefficients = coefficients(self.params, self.rns, self.alpha, layer, slots);
                let (stored, mut bytes) = (stored(self.params), Vec::new());
                stored.put(&coefficients, &mut bytes);
                let at = offset(params, cell(params, self.alpha, layer));
                self.out.write_at(Section::Resident, at, &bytes)?;
                continue;
            }
            let limbs = limbs(self.params, self.rns, self.alpha, layer, slots);
            for (prime, limb) in limbs.iter().enumerate() {
                for (offset, line) in
                    lines(params, self.layout, prime, (self.alpha, layer)).zip(limb.as_chunks::<8>().0)
                {
                    let bytes: Vec<u8> = line.iter().flat_map(|word| word.to_le_bytes()).collect();
                    self.out.write_at(Section::Resident, offset, &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// The slots of a layer in clear.
    fn read(&self, layer: usize) -> Result<Vec<u64>> {
        let at = |offset, out: &mut [u8]| self.out.read_at(Section::Resident, offset, out);
        read(self.params, self.rns, self.layout, (self.alpha, layer), at)
    }
}
