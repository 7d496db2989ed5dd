//! A server in this process, for notebooks and tests.

use crate::fault::{PyFault, work};
use pyo3::prelude::*;
use sotto_guest_server::GuestConfig;
use sotto_server::{RunningServer, ServerConfig, TableConfig};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Mutex;

/// Maximum seconds to wait for requests in flight at the end.
const DRAIN_SECONDS: u64 = 2;

/// A running server.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct Server {
    running: Mutex<Option<RunningServer>>,
    /// Address for clients.
    #[pyo3(get)]
    url: String,
    /// Address for health and metrics.
    #[pyo3(get)]
    admin_url: String,
    /// Names of the tables.
    #[pyo3(get)]
    tables: Vec<String>,
}

/// Starts a server of tables, stacks and tables of Apple's lookups, each in its folder. Port 0
/// chooses a free one.
#[pyfunction]
pub(crate) fn serve(
    py: Python<'_>,
    dirs: Vec<PathBuf>,
    host: String,
    port: u16,
    role: u8,
    state: Option<PathBuf>,
    threads: usize,
) -> PyResult<Server> {
    let running = work(py, || {
        let address = |text: &str| {
            let fix = "give an address of this machine, such as 127.0.0.1";
            text.parse::<IpAddr>().map_err(|_| PyFault::misuse(format!("{text} is not an IP address"), fix))
        };
        let tables = dirs.into_iter().map(TableConfig::dir);
        let listen = address(&host)?;
        let config = ServerConfig {
            listen: SocketAddr::new(listen, port),
            admin_listen: SocketAddr::new(address("127.0.0.1")?, 0),
            tables: tables.collect(),
            role,
            state,
            threads,
            drain_seconds: DRAIN_SECONDS,
            ..ServerConfig::default()
        };
        Ok(GuestConfig::default().start(&config, None, |_| ())?)
    })?;
    let scheme = if running.is_https { "https" } else { "http" };
    let (url, admin_url) = (format!("{scheme}://{}", running.public), format!("http://{}", running.admin));
    let tables = running.tables().into_iter().map(|(name, _)| name).collect();
    Ok(Server { running: Mutex::new(Some(running)), url, admin_url, tables })
}

#[pymethods]
impl Server {
    /// Checks for new epochs now. Returns whether any table has changed.
    fn reload(&self, py: Python<'_>) -> PyResult<bool> {
        work(py, || {
            let running = self.running.lock().ok();
            let closed = || PyFault::misuse("the server has stopped", "start another with sotto.serve");
            Ok(running.as_deref().and_then(Option::as_ref).ok_or_else(closed)?.reload())
        })
    }

    /// Finishes requests in flight, and ends the server.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        work(py, || {
            let running = self.running.lock().ok().and_then(|mut running| running.take());
            if let Some(running) = running {
                running.shutdown();
            }
            Ok(())
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let running = self.running.get_mut().ok().and_then(Option::take);
        Python::try_attach(|py| py.detach(move || drop(running)));
    }
}
