//! A table of polynomials under the transform, and the one pass over it that answers queries.
//!
//! The table is `rows` by `cols` polynomials of `Z_q[X]/(X^n + 1)`, as slots. A query is a
//! selector per row: a ciphertext of `comps` polynomials, two for (a, b) and more where
//! ciphertexts share their *a*. The answer is one ciphertext per column,
//! `C[col][comp] = sum over rows of table[row][col] selector[row][comp]`, slot by slot: the
//! *first dimension* of Spiral (Menon and Wu, 2022, section 3) and its descendants.
//!
//! | module | what lives there |
//! |---|---|
//! | [`layout`] | where each polynomial's slots lie |
//! | [`packing`] | how words that need fewer than 64 bits share lines |
//! | `cells` | one polynomial in a table, read and written |
//! | [`words`] | one slot as one stored word |
//! | [`selectors`] | a query, in the order the pass reads it |
//! | [`scan`](mod@scan) | the pass, and the answer's polynomials out of its sums |
//! | [`strip`] | how threads fill a table |
//! | `pack` | a few columns of a strip, made of whole polynomials |
//! | [`piece`] | a few polynomials in memory, for passes that make slots as they go |

mod cells;
pub mod layout;
mod pack;
pub mod packing;
pub mod piece;
pub mod scan;
pub mod selectors;
pub mod strip;
pub mod words;

pub use layout::{TileLayout, TileRun};
pub use packing::WordPacking;
pub use piece::TilePiece;
pub(crate) use scan::Block;
pub use scan::{gather, gather_stored, scan};
pub(crate) use selectors::CacheLine;
pub use selectors::{SelectorBuffer, Selectors};
pub use strip::{Strip, strips};
pub use words::WordFormat;
pub(crate) use words::{OneResidue, TwoResidues, WordForm};
