//! The C library `libsotto`: `sotto.h` over the code that all bindings share. It opens no socket;
//! the caller sends every request.
//!
//! | module | contents |
//! |---|---|
//! | `abi` | the functions of the header, and the only unsafe code: pointers from C |
//! | `transport` | a transport that calls the caller's function |
//! | `config` | the configuration: table, servers, options |
//! | `tables` | open tables, by number |
//! | `lookups` | rows and keys from a JSON list, and the results in one piece of memory |
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
