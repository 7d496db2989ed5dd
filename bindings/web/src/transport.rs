//! Requests sent by the worker, which blocks for each, and throws an error if no response
//! arrives.

use crate::host::{Thrown, thrown, with};
use sotto_client::transport::{Method, Request, Response, Transport, TransportError};
use std::time::Duration;

/// A transport to one server.
pub(crate) struct WorkerTransport {
    pub(crate) server: u32,
    pub(crate) origin: String,
}

impl Transport for WorkerTransport {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        let method = match request.method {
            Method::Get => "GET",
            Method::Post => "POST",
        };
        let range = request.range.clone().unwrap_or_default();
        let (first, end) = (range.start as f64, range.end as f64);
        let none = || Err(TransportError::Protocol("no worker for requests".to_owned()));
        let outcome = with(None, |host| {
            Some(host.request(
                self.server,
                method,
                &request.path,
                first,
                end,
                &request.body,
                request.limit as f64,
            ))
        });
        let answer = outcome.map_or_else(none, |outcome| {
            outcome.map_err(|error| self.failure(&thrown(error), request.limit))
        })?;
        Ok(Response {
            status: answer.status(),
            body: answer.body(),
            retry_after: answer
                .retry_after()
                .and_then(|seconds| seconds.trim().parse().ok())
                .map(Duration::from_secs),
            server_timing: answer.server_timing(),
        })
    }

    fn origin(&self) -> String {
        self.origin.clone()
    }
}

impl WorkerTransport {
    /// Turns a browser's error into a transport error. Browsers reveal little of requests, on
    /// purpose.
    fn failure(&self, error: &Thrown, limit: u64) -> TransportError {
        match error.name().as_str() {
            "TimeoutError" => TransportError::Timeout("the browser timed out".to_owned()),
            "TooLarge" => TransportError::TooLarge { limit },
            "Redirected" => TransportError::Protocol(format!("redirected to {}", error.message())),
            "NetworkError" => TransportError::Connect {
                origin: self.origin.clone(),
                why: "the browser gives no reason; a server of another origin must allow this page (--allow-origin)"
                    .to_owned(),
            },
            other => TransportError::Protocol(format!("{other}: {}", error.message())),
        }
    }
}
