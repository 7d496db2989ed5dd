//! The byte matrix, its layout, and the one pass over it that answers queries.
//!
//! | module | contents |
//! |---|---|
//! | [`layout`] | the position of each byte of the matrix |
//! | [`query`] | a query vector as byte planes |
//! | [`scan`] | matrix times queries, in one pass over the matrix |
//! | [`dot`] | rows of 32-bit words times short vectors |

pub mod dot;
pub mod layout;
pub mod query;
pub mod scan;

pub use dot::{dot_rows, dot_rows_many};
pub use layout::PanelLayout;
pub use query::QueryPlanes;
pub use scan::{scan_planes, scan_u32};

#[cfg(test)]
pub(crate) use scan::tests::mix;
