//! Encoding: records to whitened numbers to values, written in the order in which the pass reads
//! them. Memory is bounded whatever the table's size, and each byte is written once.

use super::group::Group;
use super::image::{bytes, shape};
use crate::family::Family;
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::{Misuse, RecordSource, Result, Section, Sink};
use sotto_lattice::bgv::SlotRing;
use sotto_lattice::bgv::table_product::TableProduct as Shape;
use sotto_math::tiles::{Strip, strips};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes the image of a table.
///
/// # Errors
/// [`Misuse::Rule`] if `rows` has another shape than the parameters; storage errors.
pub(super) fn encode<F: Family>(params: &Params<F>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
    if rows.records() != params.literal.records || rows.record_bytes() != params.layout.record_bytes() {
        return Err(Misuse::Rule("the records must have the shape of the parameters").into());
    }
    let shape = shape(params)?;
    out.reserve(Section::Resident, bytes(params))?;
    let strips: Vec<Strip> = strips(shape.layout()).collect();
    let all: Vec<(usize, &Strip)> = (0..params.layout.tables())
        .flat_map(|table| strips.iter().map(move |strip| (table, strip)))
        .collect();
    let (done, total) = (AtomicU64::new(0), all.len() as u64);
    let writer = Writer { params, shape: &shape, rows, out };
    all.par_iter().try_for_each(|(table, strip)| {
        writer.write(*table, strip)?;
        out.progress("table", done.fetch_add(1, Ordering::Relaxed) + 1, total);
        Ok(())
    })
}

/// The state for writing strips of a table.
struct Writer<'a, F: Family> {
    params: &'a Params<F>,
    shape: &'a Shape,
    rows: &'a dyn RecordSource,
    out: &'a dyn Sink,
}

impl<F: Family> Writer<'_, F> {
    /// Fills a strip modulo every prime, and writes its range of each block, which is contiguous.
    fn write(&self, table: usize, strip: &Strip) -> Result<()> {
        let (layout, tiles) = (&self.params.layout, self.shape.layout());
        let primes = self.params.layout.primes;
        let mut buffers = vec![vec![0u8; strip.block_bytes(tiles) * tiles.blocks()]; primes];
        for row in strip.rows.clone() {
            for block in strip.cols.start / layout.width..strip.cols.end.div_ceil(layout.width) {
                let first = block * layout.width;
                let cols = strip.cols.start.max(first)..strip.cols.end.min(first + layout.width);
                let group = Group { table, row, block };
                let numbers = group.fill(self.params, self.rows, cols.start - first..cols.end - first)?;
                let mut limbs = vec![Vec::with_capacity(cols.len()); primes];
                for (col, numbers) in cols.zip(&numbers) {
                    for (limbs, limb) in limbs.iter_mut().zip(self.limbs(numbers)) {
                        limbs.push(((row, col), limb));
                    }
                }
                buffers.iter_mut().zip(&limbs).for_each(|(buffer, limbs)| strip.put(tiles, limbs, buffer));
            }
        }
        for (prime, buffer) in buffers.iter().enumerate() {
            let region = table as u64 * self.shape.bytes() + prime as u64 * tiles.bytes();
            for (block, bytes) in buffer.chunks_exact(strip.block_bytes(tiles)).enumerate() {
                self.out.write_at(Section::Resident, region + strip.offset(tiles, block), bytes)?;
            }
        }
        Ok(())
    }

    /// The values of a plaintext modulo each prime of the table. Primes are below 2^50, so values
    /// are stored as they are.
    fn limbs(&self, numbers: &[u64]) -> Vec<Vec<u64>> {
        let ring = &self.params.ring;
        let level = ring.level(self.params.layout.primes).unwrap_or(ring.top());
        let values = ring.from_plain(level, &coefficients(self.params, numbers));
        values.chunks_exact(ring.ring().words()).map(<[u64]>::to_vec).collect()
    }
}

/// The coefficients of a plaintext with these numbers.
pub(super) fn coefficients<F: Family>(params: &Params<F>, numbers: &[u64]) -> Vec<u64> {
    let ring = params.ring.ring();
    let mut out = vec![0; ring.words()];
    ring.encode(numbers, &mut out);
    out
}
