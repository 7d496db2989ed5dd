//! How a table is filled: strip by strip, so that a table need not be in memory.

use super::kit::Kit;
use super::shape::Shape;
use super::table::Table;
use rayon::prelude::*;
use sotto_core::Result;
use sotto_lattice::bgv::SlotRing;
use sotto_math::bits::highest;
use sotto_math::tiles::{Strip, TileLayout, strips};
use std::sync::{Mutex, PoisonError};

/// Plaintexts that become values together, before they are written.
const TOGETHER: usize = 64;

/// The values of a plaintext, if they are not zero.
type Cell<'a> = &'a (dyn Fn(usize, usize) -> Result<Option<Vec<u64>>> + Sync);

impl Table {
    /// Makes the values of all plaintexts of a table that is written elsewhere, some megabytes at a time: `put` takes bytes and
    /// where they lie. `read` reads the entries, which lie one after the other: from a byte on, into what is to be filled.
    ///
    /// # Errors
    /// Those of `read` and `put`.
    pub fn write(
        kit: &Kit,
        shape: &Shape,
        read: &(dyn Fn(u64, &mut [u8]) -> Result<()> + Sync),
        put: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let [_, d1] = shape.dimensions();
        let cell = |row: usize, col: usize| {
            let Some(range) = shape.range(col / d1, [row, col % d1]) else { return Ok(None) };
            let mut bytes = vec![0; shape.plaintext_bytes()];
            read(range.start, &mut bytes[..(range.end - range.start) as usize])?;
            Ok(bytes.iter().any(|byte| *byte > 0).then(|| values(kit, &bytes)))
        };
        fill(kit, &Self::layout(kit, shape)?, &cell, put)
    }
}

/// Fills a table.
pub(super) fn fill(
    kit: &Kit,
    layout: &TileLayout,
    cell: Cell<'_>,
    put: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut lines = Vec::new();
    strips(layout).try_for_each(|strip| fill_strip(kit, layout, &strip, cell, &mut lines, put))
}

/// Fills a strip, in memory that strips share.
fn fill_strip(
    kit: &Kit,
    layout: &TileLayout,
    strip: &Strip,
    cell: Cell<'_>,
    lines: &mut Vec<u8>,
    put: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    lines.clear();
    lines.resize(strip.block_bytes(layout) * layout.blocks(), 0);
    let shared = Mutex::new(&mut *lines);
    let cells: Vec<(usize, usize)> = strip.polynomials().collect();
    // One thread writes at a time, while the others make values: words of a bunch of rows share lines.
    cells.par_chunks(TOGETHER).try_for_each(|cells| {
        let words = |(row, col): &(usize, usize)| {
            let Some(values) = cell(*row, *col)? else { return Ok(None) };
            Ok(Some(((*row, *col), words(kit, &values))))
        };
        let made: Vec<_> = cells.iter().filter_map(|cell| words(cell).transpose()).collect::<Result<_>>()?;
        let mut lines = shared.lock().unwrap_or_else(PoisonError::into_inner);
        strip.put(layout, &made, &mut lines);
        Ok::<_, sotto_core::Error>(())
    })?;
    let blocks = lines.chunks_exact(strip.block_bytes(layout)).enumerate();
    blocks.into_iter().try_for_each(|(block, lines)| put(strip.offset(layout, block), lines))
}

/// Values modulo both primes as stored words.
fn words(kit: &Kit, values: &[u64]) -> Vec<u64> {
    let (first, second) = values.split_at(kit.degree());
    first.iter().zip(second).map(|(x, y)| x | y << 32).collect()
}

/// The values of a plaintext modulo both primes: its bytes as coefficients, each nearest to zero.
pub(super) fn values(kit: &Kit, bytes: &[u8]) -> Vec<u64> {
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
