//! A table of polynomials under the transform, and the one pass over it that answers queries.
//!
//! The table is `rows` by `cols` polynomials of `Z_q[X]/(X^n + 1)`, as slots. A query is a selector
//! per row: a ciphertext of `comps` polynomials, two for (a, b) and more where ciphertexts share
//! their *a*. The answer is one ciphertext per column,
//! `C[col][comp] = sum over rows of table[row][col] selector[row][comp]`, slot by slot: the *first
//! dimension* of Spiral (Menon and Wu, 2022, section 3) and its descendants.
//!
//! | module | contents |
//! |---|---|
//! | [`layout`] | the position of each polynomial's slots |
//! | [`packing`] | how words that need fewer than 64 bits share cache lines |
//! | `cells` | reads and writes of single polynomials in a table |
//! | [`words`] | one slot as one stored word |
//! | [`selectors`] | a query, in the order in which the pass reads it |
//! | [`scan`](mod@scan) | the pass, and the extraction of the answer's polynomials from its sums |
//! | [`strip`] | strips of a table, which threads fill |
//! | `pack` | a few columns of a strip, made of whole polynomials |
//! | [`piece`] | a few polynomials in memory, for passes that make slots on the fly |

mod cells;
mod pack;
pub mod piece;
pub mod scan;
pub mod selectors;
pub mod strip;

pub use crate::simd::args::tiles::{layout, packing, words};
pub use layout::{TileLayout, TileRun};
pub use packing::WordPacking;
pub use piece::TilePiece;
pub use scan::{gather, gather_stored, scan};
pub use selectors::{SelectorBuffer, Selectors};
pub use strip::{Strip, strips};
pub use words::WordFormat;
