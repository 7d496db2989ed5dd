//! What Python asks for, and what is wrong with it.
//!
//! Silence tells nothing, here too: what can be no row and no key is asked for as row 0, and is an exception once the answers
//! are there.

use crate::fault::Fault;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use sotto_client::Wish;

/// One thing that is wanted.
pub(crate) enum Wanted {
    /// A row.
    Row(u64),
    /// The value of a key.
    Key(String),
    /// Nothing, which is asked for all the same.
    Nothing,
    /// What can be no row and no key.
    Wrong(PyErr),
}

impl Wanted {
    /// A row by its number, or a key by its text.
    pub(crate) fn of(item: &Bound<'_, PyAny>) -> Self {
        if let Ok(text) = item.cast::<PyString>() {
            return match text.to_str() {
                Ok(text) => Wanted::Key(text.to_owned()),
                Err(_) => {
                    wrong("a key holds half a character (a surrogate)", "give text that is valid UTF-8")
                }
            };
        }
        if item.is_none() || item.is_instance_of::<PyBool>() {
            return Wanted::Wrong(other(item));
        }
        match item.extract::<u64>() {
            Ok(row) => Wanted::Row(row),
            Err(error) if error.is_instance_of::<PyOverflowError>(item.py()) => {
                Wanted::Wrong(Fault::from(sotto_binding::Fault::no_row()).into())
            }
            Err(_) => Wanted::Wrong(other(item)),
        }
    }

    /// The same, where `None` is nothing.
    pub(crate) fn or_nothing(item: &Bound<'_, PyAny>) -> Self {
        if item.is_none() { Wanted::Nothing } else { Wanted::of(item) }
    }

    /// What is asked for.
    pub(crate) fn wish(&self) -> Wish<'_> {
        match self {
            Wanted::Row(row) => Wish::Row(*row),
            Wanted::Key(key) => Wish::Key(key),
            Wanted::Nothing | Wanted::Wrong(_) => Wish::Row(0),
        }
    }
}

fn wrong(message: &str, fix: &str) -> Wanted {
    Wanted::Wrong(Fault::misuse(message, fix).into())
}

fn other(item: &Bound<'_, PyAny>) -> PyErr {
    let name = item.get_type().name().map_or_else(|_| "this".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("a row is an int and a key is a str, not {name}"))
}
