//! Which log, and whose key it is signed with.

use crate::failure::{Failure, Result};
use sotto_tlog::{LogError, LogKey};
use std::path::Path;

/// A key: its text, or a file that holds it.
pub(super) fn key(text: &str, origin: Option<&str>) -> Result<LogKey> {
    let key = match text.parse::<LogKey>() {
        Ok(key) => key,
        Err(_) => {
            let path = Path::new(text);
            let held = std::fs::read_to_string(path).map_err(|e| {
                Failure::file("reading the log's key", path, &e)
                    .fix("give the key itself, NAME+ID+BASE64 or NAME+BASE64, or a file that holds it")
            })?;
            held.trim().parse().map_err(failed)?
        }
    };
    Ok(match origin {
        Some(origin) => key.with_origin(origin),
        None => key,
    })
}

/// What is wrong with a log.
pub(super) fn failed(error: LogError) -> Failure {
    match error {
        LogError::Storage { .. } => Failure::new(crate::exit::Exit::Storage, error.to_string()),
        LogError::Missing { .. } => Failure::missing(error.to_string()),
        LogError::KeyText(_) => Failure::usage(error.to_string()),
        _ => Failure::input(error.to_string()),
    }
}
