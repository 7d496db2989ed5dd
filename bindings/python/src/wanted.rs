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
            Err(error) if error.is_instance_of::<PyOverflowError>(item.py()) => past_end(),
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

/// A number that no table has.
fn past_end() -> Wanted {
    let message = "a row's number is from 0 on, and below the number of rows".to_owned();
    let (code, fix) = ("misuse".to_owned(), "give a row of the table".to_owned());
    Wanted::Wrong(Fault::Ours { class: "RowError", message, code, fix, cause: None }.into())
}

fn other(item: &Bound<'_, PyAny>) -> PyErr {
    let name = item.get_type().name().map_or_else(|_| "this".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("a row is an int and a key is a str, not {name}"))
}
