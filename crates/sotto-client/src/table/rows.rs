//! All rows of a table, streamed to a client that is prepared from them.
//!
//! There may be many GiB, and a client may take longer over them than the network. So the next part
//! is fetched while the previous one is absorbed, nothing is written to disk, and at most two parts
//! are in memory. A broken connection costs the bytes of the chunk in which it broke. On platforms
//! without threads, a part is fetched when it is needed. What a client has absorbed is written to
//! disk at intervals, if its preparation can be resumed.

use crate::session::{FetchRange, RowsDownload};
use crate::state::metadata::RowsVersion;
use crate::state::preparation_file::NextClientFiles;
use crate::transport::{Request, Response, Transport, TransportError};
use crate::{ClientError, Result};
use fetcher::fetching;
use sotto_core::{AnyCheckpoint, Error, PeerMisbehaved};
use std::ops::Range;
use std::time::Duration;
use web_time::Instant;

/// Number of consecutive requests without any bytes after which a stream is given up. Transports
/// that retry by themselves multiply the attempts.
const FRUITLESS: u32 = 2;

/// Divisor of the rows' size that gives the bytes between two checkpoints.
const CHECKPOINT_PART: u64 = 16;
/// Time after which a checkpoint is made, however few bytes have arrived.
const CHECKPOINT_PERIOD: Duration = Duration::from_secs(60);

/// A part of the rows that was absorbed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedRows {
    /// Bytes that were received for the part.
    pub(crate) received: u64,
    /// Bytes of the rows absorbed so far, earlier processes included.
    pub(crate) done: u64,
    /// Bytes of all rows.
    pub(crate) total: u64,
}

/// Streams all rows that are left. `on_part` is called for each part once it was absorbed: it may
/// write a checkpoint, or take its time.
///
/// # Errors
/// [`ClientError`] for invalid bytes of the server; the transport's error, once no bytes arrive any
/// more; the error of `on_part`.
pub(crate) fn stream(
    transport: &mut dyn Transport,
    rows: &mut RowsDownload<'_>,
    on_part: &mut dyn FnMut(&RowsDownload<'_>, ReceivedRows) -> Result<()>,
) -> Result<()> {
    fetching(transport, |fetcher| take_all(rows, on_part, fetcher))
}

/// Fetches parts, in the order of their requests.
trait RowFetcher {
    /// Requests a part. At most one is on its way.
    fn request(&mut self, request: Request) -> Result<()>;
    /// The requested part, once it has arrived.
    fn receive(&mut self) -> Result<FetchedBody>;
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
        let expected = fetch.range.end - fetch.range.start;
        self.outcome.as_ref().is_ok_and(Response::is_success) && self.body.len() as u64 == expected
    }

    /// Passes on what arrived, chunk by chunk.
    fn take(self, fetch: &FetchRange, rows: &mut RowsDownload<'_>) -> Result<Option<InterruptedFetch>> {
        let is_whole = self.is_whole(fetch);
        let why = match self.outcome {
            Ok(response) if is_whole || !response.is_success() => {
                let body = if is_whole { self.body } else { response.body };
                return rows.take(&Response { body, ..response }).map(|()| None);
            }
            Ok(_) => TransportError::Lost("the response ended within a part".to_owned()),
            Err(error) if error.is_loss() || matches!(error, TransportError::Timeout(_)) => error,
            Err(error) => return Err(error.into()),
        };
        let chunk = rows.chunk_bytes();
        let taken = rows.take_first(&self.body)?;
        let left = (self.body.len() - taken) as u64;
        let at = fetch.range.start + taken as u64;
        if chunk.is_some_and(|chunk| left >= chunk.min(fetch.bytes - at) && left > 0) {
            return Err(Error::from(PeerMisbehaved::Digest(fetch.artifact.name())).into());
        }
        Ok(Some(InterruptedFetch { after_chunks: taken > 0, why: why.into() }))
    }
}

fn take_all(
    rows: &mut RowsDownload<'_>,
    on_part: &mut dyn FnMut(&RowsDownload<'_>, ReceivedRows) -> Result<()>,
    fetcher: &mut dyn RowFetcher,
) -> Result<()> {
    let mut on_its_way: Option<Range<u64>> = None;
    let mut fruitless = 0;
    while let Some(fetch) = rows.next() {
        if on_its_way.as_ref() != Some(&fetch.range) {
            // A part that was requested ahead, and is not the next one after an earlier part was
            // interrupted.
            if on_its_way.take().is_some() {
                drop(fetcher.receive()?);
            }
            fetcher.request(fetch.request.clone())?;
        }
        let part = fetcher.receive()?;
        on_its_way = match part.is_whole(&fetch) {
            true => match rows.upcoming() {
                Some(next) => fetcher.request(next.request).map(|()| Some(next.range))?,
                None => None,
            },
            false => None,
        };
        let received = part.body.len() as u64;
        fruitless = match part.take(&fetch, rows)? {
            None => 0,
            Some(interrupted) if interrupted.after_chunks => 0,
            Some(interrupted) if fruitless + 1 >= FRUITLESS => return Err(interrupted.why),
            Some(_) => fruitless + 1,
        };
        let done = rows.next().map_or(fetch.bytes, |next| next.range.start);
        on_part(rows, ReceivedRows { received, done, total: fetch.bytes })?;
    }
    Ok(())
}

/// Writes checkpoints of a preparation at intervals: often enough that little is lost with the
/// process, and rarely enough that writing costs little compared with receiving rows.
pub(crate) struct CheckpointTimer {
    files: NextClientFiles,
    /// Bytes of rows in the last checkpoint, and its time.
    last: (u64, Instant),
}

impl CheckpointTimer {
    /// Starts with the current progress of a preparation.
    pub(crate) fn new(files: NextClientFiles, rows: &RowsDownload<'_>) -> Self {
        let done = rows.checkpoint().map_or(0, AnyCheckpoint::absorbed_bytes);
        CheckpointTimer { files, last: (done, Instant::now()) }
    }

    /// Takes notice of a part that was absorbed, and writes a checkpoint if one is due.
    pub(crate) fn absorbed(&mut self, rows: &RowsDownload<'_>, part: ReceivedRows) -> Result<()> {
        let (done, at) = self.last;
        let due = part.done.saturating_sub(done) >= (part.total / CHECKPOINT_PART).max(1)
            || at.elapsed() >= CHECKPOINT_PERIOD;
        if due { self.write(rows) } else { Ok(()) }
    }

    /// Writes a checkpoint if the preparation has advanced since the last one.
    pub(crate) fn write(&mut self, rows: &RowsDownload<'_>) -> Result<()> {
        let Some(saved) = rows.checkpoint() else { return Ok(()) };
        if saved.absorbed_bytes() > self.last.0 {
            self.files.save(RowsVersion::of(rows.catalog()), saved)?;
            self.last.0 = saved.absorbed_bytes();
        }
        self.last.1 = Instant::now();
        Ok(())
    }
}

/// Fetching of parts by a thread, while the previous part is absorbed.
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
mod fetcher {
    use super::{FetchedBody, RowFetcher};
    use crate::transport::{Request, Transport, TransportError};
    use crate::{ClientError, Result};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
    use std::thread;

    /// Runs `work` with a fetcher that is stopped afterwards.
    pub(super) fn fetching<T>(
        transport: &mut dyn Transport,
        work: impl FnOnce(&mut dyn RowFetcher) -> T,
    ) -> T {
        let stop = AtomicBool::new(false);
        let (requests, requested) = sync_channel(1);
        let (bodies, received) = sync_channel(1);
        thread::scope(|scope| {
            scope.spawn(|| fetch_all(transport, requested, bodies, &stop));
            let mut prefetch = PrefetchThread { requests, received };
            let outcome = work(&mut prefetch);
            // The fetcher ends as soon as it sees that nobody waits for it.
            stop.store(true, Ordering::Relaxed);
            drop(prefetch);
            outcome
        })
    }

    struct PrefetchThread {
        requests: SyncSender<Request>,
        received: Receiver<FetchedBody>,
    }

    impl RowFetcher for PrefetchThread {
        fn request(&mut self, request: Request) -> Result<()> {
            self.requests.send(request).map_err(|_| thread_ended())
        }

        fn receive(&mut self) -> Result<FetchedBody> {
            self.received.recv().map_err(|_| thread_ended())
        }
    }

    fn thread_ended() -> ClientError {
        TransportError::Lost("the thread that fetches has ended".to_owned()).into()
    }

    fn fetch_all(
        transport: &mut dyn Transport,
        requested: Receiver<Request>,
        bodies: SyncSender<FetchedBody>,
        stop: &AtomicBool,
    ) {
        for request in requested {
            let mut body = Vec::new();
            let outcome = transport.call_in_pieces(&request, &mut |bytes| {
                body.extend_from_slice(bytes);
                !stop.load(Ordering::Relaxed)
            });
            if bodies.send(FetchedBody { body, outcome }).is_err() {
                return;
            }
        }
    }
}

/// Fetching of parts when they are needed, on platforms without threads.
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
mod fetcher {
    use super::{FetchedBody, RowFetcher};
    use crate::Result;
    use crate::transport::{Request, Transport};
    use sotto_core::{Error, Misuse};

    /// Runs `work` with a fetcher.
    pub(super) fn fetching<T>(
        transport: &mut dyn Transport,
        work: impl FnOnce(&mut dyn RowFetcher) -> T,
    ) -> T {
        work(&mut SequentialFetcher { transport, requested: None })
    }

    struct SequentialFetcher<'a> {
        transport: &'a mut dyn Transport,
        requested: Option<Request>,
    }

    impl RowFetcher for SequentialFetcher<'_> {
        fn request(&mut self, request: Request) -> Result<()> {
            self.requested = Some(request);
            Ok(())
        }

        fn receive(&mut self) -> Result<FetchedBody> {
            let request = self
                .requested
                .take()
                .ok_or(Error::from(Misuse::Rule("a part was read before it was requested")))?;
            let mut body = Vec::new();
            let outcome = self.transport.call_in_pieces(&request, &mut |bytes| {
                body.extend_from_slice(bytes);
                true
            });
            Ok(FetchedBody { body, outcome })
        }
    }
}
