//! The C library `libsotto`: `sotto.h` over what all bindings share. It opens no socket; the caller carries every request.
//!
//! | module | what lives there |
//! |---|---|
//! | `abi` | the functions of the header, and the only unsafe code: pointers that C hands over |
//! | `carrier` | a transport that is the caller's function |
//! | `config` | which table, at which servers |
//! | `tables` | open tables, by number |
//! | `values` | what came of several wishes, in one piece of memory |
//! | `wishes` | rows and keys, as JSON lists them |
#![deny(unsafe_code)]
#![deny(clippy::indexing_slicing)]

#[cfg(feature = "abi")]
#[allow(unsafe_code, reason = "C hands over pointers, and is given some")]
pub mod abi;
#[cfg(feature = "abi")]
mod config;
#[cfg(feature = "abi")]
mod lookups;
#[cfg(feature = "abi")]
mod tables;
#[cfg(feature = "abi")]
mod transport;
#[cfg(feature = "abi")]
mod values;
