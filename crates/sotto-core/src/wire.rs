//! Messages whose size is fixed by the parameters, with total decoders.
//!
//! A length is never read from the wire: both sides compute it. So a receiver knows before the first
//! byte how much to accept, and every message of a kind has one size whatever it asks for.

use crate::{PeerMisbehaved, Result};

/// A message of a scheme with parameters `P`. *A decoded message is a valid message.*
pub trait Wire<P>: Sized {
    /// Exact encoded bytes under `params`.
    fn size(params: &P) -> usize;

    /// Appends exactly [`Wire::size`] bytes.
    fn put(&self, params: &P, out: &mut Vec<u8>);

    /// Decodes and validates.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for any byte string `put` cannot have made. Never panics, and never
    /// allocates more than a small multiple of [`Wire::size`].
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

/// Refuses a message of another length than `want`.
///
/// # Errors
/// [`PeerMisbehaved::Length`].
pub fn exact(what: &'static str, bytes: &[u8], want: usize) -> Result<()> {
    if bytes.len() == want {
        return Ok(());
    }
    Err(PeerMisbehaved::Length { what, got: bytes.len() as u64, want: want as u64 }.into())
}
