//! Source files, each streamed into a table of fixed-width rows.
//!
//! | module | what lives there |
//! |---|---|
//! | [`error`] | what is wrong with source data, with line and column |

pub mod error;

pub use error::{ColumnName, IngestError, Problem};
