//! Errors as plain data: by whose fault, with a name for programs and what to do for people.

use serde::Serialize;
use sotto_catalog::{CatalogError, TableName, TableNameError};
use sotto_client::ClientError;
use sotto_client::error::Fault as Whose;
use sotto_client::transport::TransportError;
use sotto_core::{Error, Misuse};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Which exception a language raises for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// The call.
    Misuse,
    /// The call: the table has no such row.
    Row,
    /// The table's parameters are refused.
    Params,
    /// The server or the publisher: another signature, damaged answers.
    Peer,
    /// What lies in between.
    Network,
    /// Nothing came in time.
    Timeout,
    /// This machine's disk, or what stands for it.
    Storage,
    /// Unknown. Whoever asks for the same row again at once tells the server, who may have damaged the answer to see that.
    Unreadable,
    /// This machine, or sotto itself.
    Machine,
}

/// Something went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BindingError {
    /// By whose fault.
    pub kind: ErrorKind,
    /// A stable name for programs.
    pub code: String,
    /// What went wrong.
    pub message: String,
    /// What to do.
    pub fix: String,
}

impl BindingError {
    /// One of this kind.
    pub fn new(kind: ErrorKind, code: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        BindingError { kind, code: code.to_owned(), message: message.into(), fix: fix.into() }
    }

    /// The caller's.
    pub fn misuse(message: impl Into<String>, fix: impl Into<String>) -> Self {
        BindingError::new(ErrorKind::Misuse, "misuse", message, fix)
    }

    /// A number that is no row's of any table.
    pub fn no_row() -> Self {
        let message = "a row's number is from 0 on, and below the number of rows";
        BindingError::new(ErrorKind::Row, "misuse", message, "give a row of the table")
    }

    /// What was closed is asked again.
    pub fn closed() -> Self {
        BindingError::misuse("the table is closed", "open it again")
    }

    /// Ours: a panic, which goes no further than here.
    fn bug(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        let fix = "tell the authors of sotto, and open the table again";
        BindingError::new(ErrorKind::Machine, "bug", format!("sotto has a bug: {text}"), fix)
    }
}

/// Does work of which no panic gets out.
///
/// # Errors
/// Those of the work; [`ErrorKind::Machine`] for a panic.
pub fn guarded<T, E: From<BindingError>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(BindingError::bug(panic.as_ref()).into()))
}

/// A table's name, as the caller gives it.
///
/// # Errors
/// [`ErrorKind::Misuse`] for what is none.
pub fn name(text: &str) -> Result<TableName, BindingError> {
    text.parse().map_err(|error: TableNameError| {
        BindingError::misuse(error.to_string(), "give a name of a-z, 0-9 and '-'")
    })
}

impl From<ClientError> for BindingError {
    fn from(error: ClientError) -> Self {
        BindingError::new(kind(&error), error.code(), error.to_string(), error.fix())
    }
}

fn kind(error: &ClientError) -> ErrorKind {
    match error.root() {
        ClientError::Core(error) | ClientError::Catalog(CatalogError::Params(error)) => core(error),
        ClientError::RowProofInvalid { .. } => ErrorKind::Unreadable,
        ClientError::Transport(TransportError::Timeout(_)) => ErrorKind::Timeout,
        ClientError::Cache(_) | ClientError::State(_) | ClientError::Output(_) => ErrorKind::Storage,
        other => match other.fault() {
            Whose::Caller => ErrorKind::Misuse,
            Whose::Server => ErrorKind::Peer,
            Whose::Network => ErrorKind::Network,
            Whose::Machine => ErrorKind::Machine,
        },
    }
}

/// The kind of a scheme's error.
pub fn core(error: &Error) -> ErrorKind {
    match error {
        Error::Params(_) => ErrorKind::Params,
        Error::Misuse(Misuse::IndexPastEnd { .. }) => ErrorKind::Row,
        Error::Misuse(_) | Error::Exhausted(_) | Error::ServerUnavailable => ErrorKind::Misuse,
        Error::Peer(_) => ErrorKind::Peer,
        Error::Unreadable => ErrorKind::Unreadable,
        Error::Storage(_) => ErrorKind::Storage,
        _ => ErrorKind::Machine,
    }
}

impl fmt::Display for BindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BindingError {}
