//! Sockets, TLS, connections, graceful shutdown.

mod connections;
mod response_body;
mod self_signed;
mod send_time;
mod tls;
mod write_timeout;

use crate::memory::{BodyMemory, MemoryBudget};
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::sessions::Peer;
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
use response_body::{ResponseBody, StreamExecutor};
pub(crate) use send_time::SendRate;
use sotto_wire::Code;
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

pub use self_signed::SelfSignedCertificate;
pub(crate) use tls::{acceptor, own as own_acceptor};

/// Requests that one HTTP/2 connection may have under way. Whoever has more opens more connections, which are counted.
const MAX_CONCURRENT_STREAMS: u32 = 32;

/// A body of so many bytes is not counted: it takes no more than the buffers of its connection.
const SMALL_BODY: u64 = 4096;

/// Binds, and says which setting to change if that fails.
pub(crate) async fn bind(address: SocketAddr, key: &'static str) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::InUse { address, key },
        _ => StartError::Listen { address, key, source },
    })
}

/// Waits until a shutdown begins.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the server is gone altogether, which is a reason to stop too.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// A port and what it serves.
pub(crate) struct PortServer {
    pub(crate) listener: TcpListener,
    pub(crate) routes: Routes,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) max_connections: usize,
    /// Of one network.
    pub(crate) connections_per_client: usize,
    /// Who may have any number, since many ask by way of them.
    pub(crate) relays: Vec<Peer>,
    pub(crate) idle_timeout: Duration,
    /// The slowest that responses may be read.
    pub(crate) rate: SendRate,
    /// Where the memory of responses is counted, on the public door.
    pub(crate) memory: Option<Arc<MemoryBudget>>,
    /// Counts connections, on the public door.
    pub(crate) metrics: Option<Arc<Metrics>>,
}

/// What a port answers: until the server has opened its tables, and from then on.
#[derive(Clone)]
pub(crate) struct Routes {
    opening: Router,
    open: Arc<OnceLock<Router>>,
}

impl Routes {
    pub(crate) fn new(opening: Router) -> Self {
        Routes { opening, open: Arc::default() }
    }

    /// From now on answers these.
    pub(crate) fn open(&self, routes: Router) {
        let _ = self.open.set(routes);
    }

    fn now(&self) -> Router {
        self.open.get().unwrap_or(&self.opening).clone()
    }
}

impl PortServer {
    /// The public door of a configuration.
    pub(crate) fn new(listener: TcpListener, routes: Routes, config: &ServerConfig) -> Self {
        PortServer {
            listener,
            routes,
            tls: None,
            max_connections: config.max_connections,
            connections_per_client: config.connections_per_client,
            relays: config.ohttp.iter().flat_map(|gateway| &gateway.relays).map(|at| Peer(*at)).collect(),
            idle_timeout: config.idle_timeout(),
            rate: config.send_rate(),
            memory: None,
            metrics: None,
        }
    }

    /// Serves until `stop` turns true; then closes the port, lets requests in flight finish for at most
    /// `drain`, and cuts off what is left. Gives how many connections were cut off.
    pub(crate) async fn serve(self, mut stop: watch::Receiver<bool>, drain: Duration) -> usize {
        let most = (self.max_connections, self.connections_per_client);
        let crowd = Connections::new(most, &self.relays, self.metrics.clone());
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
                    // Without room the stream is dropped, and so the connection is closed.
                    if let Some(connected) = crowd.enter(peer) {
                        let connection = self.connection(stream, peer, connected.seat.clone(), stop.clone());
                        open.spawn(async move {
                            tokio::select! {
                                () = connection => {}
                                () = connected.seat.wait_for_eviction() => tracing::debug!("an idle connection gave way"),
                            }
                        });
                    }
                }
                Err(error) => {
                    // Out of file descriptors, most likely: give connections time to end.
                    tracing::warn!(%error, "a connection could not be accepted");
                    crowd.close_one_idle();
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
        seat: Arc<ConnectionState>,
        stop: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (tls, rate, timeout) = (self.tls.clone(), self.rate, self.idle_timeout);
        let connection = Arc::new(Connection {
            peer,
            seat,
            routes: self.routes.clone(),
            memory: self.memory.clone(),
            timeout,
            rate,
            requests: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        async move {
            // An answer is one write; waiting to fill a packet would only add to its time.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "no TCP_NODELAY");
            }
            let stream = WriteTimeout::new(stream, rate);
            match tls {
                None => connection.serve(stream, stop).await,
                Some(tls) => match tokio::time::timeout(timeout, tls.accept(stream)).await {
                    Ok(Ok(stream)) => connection.serve(stream, stop).await,
                    Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                    Err(_) => tracing::debug!("a TLS handshake took too long"),
                },
            }
        }
    }
}

/// What serving one connection takes.
struct Connection {
    peer: Peer,
    seat: Arc<ConnectionState>,
    routes: Routes,
    /// Where the memory of responses is counted, on the public door.
    memory: Option<Arc<MemoryBudget>>,
    timeout: Duration,
    rate: SendRate,
    /// Requests so far.
    requests: AtomicU64,
    /// Whether no request is taken any more.
    is_over: AtomicBool,
}

impl Connection {
    /// Answers a request. The memory of its response is held until that is sent.
    async fn respond(
        self: Arc<Self>,
        mut request: hyper::Request<Incoming>,
    ) -> hyper::Response<ResponseBody> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let busy = self.seat.busy();
        let mut response = match self.is_over.load(Ordering::Relaxed) {
            true => Refusal::of(Code::ShuttingDown).into_response(),
            false => {
                request.extensions_mut().insert(self.peer);
                let service = TowerToHyperService::new(self.routes.now());
                service.call(request).await.unwrap_or_else(|never| match never {})
            }
        };
        let memory = response.extensions_mut().remove::<BodyMemory>();
        let memory = match memory {
            Some(memory) => Some(memory),
            None => match self.room_of(response.body()) {
                Ok(room) => room,
                Err(refusal) => {
                    response = refusal.into_response();
                    None
                }
            },
        };
        response.map(|body| ResponseBody::new(body, memory, busy, self.rate))
    }

    /// Takes memory for a body whose route took none. A small one takes no more than its connection does anyway.
    fn room_of(&self, body: &Body) -> Result<Option<BodyMemory>, Refusal> {
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

    /// Serves one connection, HTTP/1.1 or HTTP/2 by its first bytes, until it ends; asked to stop, or left without
    /// a new request for too long, lets the requests in flight finish.
    async fn serve(
        self: Arc<Self>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        mut stop: watch::Receiver<bool>,
    ) {
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
                    () = self.finished() => return tracing::debug!("a connection that was to end is cut off"),
                }
            }
        };
        if let Err(error) = ended {
            // Clients hang up all the time; this is of interest only when someone is looking for it.
            tracing::debug!(%error, "a connection ended early");
        }
    }

    /// Waits until a connection that was asked to end has had the time for it: what is under way is finished, each response in
    /// its own time, and what a client begins in spite of being asked is refused after a while.
    async fn finished(&self) {
        tokio::time::sleep(self.timeout).await;
        self.is_over.store(true, Ordering::Relaxed);
        while self.seat.is_busy() {
            tokio::time::sleep(self.timeout.min(Duration::from_secs(1))).await;
        }
    }
}

/// Waits until a whole `timeout` passes without a new request. The timers of hyper leave two gaps: they start
/// only when the first bytes have told one HTTP from the other, and an HTTP/2 client that answers pings counts
/// as alive for ever. Each such connection would take a place from those who ask.
async fn quiet(requests: &AtomicU64, timeout: Duration) {
    let mut seen = 0;
    loop {
        tokio::time::sleep(timeout).await;
        let now = requests.load(Ordering::Relaxed);
        if now == seen {
            return;
        }
        seen = now;
    }
}
