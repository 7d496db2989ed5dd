//! Sockets, TLS, connections, graceful shutdown.

mod connections;
mod response_body;
mod tls;
mod write_timeout;

use crate::client::Peer;
use crate::config::SendRate;
use crate::http_error::HttpError;
use crate::limits::slots::{BodyMemory, Slots};
use crate::{ServerConfig, StartError};
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::response::IntoResponse;
use connections::{ConnectionState, Connections};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::gauge::Gauge;
use response_body::{ResponseBody, StreamExecutor};
use sotto_wire::ProblemCode;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use write_timeout::WriteTimeout;

pub use tls::SelfSignedCertificate;
pub(crate) use tls::{acceptor, own as own_acceptor};

/// Maximum number of concurrent requests of one HTTP/2 connection. A client with more opens more
/// connections, which are counted.
const MAX_CONCURRENT_STREAMS: u32 = 32;

/// Size in bytes up to which a body is not counted: it takes no more than the buffers of its
/// connection.
const SMALL_BODY: u64 = 4096;

/// Binds an address, and names the setting to change if that fails.
pub(crate) async fn bind(address: SocketAddr, key: &'static str) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::InUse { address, key },
        _ => StartError::Listen { address, key, source },
    })
}

/// Waits until a shutdown begins.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the server no longer exists, which is a reason to stop too.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// A port and the routes it serves.
pub(crate) struct PortServer {
    pub(crate) listener: TcpListener,
    pub(crate) routes: Routes,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) max_connections: usize,
    /// Maximum number of connections of one network.
    pub(crate) connections_per_client: usize,
    /// Addresses without such a maximum, since many clients use them.
    pub(crate) relays: Vec<Peer>,
    pub(crate) idle_timeout: Duration,
    /// Slowest rate at which responses may be read.
    pub(crate) rate: SendRate,
    /// Memory budget of responses, on the public port.
    pub(crate) memory: Option<Arc<Slots>>,
    /// Gauge of open connections, on the public port.
    pub(crate) connections: Option<Gauge>,
}

/// The routes of a port: one router until the server has opened its tables, and another from then
/// on.
#[derive(Clone)]
pub(crate) struct Routes {
    opening: Router,
    open: Arc<OnceLock<Router>>,
}

impl Routes {
    pub(crate) fn new(opening: Router) -> Self {
        Routes { opening, open: Arc::default() }
    }

    /// Answers with these routes from now on.
    pub(crate) fn open(&self, routes: Router) {
        let _ = self.open.set(routes);
    }

    fn now(&self) -> Router {
        self.open.get().unwrap_or(&self.opening).clone()
    }
}

impl PortServer {
    /// The public port of a configuration.
    pub(crate) fn new(listener: TcpListener, routes: Routes, config: &ServerConfig) -> Self {
        PortServer {
            listener,
            routes,
            tls: None,
            max_connections: config.max_connections,
            connections_per_client: config.connections_per_client,
            relays: Vec::new(),
            idle_timeout: config.idle_timeout(),
            rate: config.send_rate(),
            memory: None,
            connections: None,
        }
    }

    /// Serves until `stop` becomes true; then closes the port, lets requests in flight finish for
    /// at most `drain`, and closes the remaining connections. Returns how many those were.
    pub(crate) async fn serve(self, mut stop: watch::Receiver<bool>, drain: Duration) -> usize {
        let connections = Connections::new(
            self.max_connections,
            self.connections_per_client,
            &self.relays,
            self.connections.clone(),
        );
        let mut open = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stopped(&mut stop) => break,
            };
            while open.try_join_next().is_some() {}
            match accepted {
                Ok((stream, peer)) => {
                    let peer = Peer(peer.ip());
                    // Without a guard, the stream is dropped, and so the connection is closed.
                    if let Some(guard) = connections.enter(peer) {
                        let connection = self.connection(stream, peer, guard.state.clone(), stop.clone());
                        open.spawn(async move {
                            tokio::select! {
                                () = connection => {}
                                () = guard.state.wait_for_eviction() => tracing::debug!("an idle connection was \
                                     closed to make room"),
                            }
                        });
                    }
                }
                Err(error) => {
                    // Most likely the process is out of file descriptors: give connections time to
                    // end.
                    tracing::warn!(%error, "a connection could not be accepted");
                    connections.close_one_idle();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(self.listener);
        let drained = tokio::time::timeout(drain, async { while open.join_next().await.is_some() {} }).await;
        let left = if drained.is_ok() { 0 } else { open.len() };
        open.shutdown().await;
        left
    }

    fn connection(
        &self,
        stream: TcpStream,
        peer: Peer,
        state: Arc<ConnectionState>,
        stop: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (tls, rate, timeout) = (self.tls.clone(), self.rate, self.idle_timeout);
        let connection = Arc::new(Connection {
            peer,
            state,
            routes: self.routes.clone(),
            memory: self.memory.clone(),
            timeout,
            rate,
            requests: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        async move {
            // An answer is one write; waiting to fill a packet would only add to its latency.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY could not be set");
            }
            let stream = WriteTimeout::new(stream, rate);
            match tls {
                None => connection.serve(Box::new(stream), stop).await,
                Some(tls) => match tokio::time::timeout(timeout, tls.accept(stream)).await {
                    Ok(Ok(stream)) => connection.serve(Box::new(stream), stop).await,
                    Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                    Err(_) => tracing::debug!("a TLS handshake took too long"),
                },
            }
        }
    }
}

/// A socket, with TLS or without. One type for both: HTTP is compiled once.
trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for S {}

/// State for serving one connection.
struct Connection {
    peer: Peer,
    state: Arc<ConnectionState>,
    routes: Routes,
    /// Memory budget of responses, on the public port.
    memory: Option<Arc<Slots>>,
    timeout: Duration,
    rate: SendRate,
    /// Number of requests so far.
    requests: AtomicU64,
    /// Whether no more requests are accepted.
    is_over: AtomicBool,
}

impl Connection {
    /// Answers a request. The memory of its response is held until that is sent.
    async fn respond(
        self: Arc<Self>,
        mut request: hyper::Request<Incoming>,
    ) -> hyper::Response<ResponseBody> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let busy = self.state.busy();
        let mut response = match self.is_over.load(Ordering::Relaxed) {
            true => HttpError::from(ProblemCode::ShuttingDown).into_response(),
            false => {
                request.extensions_mut().insert(self.peer);
                let service = TowerToHyperService::new(self.routes.now());
                service.call(request).await.unwrap_or_else(|never| match never {})
            }
        };
        let memory = response.extensions_mut().remove::<BodyMemory>();
        let memory = match memory {
            Some(memory) => Some(memory),
            None => match self.memory_of(response.body()) {
                Ok(memory) => memory,
                Err(refusal) => {
                    response = refusal.into_response();
                    None
                }
            },
        };
        response.map(|body| ResponseBody::new(body, memory, busy, self.rate))
    }

    /// Takes memory for a body whose route took none. A small one takes no more than its connection
    /// does anyway.
    fn memory_of(&self, body: &Body) -> Result<Option<BodyMemory>, HttpError> {
        let size = body.size_hint();
        let bytes = size.upper().unwrap_or(size.lower());
        match &self.memory {
            Some(memory) if bytes > SMALL_BODY => {
                let taken = memory.take(self.peer, bytes)?;
                Ok(Some(BodyMemory::Taken(Arc::new(taken))))
            }
            _ => Ok(None),
        }
    }

    /// Serves one connection, HTTP/1.1 or HTTP/2 by its first bytes, until it ends. When it is
    /// asked to stop, or receives no new request for too long, it finishes the requests in flight.
    async fn serve(self: Arc<Self>, stream: Box<dyn ByteStream>, mut stop: watch::Receiver<bool>) {
        let timeout = self.timeout;
        let mut builder = auto::Builder::new(StreamExecutor);
        builder.http1().timer(TokioTimer::new()).header_read_timeout(timeout);
        let mut http2 = builder.http2();
        http2.timer(TokioTimer::new()).keep_alive_interval(timeout).keep_alive_timeout(timeout);
        http2.max_concurrent_streams(MAX_CONCURRENT_STREAMS);
        let service = service_fn({
            let own = self.clone();
            move |request| {
                let response = own.clone().respond(request);
                async move { Ok::<_, Infallible>(response.await) }
            }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => Some(ended),
            () = stopped(&mut stop) => None,
            () = quiet(&self.requests, timeout) => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection.as_mut() => ended,
                    () = self.finished() => return tracing::debug!("a draining connection is cut off"),
                }
            }
        };
        if let Err(error) = ended {
            // Clients hang up all the time; this matters only for debugging.
            tracing::debug!(%error, "a connection ended early");
        }
    }

    /// Waits until a connection that was asked to end has had time for it: requests in progress are
    /// finished, each response in its own time, and later ones are refused after a while.
    async fn finished(&self) {
        tokio::time::sleep(self.timeout).await;
        self.is_over.store(true, Ordering::Relaxed);
        while self.state.is_busy() {
            tokio::time::sleep(self.timeout.min(Duration::from_secs(1))).await;
        }
    }
}

/// Waits until a whole `timeout` passes without a new request. The timers of hyper leave two gaps:
/// they start only when the first bytes have told one HTTP version from the other, and an HTTP/2
/// client that answers pings counts as alive for ever. Such a connection would take a place from
/// clients with requests.
async fn quiet(requests: &AtomicU64, timeout: Duration) {
    let mut before = 0;
    loop {
        tokio::time::sleep(timeout).await;
        let now = requests.load(Ordering::Relaxed);
        if now == before {
            return;
        }
        before = now;
    }
}
