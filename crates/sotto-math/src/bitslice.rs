//! Records in bit slices, and the one pass that xors the selected ones for many queries.
//!
//! | module | contents |
//! |---|---|
//! | [`layout`] | blocks of eight records, and the conversion of sums back to records |
//! | [`selection`] | the records that each query selects, as 8 x 8 bit matrices |
//! | [`scan()`] | the pass |
//!
//! A query selects records with one bit each and needs the exclusive or of the selected ones. Done
//! record by record, that is a masked load per query. In *bit slices* it is linear algebra: byte
//! `t` of a block holds bit `t` of its eight records, so the selection bits of eight queries for
//! the block are an 8 x 8 matrix, and matrix times byte is one bit for each query. AVX-512 with
//! GFNI has that product, for 64 bytes at once.

pub mod layout;
pub mod scan;
pub mod selection;

pub use layout::{BLOCK_RECORDS, reslice, slice, unslice};
pub use scan::scan;
pub use selection::{GROUP, RUN_RECORDS, SelectionMatrices, SelectionShare, matrices};
