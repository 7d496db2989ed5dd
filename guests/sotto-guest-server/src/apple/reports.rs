//! Reports of URL filters on supervised devices: which addresses of a table they have blocked.
//!
//! A report names no user, and its token does not reveal one. If the operator collects reports,
//! each is a line of JSON in a file of a maximum size; later reports are dropped, as are all if the
//! operator does not collect them.

use serde_json::json;
use sotto_server::StartError;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Maximum bytes of a device's description in a report.
const MAX_AGENT: usize = 256;

/// The log of reports, or none.
pub(crate) struct ReportLog {
    file: Option<Mutex<BoundedFile>>,
}

/// A file that lines are appended to, up to a maximum size.
struct BoundedFile {
    file: File,
    bytes: u64,
    max_bytes: u64,
}

impl ReportLog {
    /// Opens the file, and makes it if it does not exist, readable for this user alone.
    ///
    /// # Errors
    /// [`StartError::Config`], with the path of the file.
    pub(crate) fn open(path: Option<&Path>, max_bytes: u64) -> Result<Self, StartError> {
        let Some(path) = path else { return Ok(ReportLog { file: None }) };
        let failed = |error: io::Error| StartError::Config { file: path.to_owned(), why: error.to_string() };
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        Ok(ReportLog { file: Some(Mutex::new(BoundedFile { file, bytes, max_bytes })) })
    }

    /// Appends a report, if reports are collected and the file has space. Blocks on the disk.
    pub(crate) fn append(&self, received_at: u64, agent: &str, urls: &[String]) {
        let Some(file) = &self.file else { return };
        let agent: String = agent.chars().take(MAX_AGENT).collect();
        let line = json!({ "received_at": received_at, "user_agent": agent, "urls": urls });
        let appended =
            file.lock().unwrap_or_else(PoisonError::into_inner).append(format!("{line}\n").as_bytes());
        match appended {
            Ok(true) => {}
            Ok(false) => tracing::warn!("the reports file is full; a report is dropped"),
            Err(error) => tracing::error!(%error, "a report could not be written and is dropped"),
        }
    }
}

impl BoundedFile {
    /// Appends a line. Returns whether there was space.
    fn append(&mut self, line: &[u8]) -> io::Result<bool> {
        let after = self.bytes.saturating_add(line.len() as u64);
        if after > self.max_bytes {
            return Ok(false);
        }
        // Counted first, since a line that is written in part takes space too.
        self.bytes = after;
        self.file.write_all(line).map(|()| true)
    }
}
