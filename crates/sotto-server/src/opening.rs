//! Responses of a server that is still opening its tables: its ports answer from the first moment,
//! and report that it is not ready.

use crate::http_error::HttpError;
use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sotto_wire::{Code, Problem};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Seconds after which a client may try again.
const RETRY_AFTER: u64 = 1;

/// The progress of a server in opening its tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpeningProgress {
    /// Folder or file that is being opened.
    pub name: String,
    /// Number of that source, from 1.
    pub number: usize,
    /// Number of all sources.
    pub count: usize,
    /// Percentage of its image that is verified, once that has begun.
    pub percent: Option<u64>,
}

impl std::fmt::Display for OpeningProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let OpeningProgress { name, number, count, percent } = self;
        write!(f, "opening {name} ({number} of {count})")?;
        percent.map_or(Ok(()), |percent| write!(f, ", {percent} % of its image verified"))
    }
}

/// The progress of opening, shared between threads.
#[derive(Debug, Default)]
pub(crate) struct Opening(Mutex<OpeningProgress>);

impl Opening {
    /// Records that the next source is being opened.
    pub(crate) fn begin(&self, name: String, number: usize, count: usize) {
        *self.progress() = OpeningProgress { name, number, count, percent: None };
    }

    /// Records how much of an image is verified.
    pub(crate) fn read(&self, at: sotto_db::Progress) {
        self.progress().percent = Some(at.done.saturating_mul(100) / at.total.max(1));
    }

    /// The current progress.
    pub(crate) fn now(&self) -> OpeningProgress {
        self.progress().clone()
    }

    fn progress(&self) -> MutexGuard<'_, OpeningProgress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Routes for clients, which tell them to try again.
    pub(crate) fn public() -> Router {
        let not_yet = || async {
            HttpError::new(Code::NotReady, "the server is opening its tables").after(RETRY_AFTER)
        };
        Router::new().fallback(not_yet)
    }

    /// Routes for operators, which report that the server is alive, and its progress.
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
    HttpError::from(Problem::new(Code::NotReady, format!("not yet: {now}")))
        .after(RETRY_AFTER)
        .into_response()
}
