//! Table encoding strip by strip, so that a table need not fit in memory.

use super::context::RingContext;
use super::shape::EntryShape;
use rayon::prelude::*;
use sotto_core::Result;
use sotto_lattice::bgv::SlotRing;
use sotto_math::bits::highest;
use sotto_math::tiles::{Strip, TileLayout, strips};

/// Gives the values of a plaintext; `None` if they are zero.
type Cell<'a> = &'a (dyn Fn(usize, usize) -> Result<Option<Vec<u64>>> + Sync);

/// Reads from the concatenated entries: from a byte on, into a buffer.
pub(crate) type ReadEntries<'a> = &'a (dyn Fn(u64, &mut [u8]) -> Result<()> + Sync);

/// Writes bytes of a table at an offset.
pub(crate) type WriteFn<'a> = &'a mut (dyn FnMut(u64, &[u8]) -> Result<()> + Send);

/// Encodes all plaintexts of a table.
pub(super) fn fill(
    context: &RingContext,
    layout: &TileLayout,
    cell: Cell<'_>,
    put: WriteFn<'_>,
) -> Result<()> {
    let group = |strip: &Strip, lines: &mut Vec<u8>| {
        let words = |(row, col): (usize, usize)| Ok(cell(row, col)?.map(|values| words(context, &values)));
        let all = strip.polynomials().map(words).collect::<Result<Vec<_>>>()?;
        lines.resize(strip.block_bytes(layout) * layout.blocks(), 0);
        strip.pack(layout, &all, lines);
        Ok(())
    };
    each_strip(layout, &group, put)
}

/// Encodes the groups of columns of each strip, each on a thread of its own, while the strip before
/// is written.
pub(super) fn each_strip(
    layout: &TileLayout,
    group: &(dyn Fn(&Strip, &mut Vec<u8>) -> Result<()> + Sync),
    put: WriteFn<'_>,
) -> Result<()> {
    let mut buffers = [Vec::new(), Vec::new()];
    let mut previous: Option<Strip> = None;
    for strip in strips(layout).map(Some).chain([None]) {
        let [made, written] = &mut buffers;
        let (made_now, written_before) = rayon::join(
            || strip.as_ref().map_or(Ok(()), |strip| make(strip, group, made)),
            || previous.as_ref().map_or(Ok(()), |previous| write(layout, previous, written, put)),
        );
        made_now.and(written_before)?;
        (previous, buffers) = (strip, {
            let [made, written] = buffers;
            [written, made]
        });
    }
    Ok(())
}

/// The bytes of each group of a strip, in memory that strips share.
fn make(
    strip: &Strip,
    group: &(dyn Fn(&Strip, &mut Vec<u8>) -> Result<()> + Sync),
    made: &mut Vec<Vec<u8>>,
) -> Result<()> {
    let groups: Vec<Strip> = strip.groups().collect();
    made.resize(groups.len(), Vec::new());
    groups.par_iter().zip(made).try_for_each(|(strip, lines)| group(strip, lines))
}

/// Writes groups next to each other, as they are stored in each block.
fn write(layout: &TileLayout, strip: &Strip, made: &[Vec<u8>], put: WriteFn<'_>) -> Result<()> {
    let mut lines = Vec::with_capacity(strip.block_bytes(layout));
    for block in 0..layout.blocks() {
        lines.clear();
        for group in made {
            let len = group.len() / layout.blocks();
            lines.extend_from_slice(&group[block * len..][..len]);
        }
        put(strip.offset(layout, block), &lines)?;
    }
    Ok(())
}

/// The values of the plaintext at a row and a column; `None` if they are zero.
pub(super) fn plaintext(
    context: &RingContext,
    shape: &EntryShape,
    (row, col): (usize, usize),
    read: ReadEntries<'_>,
) -> Result<Option<Vec<u64>>> {
    let [_, d1] = shape.dimensions();
    let Some(range) = shape.range(col / d1, [row, col % d1]) else { return Ok(None) };
    let mut bytes = vec![0; shape.plaintext_bytes()];
    read(range.start, &mut bytes[..(range.end - range.start) as usize])?;
    Ok(bytes.iter().any(|byte| *byte > 0).then(|| values(context, &bytes)))
}

/// Packs values modulo both primes into stored words.
pub(super) fn words(context: &RingContext, values: &[u64]) -> Vec<u64> {
    let (first, second) = values.split_at(context.degree());
    first.iter().zip(second).map(|(x, y)| x | y << 32).collect()
}

/// The values of a plaintext modulo both primes: its bytes as coefficients, centered around zero.
pub(super) fn values(context: &RingContext, bytes: &[u8]) -> Vec<u64> {
    let (ring, t) = (context.ring(), context.ring().ring().plain());
    let mut coefficients = vec![0; context.degree()];
    let used = bytes.len() * 8 / context.bits() as usize;
    if highest::unpack(bytes, context.bits(), &mut coefficients[..used]).is_none() {
        coefficients.fill(0);
    }
    let mut out = Vec::with_capacity(ring.words(ring.top()));
    for plan in ring.plans(ring.top()) {
        let down = plan.modulus().value() - t;
        // From the middle on, t less; `down` adds q so that the result is not negative.
        out.extend(coefficients.iter().map(|m| m + if *m < t.div_ceil(2) { 0 } else { down }));
    }
    ring.forward(ring.top(), &mut out);
    out
}
