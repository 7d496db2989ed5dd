//! Errors as exceptions, by whose fault; and work that is done without the interpreter's lock.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyType;
use sotto_bench::BenchError;
use sotto_binding::fault::core;
use sotto_binding::{Kind, guarded};
use sotto_catalog::CatalogError;
use sotto_client::ClientError;
use sotto_db::DbError;
use sotto_server::StartError;

/// The module of the package's exceptions.
const MODULE: &str = "sotto._errors";

/// Something went wrong.
pub(crate) enum Fault {
    /// An exception of the package, and what a function of the caller's raised, if it did.
    Ours(Box<sotto_binding::Fault>, Option<PyErr>),
    /// Another exception, as it is.
    Python(PyErr),
}

impl Fault {
    /// The caller's.
    pub(crate) fn misuse(message: impl Into<String>, fix: impl Into<String>) -> Self {
        sotto_binding::Fault::misuse(message, fix).into()
    }

    fn ours(kind: Kind, error: impl ToString, code: &str) -> Self {
        // What to do is in the message.
        sotto_binding::Fault::new(kind, code, error.to_string(), "").into()
    }

    /// The same, because of what a function of the caller's raised, if it did. What ends a program is raised as it is.
    pub(crate) fn because(self, raised: Option<PyErr>) -> Self {
        let Some(raised) = raised else { return self };
        if !Python::attach(|py| raised.is_instance_of::<PyException>(py)) {
            return Fault::Python(raised);
        }
        match self {
            Fault::Ours(fault, _) => Fault::Ours(fault, Some(raised)),
            other => other,
        }
    }
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Fault::Python(error)
    }
}

impl From<sotto_binding::Fault> for Fault {
    fn from(fault: sotto_binding::Fault) -> Self {
        Fault::Ours(Box::new(fault), None)
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        sotto_binding::Fault::from(error).into()
    }
}

impl From<DbError> for Fault {
    fn from(error: DbError) -> Self {
        let (class, code) = match &error {
            DbError::Scheme(error) => (core(error), "scheme"),
            DbError::Catalog(CatalogError::Params(error)) => (core(error), "bad-params"),
            DbError::Ingest(_) => (Kind::Misuse, "bad-data"),
            DbError::Io { .. } | DbError::DiskFull { .. } | DbError::Image { .. } | DbError::Part { .. } => {
                (Kind::Storage, "storage")
            }
            _ => (Kind::Misuse, "encode"),
        };
        Fault::ours(class, error, code)
    }
}

impl From<StartError> for Fault {
    fn from(error: StartError) -> Self {
        let class = match &error {
            StartError::InUse { .. } | StartError::Listen { .. } => Kind::Network,
            StartError::Table { .. } | StartError::State { .. } | StartError::Threads(_) => Kind::Storage,
            StartError::Entropy => Kind::Machine,
            _ => Kind::Misuse,
        };
        Fault::ours(class, error, "serve")
    }
}

impl From<BenchError> for Fault {
    fn from(error: BenchError) -> Self {
        let class = match &error {
            BenchError::Scheme { why, .. } => core(why),
            BenchError::UnknownScheme { .. } | BenchError::Params { .. } | BenchError::Definition(_) => {
                Kind::Misuse
            }
            BenchError::Storage(_) | BenchError::Image { .. } => Kind::Storage,
            _ => Kind::Machine,
        };
        Fault::ours(class, error, "bench")
    }
}

/// The name of an exception's class.
fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Misuse => "MisuseError",
        Kind::Row => "RowError",
        Kind::Params => "ParamsError",
        Kind::Peer => "PeerError",
        Kind::Network => "NetworkError",
        Kind::Timeout => "TimeoutError",
        Kind::Storage => "StorageError",
        Kind::Unreadable => "UnreadableError",
        Kind::Machine => "Error",
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        let (fault, cause) = match fault {
            Fault::Python(error) => return error,
            Fault::Ours(fault, cause) => (fault, cause),
        };
        Python::attach(|py| {
            let found = py.import(MODULE).and_then(|module| module.getattr(class(fault.kind)));
            let class = found.and_then(|class| Ok(class.cast_into::<PyType>()?));
            let raised = match class {
                Ok(class) => PyErr::from_type(class, (fault.message, fault.code, fault.fix)),
                Err(error) => error,
            };
            raised.set_cause(py, cause);
            raised
        })
    }
}

/// Does work without the interpreter's lock, so that other threads of Python go on. No panic leaves it.
pub(crate) fn work<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Fault> + Send) -> PyResult<T> {
    Ok(py.detach(|| guarded(work))?)
}
