//! A transport that calls the caller's function.

use sotto_client::transport::{Request, Response, Transport, TransportError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why no response arrived.
pub(crate) enum CallbackError {
    /// An error of the network.
    Transport(TransportError),
    /// The caller cancels the whole call.
    Cancelled,
}

/// The caller's functions: they send a request to one of the servers.
pub(crate) trait CallbackFns: Send + Sync {
    /// # Errors
    /// [`CallbackError`].
    fn call(&self, server: u32, request: &Request) -> Result<Response, CallbackError>;
}

/// A transport to one server.
pub(crate) struct CallbackTransport {
    pub(crate) server: u32,
    pub(crate) origin: String,
    pub(crate) callbacks: Arc<dyn CallbackFns>,
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl Transport for CallbackTransport {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        let response = self.callbacks.call(self.server, request).map_err(|failed| match failed {
            CallbackError::Transport(error) => error,
            // Not reported as a loss, which would be retried.
            CallbackError::Cancelled => {
                self.cancelled.store(true, Ordering::SeqCst);
                TransportError::Protocol("the call was cancelled".to_owned())
            }
        })?;
        if response.is_success() && response.body.len() as u64 > request.limit {
            return Err(TransportError::TooLarge { limit: request.limit });
        }
        Ok(response)
    }

    fn origin(&self) -> String {
        self.origin.clone()
    }
}
