//! The browser's package `@sotto/client`: what it has of Rust. `js` has the rest: the worker, its files, names and types.
//!
//! Nothing is implemented twice: the blocking `sotto_client::Table` runs in a worker, over requests and files that wait there.
//!
//! | module | what lives there |
//! |---|---|
//! | `host` | what the worker gives: requests, files, and somebody who hears what happens |
//! | `files` | files of the browser's own file system |
//! | `carrier` | requests carried by the worker |
//! | `table` | an open table or stack, for JavaScript |
#![cfg(all(feature = "browser", target_arch = "wasm32"))]
#![deny(unsafe_code)]
#![allow(unreachable_pub, reason = "JavaScript reaches what is public here")]

mod files;
mod host;
mod table;
mod transport;
