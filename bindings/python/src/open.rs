//! Opening a table: which key to trust, where to store files.

use crate::fault::{PyFault, work};
use crate::table::Table;
use crate::transport::{PyTransport, RaisedError};
use pyo3::prelude::*;
use sotto_binding::{Listener, Options, Servers};
use sotto_client::transport::Transport;
use std::sync::Arc;

/// Opens a table, or a stack if there is no table of that name: at addresses, or over functions that send requests.
#[pyfunction]
pub(crate) fn connect(
    py: Python<'_>,
    urls: Vec<String>,
    table: String,
    transports: Vec<Py<PyAny>>,
    options: Options,
    progress: Option<Py<PyAny>>,
) -> PyResult<Table> {
    let raised = RaisedError::default();
    let servers = match transports.is_empty() {
        true => Servers::Urls(urls),
        false => callbacks(urls, transports, raised.clone()),
    };
    let opened = work(py, || {
        let listener = progress.map(|listener| Arc::new(PyListener(listener)) as Arc<dyn Listener>);
        let opened = sotto_binding::open(&servers, &table, options, listener);
        opened.map_err(|fault| PyFault::from(fault).because(raised.take()))
    })?;
    Ok(Table::new(opened, raised))
}

/// Servers that are reached by the caller's functions.
fn callbacks(urls: Vec<String>, calls: Vec<Py<PyAny>>, raised: RaisedError) -> Servers {
    Servers::Custom(Arc::new(move || {
        let calls: Vec<_> = Python::attach(|py| calls.iter().map(|call| call.clone_ref(py)).collect());
        let each = (0..).zip(calls).map(|(server, call)| {
            let origin = urls.get(server).cloned().unwrap_or_else(|| format!("carried:{server}"));
            Box::new(PyTransport { call, origin, raised: raised.clone() }) as Box<dyn Transport>
        });
        each.collect()
    }))
}

/// A function that receives progress. Its exceptions are printed, and stop nothing.
struct PyListener(Py<PyAny>);

impl Listener for PyListener {
    fn progress(&self, stage: &'static str, done: u64, total: u64) {
        Python::try_attach(|py| {
            if let Err(error) = self.0.call1(py, (stage, done, total)) {
                error.write_unraisable(py, Some(self.0.bind(py)));
            }
        });
    }
}
