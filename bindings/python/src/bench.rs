//! Benchmarks, as `sotto bench` runs them.

use crate::fault::{PyFault, work};
use pyo3::prelude::*;
use sotto_bench::Options;
use std::path::PathBuf;

/// Runs a definition, by its name or from a file, and returns the report as JSON.
#[pyfunction]
pub(crate) fn bench(
    py: Python<'_>,
    definition: PathBuf,
    threads: Option<usize>,
    quick: bool,
    full: bool,
    scratch: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    work(py, move || {
        let definition = sotto_bench::load(&definition).map_err(sotto_bench::BenchError::from)?;
        let options = Options { threads, quick, full, commit: None, scratch };
        let report = sotto_bench::run(&definition, &options, &|at| {
            let Some(progress) = &progress else { return };
            Python::try_attach(|py| {
                if let Err(error) = progress.call1(py, (at.to_string(), at.done, at.total)) {
                    error.write_unraisable(py, Some(progress.bind(py)));
                }
            });
        });
        Ok(report.map_err(PyFault::from)?.json())
    })
}
