//! The logs of publishers' catalogs: verified when they change, and a source of proofs.
//!
//! A log that cannot be read, or does not extend the previous one, is reported in the server's log,
//! and the previous one stays.

use crate::StartError;
use crate::locked;
use arc_swap::ArcSwap;
use bytes::Bytes;
use sotto_catalog::{Hex32, PublicKey};
use sotto_tlog::LogError;
use sotto_tlog::layout::LogFile;
use sotto_tlog::publisher_log::PublisherLog;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Maximum number of cached proofs. A log may contain catalogs of years, of which few are served
/// now.
const MAX_PROOFS: usize = 4096;

/// A log at its current size.
pub(crate) struct LiveLog {
    log: PublisherLog,
    proofs: Mutex<HashMap<Hex32, Bytes>>,
}

/// The folder of a log, and what was last read from it.
struct ServedLog {
    publisher: PublicKey,
    live: ArcSwap<LiveLog>,
    /// Last refusal, so that a faulty log is reported once and not with every check.
    refused: Mutex<Option<String>>,
}

/// All logs of a server.
pub(crate) struct ServedLogs(Vec<ServedLog>);

impl ServedLogs {
    /// Reads and verifies logs.
    ///
    /// # Errors
    /// [`StartError::Settings`] for a folder without a log, and for two logs of one publisher.
    pub(crate) fn open(folders: &[PathBuf]) -> Result<Self, StartError> {
        let mut logs: Vec<ServedLog> = Vec::new();
        for folder in folders {
            let settings =
                |why: String| StartError::Settings(format!("the log in {}: {why}", folder.display()));
            let log = PublisherLog::open(folder).map_err(|e| settings(e.to_string()))?;
            let publisher = log.publisher();
            if logs.iter().any(|other| other.publisher == publisher) {
                return Err(settings(format!("another log of publisher {publisher} is configured")));
            }
            let (refused, live) = (Mutex::new(None), ArcSwap::from_pointee(LiveLog::new(log)));
            logs.push(ServedLog { publisher, live, refused });
        }
        Ok(ServedLogs(logs))
    }

    /// The log of the publisher whose key has these hexadecimal digits.
    pub(crate) fn get(&self, key_hex: &str) -> Option<Arc<LiveLog>> {
        let key = PublicKey::of_ed25519(key_hex.parse().ok()?);
        self.0.iter().find(|logged| logged.publisher == key).map(|logged| logged.live.load_full())
    }

    /// Checks whether logs have grown.
    pub(crate) fn refresh(&self) {
        for logged in &self.0 {
            let refused = logged.refresh().err().map(|error| error.to_string());
            let mut last = locked(&logged.refused);
            if let Some(error) = refused.as_ref().filter(|refused| last.as_ref() != Some(refused)) {
                tracing::error!(publisher = %logged.publisher, error, "a new log is refused; the previous one is \
                     still served");
            }
            *last = refused;
        }
    }
}

impl ServedLog {
    fn refresh(&self) -> Result<(), LogError> {
        if let Some(log) = self.live.load().log.again()? {
            let (entries, witnessed) =
                (log.entries().len(), log.witnessed().map(|head| head.checkpoint.size));
            tracing::info!(publisher = %self.publisher, entries, ?witnessed, "a log was extended");
            self.live.store(Arc::new(LiveLog::new(log)));
        }
        Ok(())
    }
}

impl LiveLog {
    fn new(log: PublisherLog) -> Self {
        LiveLog { log, proofs: Mutex::default() }
    }

    /// The proof that a catalog or a stack is in the log, as text. Reads a few files the first
    /// time.
    ///
    /// # Errors
    /// [`LogError`] if the log's files have changed.
    pub(crate) fn proof(&self, digest: &Hex32) -> Result<Option<Bytes>, LogError> {
        let proofs = || locked(&self.proofs);
        if let Some(proof) = proofs().get(digest) {
            return Ok(Some(proof.clone()));
        }
        let Some(proof) = self.log.proof(digest)? else { return Ok(None) };
        let proof = Bytes::from(proof.to_string());
        let mut ready = proofs();
        if ready.len() < MAX_PROOFS {
            ready.insert(*digest, proof.clone());
        }
        Ok(Some(proof))
    }

    /// Reads one of the log's files.
    ///
    /// # Errors
    /// [`LogError`] if the file cannot be read.
    pub(crate) fn file(&self, place: LogFile) -> Result<Option<Bytes>, LogError> {
        Ok(self.log.file(place)?.map(Bytes::from))
    }
}
