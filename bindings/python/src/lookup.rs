//! Lookups from Python values, and their errors.
//!
//! A missing request would reveal something, so a value that is neither a valid row nor a valid key
//! is queried as row 0, and raises an exception once the answers have arrived.

use crate::fault::PyFault;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use sotto_client::Lookup;

/// One lookup from a Python value.
pub(crate) enum PyLookup {
    /// A row by its index.
    Row(u64),
    /// The value of a key.
    Key(String),
    /// A dummy lookup, for a missing value.
    Padding,
    /// A value that is neither a valid row nor a valid key, with its exception.
    Invalid(PyErr),
}

impl PyLookup {
    /// Parses a row index or the text of a key.
    pub(crate) fn of(item: &Bound<'_, PyAny>) -> Self {
        if let Ok(text) = item.cast::<PyString>() {
            return match text.to_str() {
                Ok(text) => PyLookup::Key(text.to_owned()),
                Err(_) => wrong("a key has an unpaired surrogate", "give text that is valid UTF-8"),
            };
        }
        if item.is_none() || item.is_instance_of::<PyBool>() {
            return PyLookup::Invalid(other(item));
        }
        match item.extract::<u64>() {
            Ok(row) => PyLookup::Row(row),
            Err(error) if error.is_instance_of::<PyOverflowError>(item.py()) => {
                PyLookup::Invalid(PyFault::from(sotto_binding::BindingError::no_row()).into())
            }
            Err(_) => PyLookup::Invalid(other(item)),
        }
    }

    /// Parses a row index or the text of a key, where `None` is a dummy lookup.
    pub(crate) fn or_padding(item: &Bound<'_, PyAny>) -> Self {
        if item.is_none() { PyLookup::Padding } else { PyLookup::of(item) }
    }

    /// The lookup to make.
    pub(crate) fn as_lookup(&self) -> Lookup<'_> {
        match self {
            PyLookup::Row(row) => Lookup::Row(*row),
            PyLookup::Key(key) => Lookup::Key(key),
            PyLookup::Padding | PyLookup::Invalid(_) => Lookup::Row(0),
        }
    }
}

fn wrong(message: &str, fix: &str) -> PyLookup {
    PyLookup::Invalid(PyFault::misuse(message, fix).into())
}

fn other(item: &Bound<'_, PyAny>) -> PyErr {
    let name = item.get_type().name().map_or_else(|_| "this".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("expected a row as int or a key as str, got {name}"))
}
