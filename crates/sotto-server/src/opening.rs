//! What a server says while it opens its tables: its ports answer from the first moment, and say that it is not ready.

use crate::refusal::Refusal;
use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sotto_wire::{Code, Problem};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Seconds until it is worth asking again.
const RETRY_AFTER: u64 = 1;

/// How far a server is with opening its tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpeningProgress {
    /// What is being opened: a folder or a file.
    pub name: String,
    /// Which of how many it is, from 1.
    pub number: usize,
    /// How many there are.
    pub count: usize,
    /// How much of its image is read through, in percent, once that has begun.
    pub percent: Option<u64>,
}

impl std::fmt::Display for OpeningProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let OpeningProgress { name, number, count, percent } = self;
        write!(f, "opening {name} ({number} of {count})")?;
        percent.map_or(Ok(()), |percent| write!(f, ", {percent} % of its image is read through"))
    }
}

/// Where a server notes how far it is.
#[derive(Debug, Default)]
pub(crate) struct Opening(Mutex<OpeningProgress>);

impl Opening {
    /// Notes that the next source is opened.
    pub(crate) fn begin(&self, name: String, number: usize, count: usize) {
        *self.progress() = OpeningProgress { name, number, count, percent: None };
    }

    /// Notes how much of an image is read.
    pub(crate) fn read(&self, at: sotto_db::Progress) {
        self.progress().percent = Some(at.done.saturating_mul(100) / at.total.max(1));
    }

    /// How far it is.
    pub(crate) fn now(&self) -> OpeningProgress {
        self.progress().clone()
    }

    fn progress(&self) -> MutexGuard<'_, OpeningProgress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What clients are told: to come again.
    pub(crate) fn public() -> Router {
        let not_yet =
            || async { Refusal::new(Code::NotReady, "the server opens its tables").after(RETRY_AFTER) };
        Router::new().fallback(not_yet)
    }

    /// What operators are told: that it is alive, and how far it is.
    pub(crate) fn admin(self: &Arc<Self>) -> Router {
        let opening = self.clone();
        let not_ready = move || {
            let now = opening.now();
            async move { not_yet(&now) }
        };
        Router::new().route("/healthz", get(|| async { "ok\n" })).fallback(not_ready)
    }
}

fn not_yet(now: &OpeningProgress) -> Response {
    Refusal::from(Problem::new(Code::NotReady, format!("not yet: {now}"))).after(RETRY_AFTER).into_response()
}
