//! Records of an image without whitening: for changes in place, and for encoding again a table that
//! exists nowhere else.

use super::image::{bytes, cell, offset, shape, stored};
use crate::literal::RowFormat;
use crate::params::{Inner, Params};
use crate::rings::on_ring;
use crate::whitening::whiten;
use rayon::prelude::*;
use sotto_core::{Image, ImageSection, Misuse, RecordSource, Result, Section};
use sotto_lattice::bgv::table_product::TableProduct as Shape;
use sotto_lattice::bgv::{RnsRing, SlotRing};
use std::sync::Arc;

/// The slots of a layer of a row in the clear. `at` reads bytes of the image.
pub(super) fn read<R: SlotRing>(
    params: &Inner,
    rns: &RnsRing<R>,
    shape: &Shape,
    alpha: u64,
    layer: usize,
    at: impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<Vec<u64>> {
    let ring = rns.ring();
    let words = match params.literal.form {
        RowFormat::Values => shape.read_cell(rns, cell(params, alpha, layer), at)?,
        RowFormat::Coefficients => {
            let stored = stored(params);
            let (mut bytes, mut words) = (vec![0; stored.bytes()], vec![0; ring.words()]);
            at(offset(params, cell(params, alpha, layer)), &mut bytes)?;
            stored.take(&bytes, &mut words);
            words
        }
    };
    let mut slots = vec![0; ring.slots() * ring.cycles()];
    ring.decode(&words, &mut slots);
    // In a damaged image a slot modulo 65537 may be one too large for its bits.
    slots.iter_mut().for_each(|slot| *slot &= (1 << params.set.slot_bits) - 1);
    whiten(&params.literal.mask, alpha, layer as u32, params.set.slot_bits, &mut slots);
    Ok(slots)
}

/// The records of an image.
pub(super) struct Records {
    params: Params,
    shape: Shape,
    table: ImageSection,
}

impl Records {
    /// Opens an image.
    ///
    /// # Errors
    /// [`sotto_core::PeerMisbehaved::Length`] if it is not the table of these parameters.
    pub(super) fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let shape = shape(params)?;
        let table = ImageSection::open(image, Section::Resident, "table", bytes(params))?;
        Ok(Records { params: params.clone(), shape, table })
    }

    fn at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).ok();
        let bytes = start.and_then(|start| self.table.bytes().get(start..start.checked_add(out.len())?));
        out.copy_from_slice(bytes.ok_or(Misuse::Rule("an image must have every line of its layout"))?);
        Ok(())
    }

    /// Some records of one row, from block `beta` on.
    fn row(&self, alpha: u64, beta: usize, out: &mut [u8]) -> Result<()> {
        let layout = &self.params.layout;
        let one = |layer| {
            on_ring!(&*self.params.ring, rns => {
                read(&self.params, rns, &self.shape, alpha, layer, |offset, out| self.at(offset, out))
            })
        };
        let layers = (0..layout.layers as usize).map(one).collect::<Result<Vec<_>>>()?;
        for (i, record) in out.chunks_exact_mut(self.record_bytes()).enumerate() {
            record.copy_from_slice(&layout.get(&layers, beta + i));
        }
        Ok(())
    }
}

impl RecordSource for Records {
    fn records(&self) -> u64 {
        self.params.literal.records
    }

    fn record_bytes(&self) -> usize {
        self.params.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let (width, len) = (self.record_bytes(), self.records());
        let end = first.saturating_add((out.len() / width) as u64);
        if !out.len().is_multiple_of(width) {
            return Err(Misuse::Rule("only whole records can be read").into());
        }
        if end > len {
            return Err(Misuse::IndexPastEnd { index: end, len }.into());
        }
        // Records of one row are read together; the first row may be entered in the middle.
        let period = u64::from(self.params.layout.period);
        let (alpha, beta) = (first / period, (first % period) as usize);
        let (head, rest) = out.split_at_mut(out.len().min((period as usize - beta) * width));
        if !head.is_empty() {
            self.row(alpha, beta, head)?;
        }
        let rows = rest.par_chunks_mut(period as usize * width).enumerate();
        rows.try_for_each(|(i, out)| self.row(alpha + 1 + i as u64, 0, out))
    }
}
