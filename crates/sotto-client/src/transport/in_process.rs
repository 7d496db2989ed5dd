//! A server that is a closure: for tests, for examples, and for a server in the same process.

use super::{Request, Response, Transport, TransportError};

/// A transport that calls a closure for every request.
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
