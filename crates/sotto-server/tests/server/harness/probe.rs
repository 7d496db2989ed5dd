//! A scheme that can be paused, observed, and made to panic.

use sotto_core::{
    AnyExpandedQuery, AnyHintServer, AnyServer, AnySession, AnyStreamServer, Result, UnitLayout,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

pub(crate) struct Probe {
    held: Mutex<bool>,
    held_orders: Mutex<bool>,
    freed: Condvar,
    order_freed: Condvar,
    batches: Mutex<Vec<usize>>,
    hint_requests: AtomicUsize,
    panics: AtomicBool,
}

impl Probe {
    pub(crate) fn new() -> Arc<Self> {
        let (held, held_orders, batches) = (Mutex::new(false), Mutex::new(false), Mutex::default());
        Arc::new(Probe {
            held,
            held_orders,
            freed: Condvar::new(),
            order_freed: Condvar::new(),
            batches,
            hint_requests: AtomicUsize::new(0),
            panics: AtomicBool::new(false),
        })
    }

    /// From now on, passes begin and do not end.
    pub(crate) fn hold(&self) {
        *self.held.lock().unwrap() = true;
    }

    pub(crate) fn release(&self) {
        *self.held.lock().unwrap() = false;
        self.freed.notify_all();
    }

    /// From now on, hint requests are begun and not answered.
    pub(crate) fn hold_hint_requests(&self) {
        *self.held_orders.lock().unwrap() = true;
    }

    pub(crate) fn release_hint_requests(&self) {
        *self.held_orders.lock().unwrap() = false;
        self.order_freed.notify_all();
    }

    /// The sizes of the passes so far.
    pub(crate) fn batches(&self) -> Vec<usize> {
        self.batches.lock().unwrap().clone()
    }

    /// The number of hint requests begun so far.
    pub(crate) fn hint_requests(&self) -> usize {
        self.hint_requests.load(Ordering::Relaxed)
    }

    pub(crate) fn panic_next(&self) {
        self.panics.store(true, Ordering::Relaxed);
    }
}

pub(crate) struct Probed {
    pub(crate) inner: Box<dyn AnyServer>,
    pub(crate) probe: Arc<Probe>,
}

impl AnyServer for Probed {
    fn keys_bytes(&self) -> usize {
        self.inner.keys_bytes()
    }
    fn query_bytes(&self) -> usize {
        self.inner.query_bytes()
    }
    fn answer_bytes(&self) -> usize {
        self.inner.answer_bytes()
    }
    fn session_bytes(&self) -> usize {
        self.inner.session_bytes()
    }
    fn admit(&self, keys: &[u8]) -> Result<AnySession> {
        self.inner.admit(keys)
    }
    fn answer_many(&self, queries: &[(&AnySession, &[u8])]) -> Vec<Result<Vec<u8>>> {
        self.probe.batches.lock().unwrap().push(queries.len());
        assert!(!self.probe.panics.swap(false, Ordering::Relaxed), "the test asked for a panic");
        let held = self.probe.held.lock().unwrap();
        drop(self.probe.freed.wait_while(held, |held| *held).unwrap());
        self.inner.answer_many(queries)
    }
    fn stream(&self) -> Option<&dyn AnyStreamServer> {
        self.inner.stream().map(|_| self as &dyn AnyStreamServer)
    }
    fn hint_server(&self) -> Option<&dyn AnyHintServer> {
        self.inner.hint_server().map(|_| self as &dyn AnyHintServer)
    }
}

impl AnyHintServer for Probed {
    fn hint_request_bytes(&self) -> usize {
        self.inner.hint_server().unwrap().hint_request_bytes()
    }
    fn hint_response_bytes(&self) -> usize {
        self.inner.hint_server().unwrap().hint_response_bytes()
    }
    fn answer_hint_request(&self, request: &[u8]) -> Result<Vec<u8>> {
        self.probe.hint_requests.fetch_add(1, Ordering::Relaxed);
        assert!(!self.probe.panics.swap(false, Ordering::Relaxed), "the test asked for a panic");
        let held = self.probe.held_orders.lock().unwrap();
        drop(self.probe.order_freed.wait_while(held, |held| *held).unwrap());
        self.inner.hint_server().unwrap().answer_hint_request(request)
    }
}

impl Probed {
    fn inner_stream(&self) -> &dyn AnyStreamServer {
        self.inner.stream().unwrap()
    }
}

impl AnyStreamServer for Probed {
    fn units(&self) -> UnitLayout {
        self.inner_stream().units()
    }
    fn prepare(&self, session: &AnySession, query: &[u8]) -> Result<AnyExpandedQuery> {
        self.inner_stream().prepare(session, query)
    }
    /// Steps of streams are recorded as batches of size 0.
    fn unit(&self, prepared: &AnyExpandedQuery, unit: u64) -> Result<Vec<u8>> {
        self.probe.batches.lock().unwrap().push(0);
        assert!(!self.probe.panics.swap(false, Ordering::Relaxed), "the test asked for a panic");
        let held = self.probe.held.lock().unwrap();
        drop(self.probe.freed.wait_while(held, |held| *held).unwrap());
        self.inner_stream().unit(prepared, unit)
    }
}
