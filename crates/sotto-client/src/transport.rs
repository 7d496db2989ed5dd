//! How requests travel. A transport moves bytes; it decides nothing and interprets nothing.
//!
//! | module | contents |
//! |---|---|
//! | [`retry`] | the same bytes sent again, a bounded number of times (feature `cache`) |
//! | [`http`] | a server across the network (feature `http`) |
//! | [`intermediary`] | proxies and portals that answer in place of a server |
//! | [`endpoint`] | whether two addresses are one endpoint (feature `cache`) |
//!
//! Everything that a server can see of a client is a [`Request`] and the moment at which it
//! arrives. So a request has no headers of the caller: a transport adds a fixed set, the same for
//! every client.

#[cfg(feature = "cache")]
pub mod endpoint;
#[cfg(feature = "http")]
pub mod http;
pub mod intermediary;
#[cfg(feature = "cache")]
pub mod retry;

pub use crate::error::transport::TransportError;

use std::ops::Range;
use std::time::Duration;

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Fetches a resource that is the same for everyone.
    Get,
    /// Sends a frame.
    Post,
}

/// One complete request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Method of the request.
    pub method: Method,
    /// Path and query, beginning with the slash.
    pub path: String,
    /// Bytes of the resource to fetch; `None` for all.
    pub range: Option<Range<u64>>,
    /// Frame of a [`Method::Post`]; empty otherwise.
    pub body: Vec<u8>,
    /// Maximum bytes of a successful response. A transport reads no more.
    pub limit: u64,
}

impl Request {
    /// A request for a whole resource.
    pub fn get(path: String, limit: u64) -> Self {
        Request { method: Method::Get, path, range: None, body: Vec::new(), limit }
    }

    /// A request for a part of a resource.
    pub fn get_range(path: String, range: Range<u64>) -> Self {
        let limit = range.end.saturating_sub(range.start);
        Request { method: Method::Get, path, range: Some(range), body: Vec::new(), limit }
    }

    /// A request that sends a frame.
    pub fn post(path: String, body: Vec<u8>, limit: u64) -> Self {
        Request { method: Method::Post, path, range: None, body, limit }
    }
}

/// The response to a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Body of the response.
    pub body: Vec<u8>,
    /// Time after which a refused request may be sent again, if the server named one.
    pub retry_after: Option<Duration>,
    /// The `server-timing` header, as received.
    pub server_timing: Option<String>,
}

impl Response {
    /// A response without headers.
    pub fn new(status: u16, body: Vec<u8>) -> Self {
        Response { status, body, ..Response::default() }
    }

    /// Whether the request succeeded.
    pub fn is_success(&self) -> bool {
        matches!(self.status, 200 | 206)
    }
}

/// Sends requests to one server and returns its responses.
pub trait Transport: Send {
    /// Sends `request` and waits for its response. A refusal is a response, not an error.
    ///
    /// # Errors
    /// [`TransportError`] if no complete response of at most `request.limit` bytes arrived.
    fn call(&mut self, request: &Request) -> Result<Response, TransportError>;

    /// Sends `request`, and passes the body of a success to `take` as it arrives, in pieces of any
    /// size; the returned response then has no body. Once `take` returns `false`, no more is read.
    /// The body of a refusal is returned whole.
    ///
    /// # Errors
    /// As for [`Transport::call`]. What `take` received before is valid all the same.
    fn call_in_pieces(
        &mut self,
        request: &Request,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Response, TransportError> {
        let mut response = self.call(request)?;
        if response.is_success() {
            take(&std::mem::take(&mut response.body));
        }
        Ok(response)
    }

    /// The origin of the server, under which a cache stores its tables.
    fn origin(&self) -> String;

    /// How many times requests were sent again so far.
    fn retries(&self) -> u64 {
        0
    }
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        (**self).call(request)
    }

    fn call_in_pieces(
        &mut self,
        request: &Request,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Response, TransportError> {
        (**self).call_in_pieces(request, take)
    }

    fn origin(&self) -> String {
        (**self).origin()
    }

    fn retries(&self) -> u64 {
        (**self).retries()
    }
}

/// A transport that calls a closure for every request: for tests, for examples, and for a server
/// in the same process.
pub struct InProcessTransport<F> {
    handler: F,
}

impl<F> InProcessTransport<F>
where
    F: FnMut(&Request) -> Result<Response, TransportError> + Send,
{
    /// A transport to `handler`.
    pub fn new(handler: F) -> Self {
        InProcessTransport { handler }
    }
}

impl<F> Transport for InProcessTransport<F>
where
    F: FnMut(&Request) -> Result<Response, TransportError> + Send,
{
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        let response = (self.handler)(request)?;
        // A real transport refuses to read further, so this one must not be more lenient.
        if response.is_success() && response.body.len() as u64 > request.limit {
            return Err(TransportError::TooLarge { limit: request.limit });
        }
        Ok(response)
    }

    fn origin(&self) -> String {
        "memory:".to_owned()
    }
}
