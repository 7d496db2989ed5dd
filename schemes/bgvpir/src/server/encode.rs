//! Encoding: records to whitened slots to coefficients and, where the image holds values, to those,
//! written in the order in which the pass reads them. Memory is bounded for any size of the table,
//! and each byte is written once.

use super::image::{bytes, offset, owner, shape, stored};
use crate::literal::RowFormat;
use crate::params::Inner;
use crate::whitening::whiten;
use rayon::prelude::*;
use sotto_core::{Misuse, RecordSource, Result, Section, Sink};
use sotto_lattice::bgv::{RnsRing, SlotRing};
use sotto_math::tiles::{Strip, TileLayout, strips};
use std::sync::atomic::{AtomicU64, Ordering};

/// Polynomials that are put into a strip together, or written together as coefficients.
const TOGETHER: usize = 8;

/// Writes the image of a table.
///
/// # Errors
/// [`Misuse::Rule`] if `rows` has another shape than the parameters; storage errors.
pub(super) fn encode<R: SlotRing>(
    params: &Inner,
    rns: &RnsRing<R>,
    rows: &dyn RecordSource,
    out: &dyn Sink,
) -> Result<()> {
    if rows.records() != params.literal.records || rows.record_bytes() != params.record_bytes() {
        return Err(Misuse::Rule("the records must have the shape of the parameters").into());
    }
    let shape = shape(params)?;
    out.reserve(Section::Resident, bytes(params))?;
    let writer = Writer { params, rns, layout: shape.layout(), rows, out };
    match params.literal.form {
        RowFormat::Values => {
            let strips: Vec<Strip> = strips(shape.layout()).collect();
            writer.all(&strips, |strip| writer.write(strip))
        }
        RowFormat::Coefficients => {
            let (rows, cols) = (shape.layout().rows(), shape.layout().cols());
            let parts = |col| (0..rows).step_by(TOGETHER).map(move |row| (row, col));
            let starts: Vec<(usize, usize)> = (0..cols).flat_map(parts).collect();
            writer.all(&starts, |start| writer.write_coefficients(*start))
        }
    }
}

/// The state of writing one strip.
struct Writer<'a, R: SlotRing> {
    params: &'a Inner,
    rns: &'a RnsRing<R>,
    layout: &'a TileLayout,
    rows: &'a dyn RecordSource,
    out: &'a dyn Sink,
}

/// The cell of a polynomial and its words modulo one prime.
type Limb = ((usize, usize), Vec<u64>);

impl<R: SlotRing> Writer<'_, R> {
    /// Writes every part, on all available threads.
    fn all<T: Sync>(&self, parts: &[T], write: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
        let (done, total) = (AtomicU64::new(0), parts.len() as u64);
        parts.par_iter().try_for_each(|part| {
            write(part)?;
            self.out.progress("table", done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok(())
        })
    }

    /// Writes a few rows of a column as coefficients.
    fn write_coefficients(&self, start: (usize, usize)) -> Result<()> {
        let stored = stored(self.params);
        let end = (start.0 + TOGETHER).min(self.layout.rows());
        let mut bytes = Vec::with_capacity((end - start.0) * stored.bytes());
        for row in start.0..end {
            let (alpha, layer) = owner(self.params, (row, start.1));
            match self.slots(alpha, layer)? {
                Some(slots) => {
                    stored.put(&coefficients(self.params, self.rns, alpha, layer, slots), &mut bytes)
                }
                None => bytes.resize(bytes.len() + stored.bytes(), 0),
            }
        }
        self.out.write_at(Section::Resident, offset(self.params, start), &bytes)
    }

    /// Fills the strip modulo every prime, and writes each block's part, which is contiguous.
    fn write(&self, strip: &Strip) -> Result<()> {
        let bytes = strip.block_bytes(self.layout) * self.layout.blocks();
        let primes = usize::from(self.params.literal.scan_primes);
        let mut buffers = vec![vec![0u8; bytes]; primes];
        let mut some: Vec<Vec<Limb>> = (0..primes).map(|_| Vec::with_capacity(TOGETHER)).collect();
        let mut put = |some: &mut Vec<Vec<Limb>>| {
            for (buffer, limbs) in buffers.iter_mut().zip(some) {
                strip.put(self.layout, limbs, buffer);
                limbs.clear();
            }
        };
        for cell in strip.polynomials() {
            let (alpha, layer) = owner(self.params, cell);
            if let Some(slots) = self.slots(alpha, layer)? {
                let limbs = limbs(self.params, self.rns, alpha, layer, slots);
                some.iter_mut().zip(limbs).for_each(|(some, limb)| some.push((cell, limb)));
            }
            if some.iter().any(|some| some.len() == TOGETHER) {
                put(&mut some);
            }
        }
        put(&mut some);
        for (prime, buffer) in buffers.iter().enumerate() {
            for (block, bytes) in buffer.chunks_exact(strip.block_bytes(self.layout)).enumerate() {
                let offset = prime as u64 * self.layout.bytes() + strip.offset(self.layout, block);
                self.out.write_at(Section::Resident, offset, bytes)?;
            }
        }
        Ok(())
    }

    /// The slots of a layer of a row, with all its records; `None` if the table has no such row.
    fn slots(&self, alpha: u64, layer: usize) -> Result<Option<Vec<u64>>> {
        let places = &self.params.layout;
        let period = u64::from(places.period);
        let records = self.params.literal.records;
        let first = alpha * period;
        if first >= records {
            return Ok(None);
        }
        let each = self.params.record_bytes();
        let mut bytes = vec![0; (records - first).min(period) as usize * each];
        self.rows.read(first, &mut bytes)?;
        let mut slots = vec![0; (places.cycle * places.cycles) as usize];
        for (beta, record) in bytes.chunks_exact(each).enumerate() {
            places.put(record, layer, beta, &mut slots);
        }
        Ok(Some(slots))
    }
}

/// The values of a layer of a row modulo each prime of the table, from its slots in the clear.
/// Primes are below 2^50, so values are stored as they are.
fn limbs<R: SlotRing>(
    params: &Inner,
    rns: &RnsRing<R>,
    alpha: u64,
    layer: usize,
    slots: Vec<u64>,
) -> Vec<Vec<u64>> {
    let coefficients = coefficients(params, rns, alpha, layer, slots);
    let level = rns.level(params.literal.scan_primes.into()).unwrap_or(rns.top());
    let values = rns.from_plain(level, &coefficients);
    values.chunks_exact(rns.ring().words()).map(<[u64]>::to_vec).collect()
}

/// The coefficients of a layer of a row, from its slots in the clear.
pub(super) fn coefficients<R: SlotRing>(
    params: &Inner,
    rns: &RnsRing<R>,
    alpha: u64,
    layer: usize,
    mut slots: Vec<u64>,
) -> Vec<u64> {
    whiten(&params.literal.mask, alpha, layer as u32, params.set.slot_bits, &mut slots);
    let mut coefficients = vec![0; rns.ring().words()];
    rns.ring().encode(&slots, &mut coefficients);
    coefficients
}
