//! The Python package `sotto`: what it has of Rust. `python/sotto` has the rest, which is names, types and words.
//!
//! Nothing is implemented twice: what all bindings share is `sotto_binding`'s, lookups are `sotto_client`'s, tables are made by
//! `sotto_db` and served by `sotto_server`.
//!
//! | module | what lives there |
//! |---|---|
//! | `open` | which table, whom to trust, where to keep things |
//! | `table` | an open table or stack, asked in padded rounds |
//! | `wanted` | what Python asks for, and what is wrong with it once everything was asked |
//! | `carrier` | requests carried by a function of the caller's |
//! | `column` | a column of keys in, a column of values out, as Arrow data |
//! | `encode` | files in, a table out |
//! | `bench` | benchmarks |
//! | `self_test` | recorded lookups, replayed |
//! | `parts` | tables in parts: partials, and answers made of them |
//! | `admission` | bounds of requests, memory and clients' keys, for whoever carries requests to parts |
//! | `serve` | a server in this process |
//! | `fault` | errors as exceptions, by whose fault; work without the interpreter's lock |
#![cfg(feature = "extension")]
#![forbid(unsafe_code)]

mod admission;
mod bench;
mod column;
mod encode;
mod fault;
mod lookup;
mod open;
mod parts;
mod self_test;
mod serve;
mod table;
mod transport;

/// What `python/sotto` imports.
#[pyo3::pymodule]
mod _sotto {
    use pyo3::prelude::*;

    /// The version of the package, as Python's are named.
    #[pymodule_init]
    fn version(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use crate::admission::{KeyStore, RequestAdmission, RequestPermit, SessionCache};
    #[pymodule_export]
    use crate::bench::bench;
    #[pymodule_export]
    use crate::column::Column;
    #[pymodule_export]
    use crate::encode::encode;
    #[pymodule_export]
    use crate::open::connect;
    #[pymodule_export]
    use crate::parts::{Front, Part, Session, problem};
    #[pymodule_export]
    use crate::self_test::self_test;
    #[pymodule_export]
    use crate::serve::{Server, serve};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use sotto_binding::{LookupCost, TableInfo};
}
