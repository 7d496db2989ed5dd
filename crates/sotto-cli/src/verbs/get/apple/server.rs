//! A server of Apple's lookups, as a client reaches it: over a connection and, if the server requires
//! them, with a token for each request.

use super::connection::AppleConnection;
use super::tokens::Tokens;
use crate::failure::Result;
use sotto_client::transport::{Request, Response};
use sotto_core::CryptoRng;

/// Maximum bytes of an answer.
const MAX_BYTES: u64 = 256 << 20;

/// The connection to a server, and the tokens of its user.
pub(super) struct AppleServer {
    pub(super) connection: AppleConnection,
    pub(super) tokens: Option<Tokens>,
}

impl AppleServer {
    /// Sends a body, with a token if the user has some.
    pub(super) fn post(&mut self, path: &str, body: Vec<u8>, rng: &mut dyn CryptoRng) -> Result<Response> {
        let request = Request::post(path.to_owned(), body, MAX_BYTES);
        match &mut self.tokens {
            Some(tokens) => tokens.send(&mut self.connection, &request, rng),
            None => self.connection.call(None, &request, rng),
        }
    }

    /// Fetches a batch of tokens, whatever is left of the previous one. Returns how many arrived.
    pub(super) fn fetch_tokens(&mut self, rng: &mut dyn CryptoRng) -> Result<usize> {
        self.tokens.as_mut().map_or(Ok(0), |tokens| tokens.fetch(&mut self.connection, rng))
    }

    /// Fetches the next batch of tokens if few are left.
    pub(super) fn refill_tokens(&mut self, rng: &mut dyn CryptoRng) {
        if let Some(tokens) = &mut self.tokens {
            tokens.refill(&mut self.connection, rng);
        }
    }
}
