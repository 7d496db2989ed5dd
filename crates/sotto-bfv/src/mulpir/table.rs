//! A table of plaintext values, in the order in which an answer scans it.
//!
//! The values of a plaintext modulo both primes share a word, and words are stored in tiles
//! ([`sotto_math::tiles`]): rows are the first dimension, columns the second, and the columns of
//! each chunk follow those of the chunk before. The table is in memory, or in a section of a file
//! that was written before.

use super::RingContext;
use super::shape::EntryShape;
use rayon::prelude::*;
use sotto_core::Result;
use sotto_core::error::{Misuse, PeerMisbehaved};
use sotto_core::server::ImageSection;
use sotto_lattice::bgv::SlotRing;
use sotto_math::bits::highest;
use sotto_math::tiles::{Strip, TileLayout, strips};
use sotto_pages::HugeBuffer;
use std::sync::Arc;

/// A table of values of one shape.
pub struct ValueTable {
    shape: EntryShape,
    layout: TileLayout,
    bytes: TableBytes,
}

/// The storage of the values.
enum TableBytes {
    Owned(HugeBuffer),
    /// A section, from this byte on.
    Held(Arc<ImageSection>, usize),
}

impl ValueTable {
    /// Encodes a table in memory. `entry` writes the bytes of one entry into zeroed bytes.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn encode(
        context: &RingContext,
        shape: &EntryShape,
        entry: impl Fn(usize, &mut [u8]) + Sync,
    ) -> Result<Self> {
        let of_cell = |row, col| {
            let [_, d1] = shape.dimensions();
            let bytes = shape.bytes(col / d1, [row, col % d1], &entry)?;
            bytes.iter().any(|byte| *byte > 0).then(|| values(context, &bytes))
        };
        Self::filled(context, shape, of_cell)
    }

    /// Makes a table of plaintexts whose values are known: for each row and column the values
    /// modulo both primes, limb by limb; `None` where they are zero.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn filled(
        context: &RingContext,
        shape: &EntryShape,
        cell: impl Fn(usize, usize) -> Option<Vec<u64>> + Sync,
    ) -> Result<Self> {
        let layout = Self::layout(context, shape)?;
        let mut bytes = HugeBuffer::zeroed(layout.bytes() as usize)?;
        fill(context, &layout, &|row, col| Ok(cell(row, col)), &mut |at, lines| {
            bytes[at as usize..][..lines.len()].copy_from_slice(lines);
            Ok(())
        })?;
        Ok(ValueTable { shape: *shape, layout, bytes: TableBytes::Owned(bytes) })
    }

    /// Encodes all plaintexts of a table and writes their values, some megabytes at a time.
    ///
    /// # Errors
    /// The errors of `read` and `put`.
    pub fn write(
        context: &RingContext,
        shape: &EntryShape,
        read: ReadEntries<'_>,
        put: WriteFn<'_>,
    ) -> Result<()> {
        let cell = |row: usize, col: usize| plaintext(context, shape, (row, col), read);
        fill(context, &Self::layout(context, shape)?, &cell, put)
    }

    /// Writes this table with some entries changed: only plaintexts that `changed` names, by row
    /// and column, are re-encoded.
    ///
    /// # Errors
    /// The errors of `read` and `put`.
    pub fn rewrite(
        &self,
        context: &RingContext,
        changed: &(dyn Fn(usize, usize) -> bool + Sync),
        read: ReadEntries<'_>,
        put: WriteFn<'_>,
    ) -> Result<()> {
        let (layout, stored) = self.tiles();
        let group = |strip: &Strip, lines: &mut Vec<u8>| {
            let len = strip.block_bytes(layout);
            lines.clear();
            for block in 0..layout.blocks() {
                lines.extend_from_slice(&stored[strip.offset(layout, block) as usize..][..len]);
            }
            let changed_words = strip.polynomials().filter(|(row, col)| changed(*row, *col));
            let words = |at: (usize, usize)| {
                let values = plaintext(context, self.shape(), at, read)?;
                Ok((at, values.map_or_else(|| vec![0; context.degree()], |values| words(context, &values))))
            };
            let changed_words = changed_words.map(words).collect::<Result<Vec<_>>>()?;
            strip.put(layout, &changed_words, lines);
            Ok(())
        };
        each_strip(layout, &group, put)
    }

    /// Opens a table in a section, from byte `at` on: [`ValueTable::len`] bytes, as
    /// [`ValueTable::write`] wrote them.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Length`] if the section is too short.
    pub fn held(
        context: &RingContext,
        shape: &EntryShape,
        section: Arc<ImageSection>,
        at: u64,
    ) -> Result<Self> {
        let layout = Self::layout(context, shape)?;
        let (got, want) = (section.bytes().len() as u64, at.saturating_add(layout.bytes()));
        if got < want {
            return Err(PeerMisbehaved::Length { what: "tables", got, want }.into());
        }
        Ok(ValueTable { shape: *shape, layout, bytes: TableBytes::Held(section, at as usize) })
    }

    /// Bytes of the values of a table of this shape.
    ///
    /// # Errors
    /// [`Misuse`] if they exceed the address space.
    pub fn len(context: &RingContext, shape: &EntryShape) -> Result<u64> {
        Ok(Self::layout(context, shape)?.bytes())
    }

    pub(super) fn layout(context: &RingContext, shape: &EntryShape) -> Result<TileLayout> {
        let [d0, d1] = shape.dimensions();
        let layout = TileLayout::new(context.tools.form.packing(), context.degree(), d0, d1 * shape.chunks());
        layout.ok_or(Misuse::Rule("the table must fit the address space").into())
    }

    /// The shape of the table.
    pub fn shape(&self) -> &EntryShape {
        &self.shape
    }

    /// Number of bytes of all values.
    pub fn bytes(&self) -> u64 {
        self.layout.bytes()
    }

    /// The stored bytes of all values, as [`ValueTable::write`] writes them.
    pub fn stored(&self) -> &[u8] {
        self.tiles().1
    }

    /// Reads the values of a plaintext modulo both primes, limb by limb.
    pub fn read(&self, row: usize, col: usize) -> Vec<u64> {
        let bytes = self.tiles().1;
        let at = |offset: u64, out: &mut [u8]| -> std::result::Result<(), std::convert::Infallible> {
            out.copy_from_slice(&bytes[offset as usize..][..out.len()]);
            Ok(())
        };
        let block =
            |block: usize| self.layout.read(block, (row, col), at).unwrap_or_else(|never| match never {});
        let words: Vec<u64> = (0..self.layout.blocks()).flat_map(block).collect();
        let low = u64::from(u32::MAX);
        words.iter().map(|word| word & low).chain(words.iter().map(|word| word >> 32)).collect()
    }

    pub(super) fn tiles(&self) -> (&TileLayout, &[u8]) {
        let bytes = match &self.bytes {
            TableBytes::Owned(bytes) => bytes,
            TableBytes::Held(section, at) => &section.bytes()[*at..][..self.layout.bytes() as usize],
        };
        (&self.layout, bytes)
    }
}

impl std::fmt::Debug for ValueTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("shape", &self.shape).finish_non_exhaustive()
    }
}

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
