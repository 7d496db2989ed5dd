//! Tables of polynomials in tiles.

pub mod layout;
pub mod packing;
pub mod words;

use layout::TileLayout;

/// Number of slots in a block, which is the number of words in a line.
pub(crate) const LINE: usize = 8;
/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = 64;

/// Rows in a tile.
pub(crate) const TILE_ROWS: usize = 32;

/// Eight words, a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct CacheLine(pub(crate) [u64; LINE]);

/// The input of one call of a kernel: one block, some queries.
pub(crate) struct Block<'a> {
    pub(crate) layout: &'a TileLayout,
    /// Lines of the table.
    pub(crate) lines: &'a [[u8; LINE_BYTES]],
    /// Lines of each query's selectors: row after row, component after component.
    pub(crate) selectors: &'a [&'a [CacheLine]],
    pub(crate) comps: usize,
}
