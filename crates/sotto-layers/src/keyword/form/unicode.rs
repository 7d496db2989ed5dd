//! Unicode normalization form C, and host names in ASCII.
//!
//! | module | contents |
//! |---|---|
//! | `tables` | with tables of this crate |
//! | `host` | with functions of the caller, for `wasm32-unknown-unknown`: every browser has them, and these tables are a third of a small program |
//!
//! Both modules have the same two functions.

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
mod host;
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
mod tables;

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub use host::{HostUnicode, set_host_unicode};
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub(super) use host::{ascii, normal};
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub(super) use tables::{ascii, normal};
