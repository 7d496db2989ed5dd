//! Fetching of parts by a thread, while the previous part is absorbed.

use super::{FetchedBody, RowFetcher};
use crate::transport::{Request, Transport, TransportError};
use crate::{ClientError, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Runs `work` with a fetcher that is stopped afterwards.
pub(super) fn fetching<T>(transport: &mut dyn Transport, work: impl FnOnce(&mut dyn RowFetcher) -> T) -> T {
    let stop = AtomicBool::new(false);
    let (orders, ordered) = sync_channel(1);
    let (bringing, brought) = sync_channel(1);
    thread::scope(|scope| {
        scope.spawn(|| fetch_all(transport, ordered, bringing, &stop));
        let mut beside = PrefetchThread { orders, brought };
        let outcome = work(&mut beside);
        // The fetcher ends as soon as it sees that nobody waits for it.
        stop.store(true, Ordering::Relaxed);
        drop(beside);
        outcome
    })
}

struct PrefetchThread {
    orders: SyncSender<Request>,
    brought: Receiver<FetchedBody>,
}

impl RowFetcher for PrefetchThread {
    fn order(&mut self, request: Request) -> Result<()> {
        self.orders.send(request).map_err(|_| gone())
    }

    fn bring(&mut self) -> Result<FetchedBody> {
        self.brought.recv().map_err(|_| gone())
    }
}

fn gone() -> ClientError {
    TransportError::Lost("the thread that fetches has ended".to_owned()).into()
}

fn fetch_all(
    transport: &mut dyn Transport,
    ordered: Receiver<Request>,
    bringing: SyncSender<FetchedBody>,
    stop: &AtomicBool,
) {
    for request in ordered {
        let mut body = Vec::new();
        let outcome = transport.call_in_pieces(&request, &mut |bytes| {
            body.extend_from_slice(bytes);
            !stop.load(Ordering::Relaxed)
        });
        if bringing.send(FetchedBody { body, outcome }).is_err() {
            return;
        }
    }
}
