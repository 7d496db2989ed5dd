//! What every route uses of a server, its own and those of extensions: bodies, memory, threads, the
//! queue, limits and metrics.

use crate::body::BodyReader;
use crate::client::Peer;
use crate::http_error::HttpError;
use crate::limits::Limits;
use crate::limits::slots::{BodyMemory, Permit};
use crate::low_priority::LowPriorityPool;
use crate::metrics::ServerMetrics;
use crate::scheduler::{Scheduler, StepWork};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Response, header};
use sotto_wire::{ProblemCode, routes};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the routes use of a server.
pub struct Host {
    pub(crate) scheduler: Scheduler,
    /// Low-priority threads, which expand keys.
    pub(crate) low_priority: LowPriorityPool,
    pub(crate) metrics: Arc<ServerMetrics>,
    pub(crate) limits: Limits,
    pub(crate) read_timeout: Duration,
    pub(crate) stopping: AtomicBool,
}

impl Host {
    /// Checks that new work is accepted.
    ///
    /// # Errors
    /// [`ProblemCode::ShuttingDown`].
    pub(crate) fn check_working(&self) -> Result<(), ProblemCode> {
        if self.stopping.load(Ordering::Relaxed) { Err(ProblemCode::ShuttingDown) } else { Ok(()) }
    }

    /// The sender of a request, and a reader of its body of at most `limit` bytes, of which nothing
    /// is read yet.
    ///
    /// # Errors
    /// [`ProblemCode::TooLarge`] for a body that announces more.
    pub fn open_body(&self, request: Request, limit: u64) -> Result<(Peer, BodyReader), HttpError> {
        let (parts, body) = request.into_parts();
        let peer = *parts.extensions.get::<Peer>().ok_or(ProblemCode::Internal)?;
        let memory = self.limits.memory.none(peer);
        Ok((peer, BodyReader::new(body, &parts.headers, limit, self.read_timeout, memory)?))
    }

    /// Reads the body of a request, of at most `limit` bytes, and counts it. Returns it with the
    /// sender and the memory permit.
    ///
    /// # Errors
    /// The errors of [`BodyReader::whole`]; [`ProblemCode::ShuttingDown`].
    pub async fn read_body(
        &self,
        request: Request,
        limit: u64,
    ) -> Result<(Peer, Vec<u8>, Permit), HttpError> {
        let (peer, mut reader) = self.open_body(request, limit)?;
        let read = match self.check_working() {
            Ok(()) => reader.whole().await,
            Err(code) => Err(code.into()),
        };
        let (body, memory) = reader.end(read).await?;
        self.metrics.request_bytes.inc_by(body.len() as u64);
        Ok((peer, body, memory))
    }

    /// Low-priority threads, which yield to the passes.
    pub fn low_priority(&self) -> &LowPriorityPool {
        &self.low_priority
    }

    /// Takes `bytes` bytes of memory for a client, also during a shutdown: an answer that is made
    /// is sent.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`], [`ProblemCode::TooLarge`].
    pub fn take_memory(&self, peer: Peer, bytes: u64) -> Result<Permit, HttpError> {
        self.limits.memory.take(peer, bytes)
    }

    /// Checks that a client has some of the server's time left.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`].
    pub fn check_budget(&self, peer: Peer) -> Result<(), HttpError> {
        self.limits.budget.check(peer, Instant::now())
    }

    /// Counts evaluations of symmetric tables that are about to be made for a client, all of them or
    /// none. Blocks on the disk.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`].
    pub fn count_evaluations(&self, peer: Peer, count: u64) -> Result<(), HttpError> {
        self.limits.evaluations.take(peer, count, Instant::now())
    }

    /// Queues work in steps, which take turns with the passes.
    ///
    /// # Errors
    /// [`ProblemCode::Busy`], [`ProblemCode::ShuttingDown`].
    pub fn submit_steps(&self, steps: Box<dyn StepWork>) -> Result<(), ProblemCode> {
        self.scheduler.submit_steps(steps)
    }

    /// Counts a request that no route of the server has counted, and the bytes of its response.
    pub fn count_request(&self, route: &'static str, outcome: &'static str, bytes: usize) {
        self.metrics.request(route, outcome);
        self.metrics.response_bytes.inc_by(bytes as u64);
    }
}

/// Marks a request that came inside another one, which counts the bytes of its response.
#[derive(Debug, Clone, Copy)]
pub struct Nested;

/// A response, or why there is none.
pub type HttpResult = Result<Response<Body>, HttpError>;

/// A response of this media type, which caches keep as `cached` says.
pub fn response(body: impl Into<Body>, kind: &'static str, cached: &'static str) -> Response<Body> {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cached));
    response
}

/// A response that is for its client alone.
pub fn octets(body: impl Into<Body>) -> Response<Body> {
    response(body, routes::OCTETS, "no-store")
}

/// A response that holds the memory of its body until it is sent.
pub fn holding(mut response: Response<Body>, memory: Permit) -> Response<Body> {
    response.extensions_mut().insert(BodyMemory::Taken(Arc::new(memory)));
    response
}

/// A response whose body is in memory whether it is sent or not.
pub(crate) fn shared(mut response: Response<Body>) -> Response<Body> {
    response.extensions_mut().insert(BodyMemory::Shared);
    response
}
