//! Messages whose size is fixed by the parameters, with total decoders.
//!
//! A length is never read from the wire: both sides compute it. So a receiver knows how much to
//! accept before the first byte arrives, and every message of a kind has the same size, whatever it
//! asks for.

use crate::{PeerMisbehaved, Result};

/// A message of a scheme with parameters `P`. A decoded message is always valid.
pub trait Wire<P>: Sized {
    /// Exact bytes of the encoding under `params`.
    fn size(params: &P) -> usize;

    /// Appends the encoding of exactly [`Wire::size`] bytes to `out`.
    fn put(&self, params: &P, out: &mut Vec<u8>);

    /// Decodes and validates a message.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for any byte string that `put` cannot have made. Never panics, and
    /// never allocates more than a small multiple of [`Wire::size`].
    fn take(params: &P, bytes: &[u8]) -> Result<Self>;
}

impl<P> Wire<P> for () {
    fn size(_: &P) -> usize {
        0
    }
    fn put(&self, _: &P, _: &mut Vec<u8>) {}
    fn take(_: &P, bytes: &[u8]) -> Result<Self> {
        exact("empty message", bytes, 0)
    }
}

/// Checks that a message has exactly `want` bytes.
///
/// ```
/// use sotto_core::{Error, wire};
///
/// assert!(wire::exact("session id", &[0; 16], 16).is_ok());
/// assert!(matches!(wire::exact("session id", &[0; 15], 16), Err(Error::Peer(_))));
/// ```
///
/// # Errors
/// [`PeerMisbehaved::Length`].
pub fn exact(what: &'static str, bytes: &[u8], want: usize) -> Result<()> {
    if bytes.len() == want {
        return Ok(());
    }
    Err(PeerMisbehaved::Length { what, got: bytes.len() as u64, want: want as u64 }.into())
}
