//! A table of plaintext values, in the order in which an answer scans it.
//!
//! The values of a plaintext modulo both primes share a word, and words are stored in tiles
//! ([`sotto_math::tiles`]): rows are the first dimension, columns the second, and the columns of
//! each chunk follow those of the chunk before. The table is in memory, or in a section of a file
//! that was written before.

use super::context::RingContext;
use super::fill::{ReadEntries, WriteFn, each_strip, fill, plaintext, values, words};
use super::shape::EntryShape;
use sotto_core::Result;
use sotto_core::error::{Misuse, PeerMisbehaved};
use sotto_core::server::ImageSection;
use sotto_math::tiles::{Strip, TileLayout};
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
