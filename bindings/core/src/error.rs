//! Errors as plain data: whose fault it is, a name for programs, and a fix for people.

use serde::Serialize;
use sotto_catalog::{TableName, TableNameError};
pub use sotto_core::ErrorKind;
use sotto_core::{Diagnose, Diagnosis};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An error of any binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct BindingError {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Stable name for programs.
    pub code: String,
    /// What went wrong.
    pub message: String,
    /// What to do.
    pub fix: String,
}

impl BindingError {
    /// An error of this kind.
    pub fn new(kind: ErrorKind, code: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        BindingError { kind, code: code.to_owned(), message: message.into(), fix: fix.into() }
    }

    /// An error that is the caller's fault.
    pub fn misuse(message: impl Into<String>, fix: impl Into<String>) -> Self {
        BindingError::new(ErrorKind::Misuse, "misuse", message, fix)
    }

    /// The error for a number that no table has a row of.
    pub fn no_row() -> Self {
        let message = "the row number is outside the table";
        BindingError::new(ErrorKind::Row, "misuse", message, "give a row of the table")
    }

    /// The error for a call on a closed table.
    pub fn closed() -> Self {
        BindingError::misuse("the table is closed", "open it again")
    }

    /// The error for a panic of sotto, which is caught here.
    fn bug(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        let fix = "report this, and open the table again";
        BindingError::new(ErrorKind::Machine, "bug", format!("bug in sotto: {text}"), fix)
    }
}

/// Runs `work`, and turns a panic into an error.
///
/// # Errors
/// The errors of `work`; [`ErrorKind::Machine`] for a panic.
pub fn guarded<T, E: From<BindingError>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(BindingError::bug(panic.as_ref()).into()))
}

/// Parses a table's name from the caller.
///
/// # Errors
/// [`ErrorKind::Misuse`] for an invalid name.
pub fn name(text: &str) -> Result<TableName, BindingError> {
    text.parse().map_err(|error: TableNameError| {
        BindingError::misuse(error.to_string(), "give a name of a-z, 0-9 and '-'")
    })
}

impl<E: Diagnose> From<E> for BindingError {
    fn from(error: E) -> Self {
        let Diagnosis { kind, code, fix, .. } = error.diagnosis();
        BindingError::new(kind, code, error.to_string(), fix)
    }
}
