//! A gate that holds rows back in the background, and a clock for tests.

use crate::table::pacing::{Clock, PauseReason, PreparationSignal};
use crate::transport::{Request, Response, Transport, TransportError};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// Limits the number of parts of the rows that may pass.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<(u64, u64)>, Condvar)>);

impl Gate {
    /// Lets `parts` more parts pass.
    pub(crate) fn open(&self, parts: u64) {
        self.0.0.lock().unwrap().0 += parts;
        self.0.1.notify_all();
    }

    /// Waits until one more part may pass.
    fn pass(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.1 += 1;
        self.0.1.notify_all();
        drop(self.0.1.wait_while(state, |(open, came)| *open < *came).unwrap());
    }

    /// Waits until `parts` parts have arrived at the gate.
    pub(crate) fn wait(&self, parts: u64) {
        drop(self.0.1.wait_while(self.0.0.lock().unwrap(), |(_, came)| *came < parts).unwrap());
    }
}

/// A transport whose rows wait at a gate.
pub(crate) struct Gated<T>(pub(crate) T, pub(crate) Gate);

impl<T: Transport> Transport for Gated<T> {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        if request.range.is_some() {
            self.1.pass();
        }
        self.0.call(request)
    }

    fn origin(&self) -> String {
        self.0.origin()
    }
}

/// A clock that advances by each pause.
#[derive(Clone, Default)]
pub(crate) struct Leaping(Arc<Mutex<Duration>>);

impl Clock for Leaping {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap()
    }

    fn pause(&self, time: Duration, _: PauseReason, _: &PreparationSignal) {
        *self.0.lock().unwrap() += time;
        thread::yield_now();
    }
}
