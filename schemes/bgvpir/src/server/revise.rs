//! Moving an image to the next epoch: only the rows that changed are read, changed and written.

use super::encode::{coefficients, limbs};
use super::image::{bytes, cell, offset, shape, stored};
use crate::literal::Form;
use crate::params::Inner;
use crate::whiten::whiten;
use rayon::prelude::*;
use sotto_core::{Change, Misuse, Result, Section, Sink};
use sotto_lattice::bgv::{Rns, SlotRing};
use sotto_math::tiles::TileLayout;
use std::collections::BTreeMap;

/// Bytes of a line of words.
const LINE_BYTES: usize = 64;

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
        let places = &self.params.layout;
        let mut layers =
            (0..places.layers as usize).map(|layer| self.read(layer)).collect::<Result<Vec<_>>>()?;
        for change in changes {
            let beta = change.record % u64::from(places.period);
            let mut record = places.take(&layers.iter().map(Vec::as_slice).collect::<Vec<_>>(), beta);
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
                self.out.write_at(Section::Resident, self.offset(layer), &bytes)?;
                continue;
            }
            let limbs = limbs(self.params, self.rns, self.alpha, layer, slots);
            for (prime, limb) in limbs.iter().enumerate() {
                for (offset, line) in self.lines(prime, layer).zip(limb.as_chunks::<8>().0) {
                    let bytes: Vec<u8> = line.iter().flat_map(|word| word.to_le_bytes()).collect();
                    self.out.write_at(Section::Resident, offset, &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// The slots of a layer in clear.
    fn read(&self, layer: usize) -> Result<Vec<u64>> {
        let ring = self.rns.ring();
        let words = match self.params.literal.form {
            Form::Values => self.coefficients_of_values(layer)?,
            Form::Coefficients => self.coefficients(layer)?,
        };
        let mut slots = vec![0; ring.slots() * ring.cycles()];
        ring.decode(&words, &mut slots);
        // Of a damaged image: a slot modulo 65537 may be one too large for its bits.
        slots.iter_mut().for_each(|slot| *slot &= (1 << self.params.set.slot_bits) - 1);
        whiten(self.alpha, layer as u32, self.params.set.slot_bits, &mut slots);
        Ok(slots)
    }

    /// The coefficients of a layer, where the image holds those.
    fn coefficients(&self, layer: usize) -> Result<Vec<u64>> {
        let stored = stored(self.params);
        let (mut bytes, mut words) = (vec![0; stored.bytes()], vec![0; self.rns.ring().words()]);
        self.out.read_at(Section::Resident, self.offset(layer), &mut bytes)?;
        stored.take(&bytes, &mut words);
        Ok(words)
    }

    /// Where the coefficients of a layer lie.
    fn offset(&self, layer: usize) -> u64 {
        offset(self.params, cell(self.params, self.alpha, layer))
    }

    /// The coefficients of a layer, where the image holds values: one prime tells them, since they are smaller than any.
    fn coefficients_of_values(&self, layer: usize) -> Result<Vec<u64>> {
        let (ring, mut words) = (self.rns.ring(), Vec::new());
        let mut line = [0; LINE_BYTES];
        for offset in self.lines(0, layer) {
            self.out.read_at(Section::Resident, offset, &mut line)?;
            words.extend(line.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
        }
        if let Some(plan) = ring.plans().first() {
            let q = plan.modulus();
            // A damaged image gives other bytes, but no panic.
            words.iter_mut().for_each(|word| *word = q.reduce(*word));
            words.iter_mut().skip(ring.degree()).for_each(|word| *word = 0);
            ring.inverse(0, &mut words);
            words.iter_mut().for_each(|word| *word = q.centred(*word).rem_euclid(ring.plain() as i64) as u64);
        }
        Ok(words)
    }

    /// Where the lines of a layer lie modulo a prime.
    fn lines(&self, prime: usize, layer: usize) -> impl Iterator<Item = u64> {
        let (layout, region) = (*self.layout, prime as u64 * self.layout.bytes());
        let (row, col) = cell(self.params, self.alpha, layer);
        (0..layout.blocks()).map(move |block| region + layout.line(block, row, col))
    }
}
