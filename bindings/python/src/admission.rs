//! Admission for code that sends requests to the parts of a table: limits on requests and memory,
//! and clients' keys.

use crate::fault::{PyFault, work};
use crate::parts::{Session, refused};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sotto_server::SessionConfig;
use sotto_server::coordinator::{self, KeyOwner};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

fn address(text: &str) -> Result<IpAddr, PyFault> {
    text.parse().map_err(|_| {
        PyFault::misuse(format!("{text:?} is not an IP address"), "give an address such as 192.0.2.7")
    })
}

/// Requests under way, and the memory that they take.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct RequestAdmission(coordinator::RequestAdmission);

/// A request that was admitted.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct RequestPermit(Mutex<Option<coordinator::RequestPermit>>);

/// Clients' keys, in memory and on disk.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct KeyStore(coordinator::KeyStore);

/// Admitted keys of this process.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct SessionCache(coordinator::SessionCache);

#[pymethods]
impl RequestAdmission {
    #[new]
    fn new(requests: usize, per_network: usize, max_bytes: u64) -> Self {
        RequestAdmission(coordinator::RequestAdmission::new(requests, per_network, max_bytes))
    }

    fn enter(&self, peer: &str) -> PyResult<RequestPermit> {
        let permit = self.0.enter(address(peer)?).map_err(|problem| refused(&problem))?;
        Ok(RequestPermit(Mutex::new(Some(permit))))
    }
}

#[pymethods]
impl RequestPermit {
    fn grow(&self, bytes: u64) -> PyResult<()> {
        let mut permit = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let released = || PyFault::misuse("the permit is released", "take another permit with `enter`");
        let permit = permit.as_mut().ok_or_else(released)?;
        Ok(permit.grow(bytes).map_err(|problem| refused(&problem))?)
    }

    fn release(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

#[pymethods]
impl KeyStore {
    #[new]
    #[pyo3(signature = (state, max_bytes, max_stored_bytes, per_network, per_minute, ttl_seconds))]
    fn new(
        py: Python<'_>,
        state: Option<PathBuf>,
        max_bytes: u64,
        max_stored_bytes: u64,
        per_network: usize,
        per_minute: u32,
        ttl_seconds: u64,
    ) -> PyResult<Self> {
        let limits = SessionConfig {
            max_bytes,
            max_stored_bytes,
            ttl_seconds,
            sessions_per_client: per_network,
            registrations_per_minute: per_minute,
        };
        work(py, || Ok(KeyStore(coordinator::KeyStore::open(&limits, state.as_deref())?)))
    }

    fn may_register(&self, peer: &str) -> PyResult<Option<u64>> {
        Ok(self.0.may_register(address(peer)?))
    }

    fn put<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        params: [u8; 32],
        peer: &str,
        keys: Vec<u8>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (owner, peer) = (KeyOwner::new(table, params), address(peer)?);
        let id = work(py, || self.0.insert(&owner, peer, keys).map_err(|problem| refused(&problem)))?;
        Ok(PyBytes::new(py, &id))
    }

    fn get<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        params: [u8; 32],
        session: [u8; 16],
    ) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        let owner = KeyOwner::new(table, params);
        let found = work(py, || Ok(self.0.get(&owner, session)))?;
        Ok(found.map(|found| (PyBytes::new(py, &found.client), PyBytes::new(py, &found.keys))))
    }

    fn sweep(&self, py: Python<'_>) -> PyResult<()> {
        work(py, || {
            self.0.sweep();
            Ok(())
        })
    }

    /// Number of sessions, their bytes in memory, and those on disk.
    fn usage(&self) -> (usize, u64, u64) {
        self.0.usage()
    }
}

#[pymethods]
impl SessionCache {
    #[new]
    fn new(max_bytes: u64) -> Self {
        SessionCache(coordinator::SessionCache::new(max_bytes))
    }

    fn get(&self, table: &str, params: [u8; 32], session: [u8; 16]) -> Option<Session> {
        self.0.get(&KeyOwner::new(table, params), session).map(Session)
    }

    fn put(
        &self,
        table: &str,
        params: [u8; 32],
        session: [u8; 16],
        client: [u8; 16],
        admitted: PyRef<'_, Session>,
        session_bytes: u64,
    ) {
        let owner = KeyOwner::new(table, params);
        self.0.insert(&owner, session, client, admitted.0.clone(), session_bytes);
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}
