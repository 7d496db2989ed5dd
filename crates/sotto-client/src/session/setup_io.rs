//! What a setup needs of its caller: requests carried, and perhaps a clock, stored bytes and stored
//! keys.

use super::artifacts::{FetchRange, LoadCached, RowsDownload};
use super::registered_keys::RegisteredKeys;
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, TableName};
use sotto_core::{Artifact, CryptoRng};

/// The caller of a setup: carries its requests, and may store what it fetches.
///
/// A setup calls these functions in order, and each blocks until it is done. A caller that cannot
/// block runs the setup in a thread, or in a worker as the browser's package does. Afterwards it
/// carries lookups as values: see [`Session`](super::Session).
pub trait SetupIo {
    /// Sends a request to a server, counted from 0, and returns its response.
    ///
    /// # Errors
    /// An error if no response arrived. A refusal is a response.
    fn call(&mut self, server: u8, purpose: RequestPurpose, request: &Request) -> Result<Response>;

    /// Randomness for a client's keys and hints.
    ///
    /// # Errors
    /// [`ClientError::NoEntropy`].
    fn rng(&mut self) -> Result<&mut dyn CryptoRng>;

    /// The current time in seconds since 1970. Without it no catalog has expired, and none has
    /// witnesses.
    fn now(&self) -> Option<u64> {
        None
    }

    /// Returns the bytes of a range that are stored: its first bytes, possibly none. They are
    /// verified.
    ///
    /// # Errors
    /// An error ends the setup.
    fn cached(&mut self, fetch: &FetchRange) -> Result<Vec<u8>> {
        let _ = fetch;
        Ok(Vec::new())
    }

    /// Takes verified bytes, with which the range begins.
    ///
    /// # Errors
    /// An error ends the setup.
    fn verified(&mut self, fetch: &FetchRange, bytes: &[u8], source: ByteSource) -> Result<()> {
        let _ = (fetch, bytes, source);
        Ok(())
    }

    /// Returns an artifact of an older epoch, if it is stored.
    ///
    /// # Errors
    /// An error ends the setup.
    fn older(&mut self, catalog: &Catalog, expected: &LoadCached) -> Result<Option<Vec<u8>>> {
        let _ = (catalog, expected);
        Ok(None)
    }

    /// Fetches all rows that are left of a table, by default one part after the other.
    ///
    /// # Errors
    /// An error ends the setup, which can be continued from there.
    fn rows(&mut self, rows: &mut RowsDownload<'_>) -> Result<()> {
        while let Some(fetch) = rows.next() {
            let response = self.call(0, RequestPurpose::Artifact(Artifact::Rows), &fetch.request)?;
            rows.take(&response)?;
        }
        Ok(())
    }

    /// Looks for registered keys, before others are registered, and passes them to `reuse`, which
    /// says whether they fit. Returns what it said.
    ///
    /// # Errors
    /// An error ends the setup.
    fn reuse_keys(
        &mut self,
        table: &TableName,
        reuse: &mut dyn FnMut(&RegisteredKeys) -> Result<bool>,
    ) -> Result<bool> {
        let _ = (table, reuse);
        Ok(false)
    }

    /// Reports that something arrived damaged, and was fetched again.
    fn repaired(&mut self, what: &'static str) {
        let _ = what;
    }

    /// Stores the evidence that an error is about, if it is about evidence against a publisher.
    /// `shown` is the document that led to the error.
    fn with_evidence(&self, error: ClientError, table: &TableName, shown: &[u8]) -> ClientError {
        let _ = (table, shown);
        error
    }
}

/// What a request of a setup is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPurpose {
    /// A catalog, or the proof that it is in its publisher's log.
    Catalog,
    /// A range of an artifact.
    Artifact(Artifact),
    /// The registration of keys.
    Keys,
}

/// Where verified bytes of an artifact came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteSource {
    /// From [`SetupIo::cached`].
    Cached,
    /// From the server.
    Fetched,
    /// From an older epoch's artifact and a delta.
    Patched,
}

/// A caller that carries requests by a function, and has neither a clock nor stored bytes.
pub struct RequestIo<'a, F> {
    send: F,
    rng: &'a mut dyn CryptoRng,
}

impl<'a, F: FnMut(u8, &Request) -> Result<Response>> RequestIo<'a, F> {
    /// Carries requests by `send`, which is called with the number of the server.
    pub fn new(rng: &'a mut dyn CryptoRng, send: F) -> Self {
        RequestIo { send, rng }
    }
}

impl<F: FnMut(u8, &Request) -> Result<Response>> SetupIo for RequestIo<'_, F> {
    fn call(&mut self, server: u8, _: RequestPurpose, request: &Request) -> Result<Response> {
        (self.send)(server, request)
    }

    fn rng(&mut self) -> Result<&mut dyn CryptoRng> {
        Ok(self.rng)
    }
}
