//! Requests carried by a function of the caller: sotto then opens no connection itself.

use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sotto_client::transport::{Method, Request, Response, Transport, TransportError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The last exception of the caller's function, which becomes the cause of the raised exception.
#[derive(Clone, Default)]
pub(crate) struct RaisedError(Arc<Mutex<Option<PyErr>>>);

impl RaisedError {
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, error: PyErr) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

/// A function `(method, path, headers, body) -> (status, headers, body)`, and the name of the
/// server in the cache.
pub(crate) struct PyTransport {
    pub(crate) call: Py<PyAny>,
    pub(crate) origin: String,
    pub(crate) raised: RaisedError,
}

impl Transport for PyTransport {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        let outcome = Python::try_attach(|py| {
            self.send(py, request).map_err(|error| {
                let message = error.to_string();
                let is_late = error.is_instance_of::<PyTimeoutError>(py);
                self.raised.put(error);
                if is_late { TransportError::Timeout(message) } else { TransportError::Lost(message) }
            })
        });
        let response =
            outcome.ok_or_else(|| TransportError::Lost("Python is shutting down".to_owned()))??;
        if response.is_success() && response.body.len() as u64 > request.limit {
            return Err(TransportError::TooLarge { limit: request.limit });
        }
        Ok(response)
    }

    fn origin(&self) -> String {
        self.origin.clone()
    }
}

impl PyTransport {
    fn send(&self, py: Python<'_>, request: &Request) -> PyResult<Response> {
        let method = match request.method {
            Method::Get => "GET",
            Method::Post => "POST",
        };
        let headers = PyDict::new(py);
        if let Some(range) = &request.range {
            // HTTP ranges include the last byte.
            headers.set_item("range", format!("bytes={}-{}", range.start, range.end.saturating_sub(1)))?;
        }
        if request.method == Method::Post {
            headers.set_item("content-type", "application/octet-stream")?;
        }
        let body = PyBytes::new(py, &request.body);
        let answer = self.call.call1(py, (method, &request.path, headers, body))?;
        let (status, headers, body): (u16, Bound<'_, PyAny>, Bound<'_, PyAny>) = answer.extract(py)?;
        let body: Vec<u8> = match body.cast::<PyBytes>() {
            Ok(bytes) => bytes.as_bytes().to_vec(),
            Err(_) => body.extract()?,
        };
        let mut response = Response::new(status, body);
        // A mapping, or a sequence of pairs.
        let pairs = headers.call_method0("items").unwrap_or(headers);
        for pair in pairs.try_iter()? {
            let (name, value): (String, String) = pair?.extract()?;
            match name.to_ascii_lowercase().as_str() {
                "retry-after" => response.retry_after = value.trim().parse().ok().map(Duration::from_secs),
                "server-timing" => response.server_timing = Some(value),
                _ => {}
            }
        }
        Ok(response)
    }
}
