//! What Unicode says of text: normalization form C, and how names of hosts are written in ASCII.
//!
//! | module | what lives there |
//! |---|---|
//! | `tables` | by tables of our own |
//! | `given` | by those of whoever calls, for `wasm32-unknown-unknown`: every browser has them, and ours are a third of a small
//! program |
//!
//! Both have the same two functions.

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
