//! Recorded lookups, replayed.

use crate::fault::work;
use pyo3::prelude::*;
use sotto_binding::vector::replay;

/// Replays a vector: its text, followed by the bytes of the file next to it.
///
/// Returns the scheme's id, the row's index if a row was looked up, the value, and the number of
/// compared requests.
#[pyfunction]
pub(crate) fn self_test(py: Python<'_>, vector: Vec<u8>) -> PyResult<(String, Option<u64>, Vec<u8>, usize)> {
    let replayed = work(py, || Ok(replay(&vector).map_err(sotto_binding::BindingError::from)?))?;
    Ok((replayed.scheme, replayed.row, replayed.value, replayed.requests))
}
