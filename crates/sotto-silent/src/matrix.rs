//! The matrix D in an image: opened, read back, and multiplied by many queries in one pass.
//!
//! | module | what it does |
//! |---|---|
//! | `write` | records become the matrix (feature `server`) |
//! | `column` | a stretch of one column changes (feature `server`) |
//! | `change` | bytes of an image's matrix change, and how it says so |

mod change;
#[cfg(feature = "server")]
mod column;
#[cfg(feature = "server")]
mod open;
#[cfg(feature = "server")]
mod write;

pub use change::Entry;
#[cfg(feature = "server")]
pub use change::write_changes;
#[cfg(feature = "server")]
pub use column::change_column;
#[cfg(feature = "server")]
pub use open::{BATCH, Matrix, Scan};
#[cfg(feature = "server")]
pub use write::write_matrix;
