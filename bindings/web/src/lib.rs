//! The Rust part of the browser's package `@sotto/client`. `js` is the rest: the worker, its files,
//! names and types.
//!
//! Nothing is implemented twice: the blocking `sotto_client::Table` runs in a worker, over requests
//! and files that block there.
//!
//! | module | contents |
//! |---|---|
//! | `host` | the functions of the worker: requests, files, events |
//! | `files` | files of the browser's own file system |
//! | `transport` | requests carried by the worker |
//! | `table` | an open table or stack, for JavaScript |
#![cfg(all(feature = "browser", target_arch = "wasm32"))]
#![deny(unsafe_code)]
#![allow(unreachable_pub, reason = "JavaScript reaches what is public here")]

mod files;
mod host;
mod table;
mod transport;

use host::{BrowserUnicode, Host};
use sotto_layers::keyword::form::unicode;
use wasm_bindgen::prelude::*;

/// Passes the worker's functions to all tables. Only the first call has an effect.
#[wasm_bindgen]
pub fn start(host: Host) {
    if host::set(host)
        && unicode::set_host_unicode(Box::new(BrowserUnicode))
        && sotto_client::files::set_host_files(Box::new(files::Files))
    {
        host::report_panics();
    }
}
