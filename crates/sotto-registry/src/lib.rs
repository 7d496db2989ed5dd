//! The only crate that names every scheme.
#![forbid(unsafe_code)]
