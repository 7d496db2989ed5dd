//! Starting, running and shutting down a server.

use crate::client::Peer;
use crate::database::state_folder;
use crate::epochs::Opening;
use crate::extension::{Extension, ExtensionSetup};
use crate::limits::slots::Slots;
use crate::listen::{self, PortServer, Routes};
use crate::metrics::{self, ServerMetrics};
use crate::routes::origins::AllowedOrigins;
use crate::service::{Service, ServiceSources};
use crate::{
    EpochSource, OpeningProgress, SelfSignedCertificate, ServerConfig, StartError, TableStatus, admin,
    epoch_source, routes,
};
use sotto_core::Accelerator;
use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Maximum time that the end of a server waits for threads that open files.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Interval at which a server that opens its tables reports its progress.
const REPORT_EVERY: Duration = Duration::from_secs(2);

/// Number of threads that load keys from the disk, open new epochs, and wait for files that are
/// downloaded: few, so that none of these displaces the passes.
const BACKGROUND_THREADS: usize = 4;

/// Starts servers from a configuration or from sources.
pub struct Server;

/// A running server. Dropping it shuts it down too, without waiting for requests in flight. It owns
/// an asynchronous runtime, so it must be neither started nor dropped inside another one.
pub struct RunningServer {
    /// Address for clients, with the real port if the configuration has port 0.
    pub public: SocketAddr,
    /// Address for health and metrics.
    pub admin: SocketAddr,
    /// Self-signed certificate, if the server has made one.
    pub own: Option<SelfSignedCertificate>,
    /// Whether clients use https.
    pub is_https: bool,
    runtime: Option<Runtime>,
    service: Arc<Service>,
    stop: watch::Sender<bool>,
    ports: Vec<JoinHandle<usize>>,
}

/// Result of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Number of connections that were still busy after `drain_seconds`, and were closed.
    pub unfinished: usize,
}

impl Server {
    /// Opens the tables of a configuration and serves them on threads of its own.
    ///
    /// # Errors
    /// [`StartError`], with what to do.
    pub fn start(config: &ServerConfig) -> Result<RunningServer, StartError> {
        Server::start_watched(config, Vec::new(), None, |_| ())
    }

    /// Serves the tables of a configuration, as [`Server::start`] does, and other protocols, with an
    /// accelerator, if there is one. Calls `watch` with the progress of opening the tables, if that
    /// takes long.
    ///
    /// # Errors
    /// [`StartError`], with what to do.
    pub fn start_watched(
        config: &ServerConfig,
        extensions: Vec<Box<dyn ExtensionSetup>>,
        accelerator: Option<Arc<dyn Accelerator>>,
        watch: impl Fn(&OpeningProgress) + Send + 'static,
    ) -> Result<RunningServer, StartError> {
        let mut config = config.clone();
        if let Some(path) = config.recognize()?.first() {
            let why = "a table of another protocol, which this server does not speak";
            return Err(StartError::Settings(format!("{}: {why}", path.display())));
        }
        let has_others = extensions.iter().any(|extension| extension.needs().has_tables);
        if config.tables.is_empty() && config.stacks.is_empty() && !has_others {
            let fix = "add [[tables]] with dir = \"...\" or path = \"...\"";
            return Err(StartError::Settings(format!("no tables are configured; {fix}")));
        }
        let copies = epoch_source::copy_budget(&config);
        if config.gpu && accelerator.is_none() {
            let why = "gpu is set, but this build cannot use graphics cards: build sotto with --features gpu";
            return Err(StartError::Settings(why.into()));
        }
        let tables = epoch_source::sources(&config, &copies, accelerator)?;
        Server::start_opening(&config, ServiceSources { tables, extensions, copies }, watch)
    }

    /// Serves the tables of the given sources; `config.tables` is ignored.
    ///
    /// # Errors
    /// [`StartError`], with what to do.
    pub fn start_with(
        config: &ServerConfig,
        sources: Vec<Box<dyn EpochSource>>,
    ) -> Result<RunningServer, StartError> {
        Server::start_with_all(config, sources, Vec::new(), |_| ())
    }

    /// Serves the tables of the given sources, and other protocols; `config.tables` is ignored. The
    /// ports answer from the first moment, and report until everything is open that the server is
    /// not ready; `watch` is called with the progress.
    ///
    /// # Errors
    /// [`StartError`], with what to do.
    pub fn start_with_all(
        config: &ServerConfig,
        sources: Vec<Box<dyn EpochSource>>,
        extensions: Vec<Box<dyn ExtensionSetup>>,
        watch: impl Fn(&OpeningProgress) + Send + 'static,
    ) -> Result<RunningServer, StartError> {
        let copies = epoch_source::copy_budget(config);
        Server::start_opening(config, ServiceSources { tables: sources, extensions, copies }, watch)
    }

    fn start_opening(
        config: &ServerConfig,
        sources: ServiceSources,
        watch: impl Fn(&OpeningProgress) + Send + 'static,
    ) -> Result<RunningServer, StartError> {
        config.check().map_err(StartError::Settings)?;
        sources
            .extensions
            .iter()
            .try_for_each(|extension| extension.check())
            .map_err(StartError::Settings)?;
        config.state.as_deref().map_or(Ok(()), state_folder)?;
        // Two threads carry the connections; the passes have a pool of their own.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(BACKGROUND_THREADS)
            .thread_name("sotto-http")
            .enable_all()
            .build()
            .map_err(StartError::Threads)?;
        let own = config
            .self_signed
            .as_ref()
            .map(|names| SelfSignedCertificate::have(names, config.listen.ip(), config.state.as_deref()));
        let own = own.transpose()?;
        let tls = match &own {
            Some(own) => Some(listen::own_acceptor(own)?),
            None => config.tls.as_ref().map(listen::acceptor).transpose()?,
        };
        // Ports are bound first: a table may take long to open, and a port in use is the most
        // common mistake.
        let public = runtime.block_on(listen::bind(config.listen, "listen"))?;
        let admin = runtime.block_on(listen::bind(config.admin_listen, "admin_listen"))?;
        let address = |listener: &tokio::net::TcpListener, key| {
            let failed = |source| StartError::Listen { address: config.listen, key, source };
            listener.local_addr().map_err(failed)
        };
        let addresses = (address(&public, "listen")?, address(&admin, "admin_listen")?);
        let (mut registry, opening) = (metrics::registry(), Arc::<Opening>::default());
        let metrics = Arc::new(ServerMetrics::register(&mut registry, ""));
        let bytes = config.request_memory_mib.saturating_mul(1 << 20);
        let memory = Slots::memory(bytes, metrics.request_memory_bytes.clone());
        let (stop, stopping) = watch::channel(false);
        let drain = Duration::from_secs(config.drain_seconds);
        // Routes are served before the tables are open too: clients are notified that the server is
        // not ready.
        let (front_routes, back_routes) = (Routes::new(Opening::public()), Routes::new(opening.admin()));
        let mut front = PortServer::new(public, front_routes.clone(), config);
        let is_https = tls.is_some();
        front.tls = tls;
        front.memory = Some(memory.clone());
        front.connections = Some(metrics.connections.clone());
        let relays = sources.extensions.iter().flat_map(|extension| extension.needs().relays);
        front.relays = relays.map(Peer).collect();
        let back = PortServer::new(admin, back_routes.clone(), config);
        let ports = vec![
            runtime.spawn(front.serve(stopping.clone(), drain)),
            runtime.spawn(back.serve(stopping.clone(), drain)),
        ];
        let reporting = runtime.spawn(report_progress(opening.clone(), watch));
        let service = Service::open(config, sources, registry, metrics, memory, &opening);
        reporting.abort();
        let service = Arc::new(service?);
        service.finish_reading(service.tables.all().filter(|table| table.is_reading()).cloned().collect());
        back_routes.open(admin::admin(service.clone(), config));
        front_routes.open(routes::public(service.clone(), AllowedOrigins::new(&config.allow_origins)));
        if config.reload_seconds > 0 {
            let every = Duration::from_secs(config.reload_seconds);
            runtime.spawn(watch_for_epochs(service.clone(), every, stopping));
        }
        runtime.spawn(sweep(service.clone(), stop.subscribe()));
        tracing::info!(public = %addresses.0, admin = %addresses.1, tls = is_https, "serving");
        let (public, admin) = addresses;
        Ok(RunningServer { public, admin, own, is_https, runtime: Some(runtime), service, stop, ports })
    }
}

/// Reports the progress of a server that opens its tables, if it takes long.
async fn report_progress(opening: Arc<Opening>, watch: impl Fn(&OpeningProgress)) {
    loop {
        tokio::time::sleep(REPORT_EVERY).await;
        watch(&opening.now());
    }
}

/// Checks for new epochs at intervals.
async fn watch_for_epochs(service: Arc<Service>, every: Duration, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = tokio::time::sleep(every) => {}
            () = listen::stopped(&mut stop) => return,
        }
        let service = service.clone();
        // A panic while opening a file is logged by the runtime's hook, and must not end the
        // checks.
        let _ = tokio::task::spawn_blocking(move || service.reload()).await;
    }
}

/// Drops what has expired, and stores what was used, at intervals.
async fn sweep(service: Arc<Service>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = tokio::time::sleep(service.sweep_every()) => {}
            () = listen::stopped(&mut stop) => return,
        }
        let service = service.clone();
        let _ = tokio::task::spawn_blocking(move || service.sweep()).await;
    }
}

impl RunningServer {
    /// Checks for new epochs now, as `POST /reload` does. Returns `true` if any table has changed.
    pub fn reload(&self) -> bool {
        let (tables, others) = self.service.reload();
        tables.iter().any(|(_, reloaded)| reloaded.changed) || others.iter().any(|reloaded| reloaded.changed)
    }

    /// The tables of the server by name, with the status of each.
    pub fn tables(&self) -> Vec<(String, TableStatus)> {
        self.service.tables.all().map(|table| (table.name(), table.status())).collect()
    }

    /// The extension of this type, if it is served.
    pub fn extension<E: Extension>(&self) -> Option<&E> {
        let mut all = self.service.extensions.iter();
        all.find_map(|extension| (extension.as_ref() as &dyn Any).downcast_ref())
    }

    /// Blocks until the process is asked to end (SIGINT or SIGTERM), then shuts down.
    ///
    /// # Errors
    /// [`std::io::Error`] if signals cannot be listened for.
    pub fn run_until_signal(self) -> std::io::Result<ShutdownReport> {
        if let Some(runtime) = &self.runtime {
            runtime.block_on(signal())?;
        }
        tracing::info!("shutting down after the requests in flight");
        Ok(self.shutdown())
    }

    /// Accepts no new work, finishes what is in flight for at most `drain_seconds`, and ends.
    pub fn shutdown(mut self) -> ShutdownReport {
        self.end(true)
    }

    fn end(&mut self, wait: bool) -> ShutdownReport {
        self.service.stop();
        self.stop.send_replace(true);
        let mut unfinished = 0;
        let Some(runtime) = self.runtime.take() else { return ShutdownReport { unfinished } };
        if wait {
            for port in self.ports.drain(..) {
                unfinished += runtime.block_on(port).unwrap_or(0);
            }
            self.service.host.scheduler.finish();
            tracing::info!(unfinished, "ended");
        } else {
            self.service.host.scheduler.close();
        }
        self.service.settle();
        // Ends the remaining tasks, and with them their sockets.
        runtime.shutdown_timeout(LAST_MOMENT);
        ShutdownReport { unfinished }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.end(false);
    }
}

#[cfg(unix)]
async fn signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn signal() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
