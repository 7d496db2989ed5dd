//! The location of a log: a folder, or an address.

use crate::exit_mapping;
use crate::failure::{Failure, Result};
use sotto_catalog::PublicKey;
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Transport};
use sotto_tlog::{DirectorySource, LogError, LogSource};
use sotto_wire::routes;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// The location of a log's files.
pub(super) enum LogLocation {
    Folder(DirectorySource),
    Server(RefCell<HttpTransport>, PublicKey),
}

impl LogLocation {
    /// Parses a folder, or the address of a server that serves the log of this publisher.
    pub(super) fn of(text: &str, publisher: PublicKey, trust_root: Option<&Path>) -> Result<Self> {
        if !crate::verbs::is_url(text) {
            let folder = PathBuf::from(text);
            let there = std::fs::read_dir(&folder);
            there.map_err(|e| Failure::file("reading", &folder, &e))?;
            return Ok(LogLocation::Folder(DirectorySource(folder)));
        }
        let transport = |error| exit_mapping::client(sotto_client::ClientError::Transport(error));
        let mut settings = HttpSettings::default();
        if let Some(pem) = trust_root {
            settings = settings.trust_file(pem).map_err(transport)?;
        }
        let http = HttpTransport::new(text, &settings).map_err(transport)?;
        Ok(LogLocation::Server(RefCell::new(http), publisher))
    }
}

impl LogSource for &LogLocation {
    fn file(&self, path: &str, limit: u64) -> sotto_tlog::Result<Option<Vec<u8>>> {
        let (http, publisher) = match self {
            LogLocation::Folder(folder) => return folder.file(path, limit),
            LogLocation::Server(http, publisher) => (http, publisher),
        };
        let path = routes::log_file(&publisher.0.to_string(), path);
        let failed =
            |why: String| LogError::Storage { path: path.clone(), source: std::io::Error::other(why) };
        let request = Request::get(path.clone(), limit);
        let response = http.borrow_mut().call(&request).map_err(|e| failed(e.to_string()))?;
        match response.status {
            200 => Ok(Some(response.body)),
            404 => Ok(None),
            status => Err(failed(format!("the server responds with {status}"))),
        }
    }

    fn has(&self, path: &str) -> sotto_tlog::Result<bool> {
        Ok(self.file(path, u64::MAX)?.is_some())
    }
}
