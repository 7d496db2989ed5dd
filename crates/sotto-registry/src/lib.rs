//! The only crate that names every scheme.
//!
//! | module | what lives there |
//! |---|---|
//! | [`schemes`] | the list: one line per scheme, each a cargo feature |
//!
//! Everything above iterates the list or looks a scheme up by the id found in a catalog, so that adding a
//! scheme edits nothing else. Feature `server` turns the list's server halves on.
#![forbid(unsafe_code)]

pub mod schemes;

pub use schemes::{SCHEMES, find};
