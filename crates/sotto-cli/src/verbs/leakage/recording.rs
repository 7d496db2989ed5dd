//! A transport that records what an observer of the network could see: which requests, in which
//! order, and the sizes of requests and responses, but not their contents.

use serde::Serialize;
use sotto_client::ClientError;
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Method, Request, Response, Transport, TransportError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// One request and its response, without their contents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Exchange {
    pub(super) request: String,
    pub(super) up_bytes: u64,
    pub(super) status: u16,
    pub(super) down_bytes: u64,
}

/// The exchanges on each connection, in order. The tables of a stack are queried at the same time,
/// so each has a connection of its own.
pub(super) type Transcript = BTreeMap<String, Vec<Exchange>>;

/// A recorder of exchanges, shared by connections.
#[derive(Debug, Clone, Default)]
pub(super) struct TranscriptRecorder(Arc<Mutex<Transcript>>);

impl TranscriptRecorder {
    /// The exchanges since the last call.
    pub(super) fn take(&self) -> Transcript {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, line: String, exchange: Exchange) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(line).or_default().push(exchange);
    }
}

/// A recorded connection to a server.
pub(super) struct RecordingTransport {
    http: HttpTransport,
    server: usize,
    apart: bool,
    notes: TranscriptRecorder,
}

impl RecordingTransport {
    /// Recorded connections to servers, in the order of their roles. With `apart`, each resource
    /// has an entry of its own.
    pub(super) fn all(
        urls: &[String],
        settings: &HttpSettings,
        apart: bool,
        notes: &TranscriptRecorder,
    ) -> Result<Vec<Box<dyn Transport>>, ClientError> {
        let each = urls.iter().enumerate().map(|(server, url)| {
            let http = HttpTransport::new(url, settings)?;
            Ok(Box::new(RecordingTransport { http, server, apart, notes: notes.clone() })
                as Box<dyn Transport>)
        });
        each.collect()
    }

    fn note(&self, request: &Request, status: u16, down_bytes: u64) {
        let method = match request.method {
            Method::Get => "GET",
            Method::Post => "POST",
        };
        let range = request.range.as_ref().map(|range| format!(" bytes {}-{}", range.start, range.end));
        let text = format!("{method} {}{}", request.path, range.unwrap_or_default());
        let path = request.path.split('?').next().unwrap_or_default();
        let line = if self.apart {
            format!("server {} {path}", self.server)
        } else {
            format!("server {}", self.server)
        };
        let up_bytes = request.body.len() as u64;
        self.notes.note(line, Exchange { request: text, up_bytes, status, down_bytes });
    }
}

impl Transport for RecordingTransport {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        let response = self.http.call(request)?;
        self.note(request, response.status, response.body.len() as u64);
        Ok(response)
    }

    fn call_in_pieces(
        &mut self,
        request: &Request,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Response, TransportError> {
        let mut down = 0;
        let response = self.http.call_in_pieces(request, &mut |piece| {
            down += piece.len() as u64;
            take(piece)
        })?;
        self.note(request, response.status, down + response.body.len() as u64);
        Ok(response)
    }

    fn origin(&self) -> String {
        self.http.origin()
    }

    fn retries(&self) -> u64 {
        self.http.retries()
    }
}
