//! A table as values, in the order in which an answer goes through it.
//!
//! The values of a plaintext modulo both primes share a word, and words lie in tiles ([`sotto_math::tiles`]): rows are the first
//! dimension, columns the second, those of each chunk after those of the chunk before.

use super::kit::Kit;
use super::shape::Shape;
use rayon::prelude::*;
use sotto_core::Result;
use sotto_core::error::Misuse;
use sotto_lattice::bgv::SlotRing;
use sotto_math::bits::highest;
use sotto_math::tiles::{Strip, TileLayout, strips};
use sotto_pages::HugeBuffer;
use std::sync::{Mutex, PoisonError};

/// Plaintexts that become values together, before they are written.
const TOGETHER: usize = 64;

/// A table of one shape.
pub struct Table {
    shape: Shape,
    layout: TileLayout,
    bytes: HugeBuffer,
}

impl Table {
    /// Makes the values of all plaintexts. `entry` puts the bytes of one entry into zeros.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn encode(kit: &Kit, shape: &Shape, entry: impl Fn(usize, &mut [u8]) + Sync) -> Result<Self> {
        let of_cell = |row, col| {
            let [_, d1] = shape.dimensions();
            let bytes = shape.bytes(col / d1, [row, col % d1], &entry)?;
            bytes.iter().any(|byte| *byte > 0).then(|| values(kit, &bytes))
        };
        Self::filled(kit, shape, of_cell)
    }

    /// A table of plaintexts whose values are known: for each row and column those modulo both primes, limb by limb; `None` where
    /// they are zero.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn filled(
        kit: &Kit,
        shape: &Shape,
        cell: impl Fn(usize, usize) -> Option<Vec<u64>> + Sync,
    ) -> Result<Self> {
        let layout = Self::layout(kit, shape)?;
        let bytes = HugeBuffer::zeroed(layout.bytes() as usize)?;
        let mut table = Table { shape: *shape, layout, bytes };
        let mut lines = Vec::new();
        for strip in strips(&layout) {
            table.fill(kit, &strip, &cell, &mut lines);
        }
        Ok(table)
    }

    fn layout(kit: &Kit, shape: &Shape) -> Result<TileLayout> {
        let [d0, d1] = shape.dimensions();
        let layout = TileLayout::new(kit.tools.form.packing(), kit.degree(), d0, d1 * shape.chunks());
        layout.ok_or(Misuse::Rule("a table that memory has addresses for").into())
    }

    /// Fills a strip, in memory that strips share.
    fn fill(
        &mut self,
        kit: &Kit,
        strip: &Strip,
        cell: &(impl Fn(usize, usize) -> Option<Vec<u64>> + Sync),
        lines: &mut Vec<u8>,
    ) {
        let layout = self.layout;
        lines.clear();
        lines.resize(strip.block_bytes(&layout) * layout.blocks(), 0);
        let shared = Mutex::new(&mut *lines);
        let cells: Vec<(usize, usize)> = strip.polynomials().collect();
        // One thread writes at a time, while the others make values: words of a bunch of rows share lines.
        cells.par_chunks(TOGETHER).for_each(|cells| {
            let words = |(row, col): &(usize, usize)| {
                let values = cell(*row, *col)?;
                let (first, second) = values.split_at(kit.degree());
                let words: Vec<u64> = first.iter().zip(second).map(|(x, y)| x | y << 32).collect();
                Some(((*row, *col), words))
            };
            let made: Vec<_> = cells.iter().filter_map(words).collect();
            let mut lines = shared.lock().unwrap_or_else(PoisonError::into_inner);
            strip.put(&layout, &made, &mut lines);
        });
        for (block, lines) in lines.chunks_exact(strip.block_bytes(&layout)).enumerate() {
            let at = strip.offset(&layout, block) as usize;
            self.bytes[at..at + lines.len()].copy_from_slice(lines);
        }
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Bytes of all values.
    pub fn bytes(&self) -> u64 {
        self.layout.bytes()
    }

    /// The values of a plaintext modulo both primes, limb by limb.
    pub fn read(&self, row: usize, col: usize) -> Vec<u64> {
        let at = |offset: u64, out: &mut [u8]| -> std::result::Result<(), std::convert::Infallible> {
            out.copy_from_slice(&self.bytes[offset as usize..][..out.len()]);
            Ok(())
        };
        let block =
            |block: usize| self.layout.read(block, (row, col), at).unwrap_or_else(|never| match never {});
        let words: Vec<u64> = (0..self.layout.blocks()).flat_map(block).collect();
        let low = u64::from(u32::MAX);
        words.iter().map(|word| word & low).chain(words.iter().map(|word| word >> 32)).collect()
    }

    pub(super) fn tiles(&self) -> (&TileLayout, &[u8]) {
        (&self.layout, &self.bytes)
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// The values of a plaintext modulo both primes: its bytes as coefficients, each nearest to zero.
fn values(kit: &Kit, bytes: &[u8]) -> Vec<u64> {
    let (ring, t) = (kit.ring(), kit.ring().ring().plain());
    let mut coefficients = vec![0; kit.degree()];
    let used = bytes.len() * 8 / kit.bits() as usize;
    if highest::unpack(bytes, kit.bits(), &mut coefficients[..used]).is_none() {
        coefficients.fill(0);
    }
    let mut out = Vec::with_capacity(ring.words(ring.top()));
    for plan in ring.plans(ring.top()) {
        let down = plan.modulus().value() - t;
        // From the middle on, t less; `down` adds q so that it is not negative.
        out.extend(coefficients.iter().map(|m| m + if *m < t.div_ceil(2) { 0 } else { down }));
    }
    ring.forward(ring.top(), &mut out);
    out
}
