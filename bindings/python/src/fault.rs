//! Errors as exceptions, by whose fault; and work that is done without the interpreter's lock.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyType;
use sotto_bench::BenchError;
use sotto_catalog::{CatalogError, TableName};
use sotto_client::ClientError;
use sotto_client::error::Fault as Whose;
use sotto_client::transport::TransportError;
use sotto_core::{Error, Misuse};
use sotto_db::DbError;
use sotto_server::StartError;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The module of the package's exceptions.
const MODULE: &str = "sotto._errors";

/// Something went wrong.
pub(crate) enum Fault {
    /// An exception of the package.
    Ours {
        /// The name of its class.
        class: &'static str,
        /// What went wrong.
        message: String,
        /// A stable name for programs.
        code: String,
        /// What to do.
        fix: String,
        /// What a function of the caller's raised.
        cause: Option<PyErr>,
    },
    /// Another exception, as it is.
    Python(PyErr),
}

impl Fault {
    /// The caller's.
    pub(crate) fn misuse(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Fault::ours("MisuseError", message.into(), "misuse", fix.into())
    }

    fn ours(class: &'static str, message: String, code: &str, fix: String) -> Self {
        Fault::Ours { class, message, code: code.to_owned(), fix, cause: None }
    }

    /// Ours: a panic, which goes no further than here.
    fn bug(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        let fix = "tell the authors of sotto, and open the table again".to_owned();
        Fault::ours("Error", format!("sotto has a bug: {text}"), "bug", fix)
    }

    /// The same, because of what a function of the caller's raised, if it did. What ends a program is raised as it is.
    pub(crate) fn because(self, raised: Option<PyErr>) -> Self {
        let Some(raised) = raised else { return self };
        if !Python::attach(|py| raised.is_instance_of::<PyException>(py)) {
            return Fault::Python(raised);
        }
        match self {
            Fault::Ours { class, message, code, fix, .. } => {
                Fault::Ours { class, message, code, fix, cause: Some(raised) }
            }
            other => other,
        }
    }
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Fault::Python(error)
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        let (code, fix) = (error.code(), error.fix().to_owned());
        Fault::ours(class(&error), error.to_string(), code, fix)
    }
}

impl From<DbError> for Fault {
    fn from(error: DbError) -> Self {
        // What to do is in the message there.
        let (class, code) = match &error {
            DbError::Scheme(error) => (core(error), "scheme"),
            DbError::Catalog(CatalogError::Params(error)) => (core(error), "bad-params"),
            DbError::Ingest(_) => ("MisuseError", "bad-data"),
            DbError::Io { .. } | DbError::DiskFull { .. } | DbError::Image { .. } => {
                ("StorageError", "storage")
            }
            _ => ("MisuseError", "encode"),
        };
        Fault::ours(class, error.to_string(), code, String::new())
    }
}

impl From<StartError> for Fault {
    fn from(error: StartError) -> Self {
        let class = match &error {
            StartError::InUse { .. } | StartError::Listen { .. } => "NetworkError",
            StartError::Table { .. } | StartError::State { .. } | StartError::Threads(_) => "StorageError",
            StartError::Entropy => "Error",
            _ => "MisuseError",
        };
        Fault::ours(class, error.to_string(), "serve", String::new())
    }
}

impl From<BenchError> for Fault {
    fn from(error: BenchError) -> Self {
        let class = match &error {
            BenchError::Scheme { why, .. } => core(why),
            BenchError::UnknownScheme { .. } | BenchError::Params { .. } | BenchError::Definition(_) => {
                "MisuseError"
            }
            BenchError::Storage(_) | BenchError::Image { .. } => "StorageError",
            _ => "Error",
        };
        Fault::ours(class, error.to_string(), "bench", String::new())
    }
}

/// The class of an error.
fn class(error: &ClientError) -> &'static str {
    match error.root() {
        ClientError::Core(error) | ClientError::Catalog(CatalogError::Params(error)) => core(error),
        ClientError::Unproven { .. } => "UnreadableError",
        ClientError::Transport(TransportError::Timeout(_)) => "TimeoutError",
        ClientError::Cache(_) | ClientError::State(_) | ClientError::Output(_) => "StorageError",
        other => match other.fault() {
            Whose::Caller => "MisuseError",
            Whose::Server => "PeerError",
            Whose::Network => "NetworkError",
            Whose::Machine => "Error",
        },
    }
}

fn core(error: &Error) -> &'static str {
    match error {
        Error::Params(_) => "ParamsError",
        Error::Misuse(Misuse::IndexPastEnd { .. }) => "RowError",
        Error::Misuse(_) | Error::Exhausted(_) | Error::Unserved => "MisuseError",
        Error::Peer(_) => "PeerError",
        Error::Unreadable => "UnreadableError",
        Error::Storage(_) => "StorageError",
        _ => "Error",
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        let (class, message, code, fix, cause) = match fault {
            Fault::Python(error) => return error,
            Fault::Ours { class, message, code, fix, cause } => (class, message, code, fix, cause),
        };
        Python::attach(|py| {
            let found = py.import(MODULE).and_then(|module| module.getattr(class));
            let class = found.and_then(|class| Ok(class.cast_into::<PyType>()?));
            let raised = match class {
                Ok(class) => PyErr::from_type(class, (message, code, fix)),
                Err(error) => error,
            };
            raised.set_cause(py, cause);
            raised
        })
    }
}

/// A table's name, as the caller gives it.
pub(crate) fn name(text: &str) -> Result<TableName, Fault> {
    text.parse()
        .map_err(|error: CatalogError| Fault::misuse(error.to_string(), "give a name of a-z, 0-9 and '-'"))
}

/// Does work without the interpreter's lock, so that other threads of Python go on. No panic leaves it.
pub(crate) fn work<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Fault> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(outcome) => Ok(outcome?),
        Err(panic) => Err(Fault::bug(panic.as_ref()).into()),
    }
}
