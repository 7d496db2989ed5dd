//! The Rust part of the Python package `sotto`. `python/sotto` is the rest: names, types and
//! docstrings.
//!
//! Nothing is implemented twice: the code that all bindings share is in `sotto_binding`, lookups
//! are in `sotto_client`, tables are made by `sotto_db` and served by `sotto_server`.
//!
//! | module | contents |
//! |---|---|
//! | `open` | opening a table: which key to trust, where to store files |
//! | `table` | an open table or stack, queried in padded rounds |
//! | `lookup` | lookups from Python values, and their errors |
//! | `transport` | requests carried by a function of the caller |
//! | `column` | a column of keys in, a column of values out, as Arrow data |
//! | `encode` | encoding of files into a table |
//! | `bench` | benchmarks |
//! | `self_test` | recorded lookups, replayed |
//! | `parts` | tables in parts: partial answers, and answers joined from them |
//! | `admission` | limits on requests, memory and clients' keys, for code that sends requests to parts |
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

/// Module that `python/sotto` imports.
#[pyo3::pymodule]
mod _sotto {
    use pyo3::prelude::*;

    /// The version of the package, in the form of Python versions.
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
