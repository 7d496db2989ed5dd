//! All rows of a table, streamed to a client that is prepared from them.
//!
//! There may be many GiB, and a client may take longer over them than the network. So the next part
//! is fetched while the previous one is absorbed, nothing is written to disk, and at most two parts
//! are in memory. A broken connection costs the bytes of the chunk in which it broke. On platforms
//! without threads, a part is fetched when it is needed.

#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
mod prefetch;
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
mod sequential;

#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
use prefetch::fetching;
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
use sequential::fetching;

use super::preparation::checkpoints::CheckpointTimer;
use super::{Driver, Progress, Stage};
use crate::session::{Action, FetchRange, SessionSetup};
use crate::transport::{Request, Response, Transport, TransportError};
use crate::{ClientError, Result};
use sotto_core::{Artifact, CryptoRng, Error, PeerMisbehaved};
use std::ops::Range;

/// Number of consecutive requests without any bytes after which a stream is given up. Transports
/// that retry by themselves multiply the attempts.
const FRUITLESS: u32 = 2;

/// A part of the rows that was absorbed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedRows {
    /// Bytes that were received for the part.
    pub(crate) came: u64,
    /// Bytes of the rows absorbed so far, earlier processes included.
    pub(crate) done: u64,
    /// Bytes of all rows.
    pub(crate) total: u64,
}

impl Driver {
    /// Streams the rows that a setup needs.
    pub(super) fn stream_rows(&mut self, opening: &mut SessionSetup) -> Result<()> {
        let Driver { servers, ledger, stats, progress, rng, .. } = self;
        let mut notes =
            ledger.keeper().map(|keeper| CheckpointTimer::new(keeper.lease_preparation(), opening));
        stream(servers.first(), opening, rng.draw()?, &mut |opening, taken| {
            stats.artifacts.add(0, taken.came);
            notes.as_mut().map_or(Ok(()), |notes| notes.taken(opening, taken))?;
            let stage = Stage::Artifact(Artifact::Rows);
            progress.tell(Progress { stage, done: taken.done, total: taken.total });
            Ok(())
        })
    }
}

/// Streams rows into `opening` until it needs something else. `told` is called for each part once
/// it was absorbed: it may write a checkpoint, or take its time.
///
/// # Errors
/// [`ClientError`] for invalid bytes of the server; the transport's error, once no bytes arrive any
/// more; the error of `told`.
pub(crate) fn stream(
    transport: &mut dyn Transport,
    opening: &mut SessionSetup,
    rng: &mut dyn CryptoRng,
    told: &mut dyn FnMut(&SessionSetup, ReceivedRows) -> Result<()>,
) -> Result<()> {
    fetching(transport, |fetcher| take_all(opening, rng, told, fetcher))
}

/// Fetches parts, in the order of their requests.
trait RowFetcher {
    /// Requests a part. At most one is on its way.
    fn order(&mut self, request: Request) -> Result<()>;
    /// The requested part, once it has arrived.
    fn bring(&mut self) -> Result<FetchedBody>;
}

/// Result of a request.
struct FetchedBody {
    body: Vec<u8>,
    outcome: Result<Response, TransportError>,
}

/// A part that was interrupted, and can be fetched from that point on.
struct InterruptedFetch {
    /// Whether whole chunks arrived before.
    after_chunks: bool,
    why: ClientError,
}

impl FetchedBody {
    fn is_whole(&self, fetch: &FetchRange) -> bool {
        let wanted = fetch.range.end - fetch.range.start;
        self.outcome.as_ref().is_ok_and(Response::is_success) && self.body.len() as u64 == wanted
    }

    /// Passes what arrived to the setup, chunk by chunk.
    fn take(
        self,
        fetch: &FetchRange,
        opening: &mut SessionSetup,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<InterruptedFetch>> {
        let is_whole = self.is_whole(fetch);
        let why = match self.outcome {
            Ok(response) if is_whole || !response.is_success() => {
                let body = if is_whole { self.body } else { response.body };
                return opening.feed(&Response { body, ..response }, rng).map(|()| None);
            }
            Ok(_) => TransportError::Lost("it ended before the whole part was there".to_owned()),
            Err(error) if error.is_loss() || matches!(error, TransportError::Timeout(_)) => error,
            Err(error) => return Err(error.into()),
        };
        let taken = opening.offer_cached(&self.body)?;
        let left = (self.body.len() - taken) as u64;
        let entries = opening.catalog().map(|catalog| catalog.artifacts.as_slice()).unwrap_or_default();
        let chunk = entries.iter().find(|entry| entry.digest == fetch.digest).map(|entry| entry.chunk_bytes);
        let at = fetch.range.start + taken as u64;
        if chunk.is_some_and(|chunk| left >= chunk.min(fetch.bytes - at) && left > 0) {
            return Err(Error::from(PeerMisbehaved::Digest(fetch.artifact.name())).into());
        }
        Ok(Some(InterruptedFetch { after_chunks: taken > 0, why: why.into() }))
    }
}

fn take_all(
    opening: &mut SessionSetup,
    rng: &mut dyn CryptoRng,
    told: &mut dyn FnMut(&SessionSetup, ReceivedRows) -> Result<()>,
    fetcher: &mut dyn RowFetcher,
) -> Result<()> {
    let mut on_its_way: Option<Range<u64>> = None;
    let mut fruitless = 0;
    while let Action::Fetch(fetch) = opening.next()
        && fetch.artifact == Artifact::Rows
    {
        if on_its_way.as_ref() != Some(&fetch.range) {
            // A part that was requested ahead, and is not the next one after an earlier part was
            // interrupted.
            if on_its_way.take().is_some() {
                drop(fetcher.bring()?);
            }
            fetcher.order(fetch.request.clone())?;
        }
        let part = fetcher.bring()?;
        on_its_way = match part.is_whole(&fetch) {
            true => match opening.ahead() {
                Some(ahead) => fetcher.order(ahead.request).map(|()| Some(ahead.range))?,
                None => None,
            },
            false => None,
        };
        let came = part.body.len() as u64;
        fruitless = match part.take(&fetch, opening, rng)? {
            None => 0,
            Some(broken) if broken.after_chunks => 0,
            Some(broken) if fruitless + 1 >= FRUITLESS => return Err(broken.why),
            Some(_) => fruitless + 1,
        };
        let done = match opening.next() {
            Action::Fetch(next) if next.artifact == Artifact::Rows => next.range.start,
            _ => fetch.bytes,
        };
        told(opening, ReceivedRows { came, done, total: fetch.bytes })?;
    }
    Ok(())
}
