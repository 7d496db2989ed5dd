//! Errors as exceptions, by whose fault; and work that runs without the interpreter's lock.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyType;
use sotto_bench::BenchError;
use sotto_binding::{BindingError, ErrorKind, guarded};
use sotto_client::ClientError;
use sotto_db::DbError;
use sotto_plan::PlanError;
use sotto_server::StartError;

/// Name of the module with the package's exceptions.
const MODULE: &str = "sotto._errors";

/// An error that becomes a Python exception.
pub(crate) enum PyFault {
    /// An exception of the package, and the exception of a caller's function that caused it, if
    /// any.
    Ours(Box<BindingError>, Option<PyErr>),
    /// Another exception, passed through.
    Python(PyErr),
}

impl PyFault {
    /// An error that is the caller's fault.
    pub(crate) fn misuse(message: impl Into<String>, fix: impl Into<String>) -> Self {
        BindingError::misuse(message, fix).into()
    }

    /// Adds the exception of a caller's function as the cause, if there is one. An exception that
    /// ends a program is raised as it is.
    pub(crate) fn because(self, raised: Option<PyErr>) -> Self {
        let Some(raised) = raised else { return self };
        if !Python::attach(|py| raised.is_instance_of::<PyException>(py)) {
            return PyFault::Python(raised);
        }
        match self {
            PyFault::Ours(fault, _) => PyFault::Ours(fault, Some(raised)),
            other => other,
        }
    }
}

impl From<PyErr> for PyFault {
    fn from(error: PyErr) -> Self {
        PyFault::Python(error)
    }
}

impl From<BindingError> for PyFault {
    fn from(fault: BindingError) -> Self {
        PyFault::Ours(Box::new(fault), None)
    }
}

macro_rules! diagnosed {
    ($($error:ty),+) => {
        $(impl From<$error> for PyFault {
            fn from(error: $error) -> Self {
                BindingError::from(error).into()
            }
        })+
    };
}

diagnosed!(BenchError, ClientError, DbError, PlanError, StartError);

/// The name of the exception class of an error kind.
fn class(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Misuse => "MisuseError",
        ErrorKind::Row => "RowError",
        ErrorKind::Params => "ParamsError",
        ErrorKind::Peer => "PeerError",
        ErrorKind::Network => "NetworkError",
        ErrorKind::Timeout => "TimeoutError",
        ErrorKind::Storage => "StorageError",
        ErrorKind::Unreadable => "UnreadableError",
        ErrorKind::Machine => "Error",
    }
}

impl From<PyFault> for PyErr {
    fn from(fault: PyFault) -> Self {
        let (fault, cause) = match fault {
            PyFault::Python(error) => return error,
            PyFault::Ours(fault, cause) => (fault, cause),
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

/// Runs work without the interpreter's lock, so that other Python threads continue. Panics become
/// errors.
pub(crate) fn work<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, PyFault> + Send) -> PyResult<T> {
    Ok(py.detach(|| guarded(work))?)
}
