//! Sockets, TLS, connections, graceful shutdown.

mod crowd;
mod own;
mod stall;
mod tls;

use crate::admission::Peer;
use crate::metrics::Metrics;
use crate::{Config, StartError};
use axum::Router;
use axum::body::Body;
use crowd::{Busy, Crowd, Seat};
use http_body::{Frame, SizeHint};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use stall::Stall;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

pub use own::OwnCertificate;
pub(crate) use tls::{acceptor, own as own_acceptor};

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
pub(crate) struct Door {
    pub(crate) listener: TcpListener,
    pub(crate) router: Router,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) max_connections: usize,
    /// Of one network.
    pub(crate) connections_per_client: usize,
    /// Who may have any number, since many ask by way of them.
    pub(crate) relays: Vec<Peer>,
    pub(crate) idle_timeout: Duration,
    /// Counts connections, on the public door.
    pub(crate) metrics: Option<Arc<Metrics>>,
}

impl Door {
    /// The public door of a configuration.
    pub(crate) fn new(listener: TcpListener, router: Router, config: &Config) -> Self {
        Door {
            listener,
            router,
            tls: None,
            max_connections: config.max_connections,
            connections_per_client: config.connections_per_client,
            relays: config.ohttp.iter().flat_map(|gateway| &gateway.relays).map(|at| Peer(*at)).collect(),
            idle_timeout: config.idle_timeout(),
            metrics: None,
        }
    }

    /// Serves until `stop` turns true; then closes the port, lets requests in flight finish for at most
    /// `drain`, and cuts off what is left. Gives how many connections were cut off.
    pub(crate) async fn serve(self, mut stop: watch::Receiver<bool>, drain: Duration) -> usize {
        let most = (self.max_connections, self.connections_per_client);
        let crowd = Crowd::new(most, &self.relays, self.metrics.clone());
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
                                () = connected.seat.gives_way() => tracing::debug!("an idle connection gave way"),
                            }
                        });
                    }
                }
                Err(error) => {
                    // Out of file descriptors, most likely: give connections time to end.
                    tracing::warn!(%error, "a connection could not be accepted");
                    crowd.thin_out();
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
        seat: Arc<Seat>,
        stop: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (router, tls, timeout) = (self.router.clone(), self.tls.clone(), self.idle_timeout);
        async move {
            // An answer is one write; waiting to fill a packet would only add to its time.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "no TCP_NODELAY");
            }
            let stream = Stall::new(stream, timeout);
            match tls {
                None => http(stream, (peer, seat), router, timeout, stop).await,
                Some(tls) => match tokio::time::timeout(timeout, tls.accept(stream)).await {
                    Ok(Ok(stream)) => http(stream, (peer, seat), router, timeout, stop).await,
                    Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                    Err(_) => tracing::debug!("a TLS handshake took too long"),
                },
            }
        }
    }
}

/// Serves one connection, HTTP/1.1 or HTTP/2 by its first bytes, until it ends; asked to stop, or left without
/// a new request for too long, lets the requests in flight finish.
async fn http(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    (peer, seat): (Peer, Arc<Seat>),
    router: Router,
    timeout: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(timeout);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(timeout).keep_alive_timeout(timeout);
    let requests = Arc::new(AtomicU64::new(0));
    let service = TowerToHyperService::new(router);
    let counted = service_fn({
        let requests = requests.clone();
        move |mut request: hyper::Request<_>| {
            requests.fetch_add(1, Ordering::Relaxed);
            request.extensions_mut().insert(peer);
            let (busy, answer) = (seat.busy(), service.call(request));
            async move { Ok::<_, Infallible>(answer.await?.map(|body| Answer { body, _busy: busy })) }
        }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), counted);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = stopped(&mut stop) => None,
        () = quiet(&requests, timeout) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // Clients hang up all the time; this is of interest only when someone is looking for it.
        tracing::debug!(%error, "a connection ended early");
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

/// A response on its way out: its connection is at work until it is made.
struct Answer {
    body: Body,
    _busy: Busy,
}

impl http_body::Body for Answer {
    type Data = bytes::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<bytes::Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
