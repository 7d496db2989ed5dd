//! The failure of a verb, printed for a person or as JSON for a script.

use crate::exit::Exit;
use std::fmt::Write as _;

/// Result of this crate's functions.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a verb did not succeed, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) fix: Option<String>,
    /// Whether the reader of the output has gone (`sotto ... | head`), which is no error.
    pub(crate) unread: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure { exit, message: message.into(), fix: None, unread: false }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, message)
    }

    pub(crate) fn input(message: impl Into<String>) -> Self {
        Failure::new(Exit::Input, message)
    }

    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Failure::new(Exit::Missing, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Failure::new(Exit::Internal, message)
    }

    /// The failure for a reader of the results that has gone.
    pub(crate) fn unread() -> Self {
        Failure { unread: true, ..Failure::internal("stdout is closed") }
    }

    /// Adds what to do about the failure.
    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// The failure for a file that could not be read or written. A missing file is told from an
    /// unreadable one.
    pub(crate) fn file(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let exit = if error.kind() == std::io::ErrorKind::NotFound { Exit::Missing } else { Exit::Storage };
        Failure::new(exit, format!("{doing} {}: {error}", path.display()))
    }

    /// The text for stderr, without a trailing newline.
    pub(crate) fn render(&self, json: bool) -> String {
        if json {
            let error = serde_json::json!({
                "code": self.exit as u8,
                "kind": self.exit.name(),
                "message": self.message,
                "fix": self.fix,
            });
            return serde_json::json!({ "error": error }).to_string();
        }
        let mut text = format!("error: {}", self.message);
        if let Some(fix) = &self.fix {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n  fix: {fix}");
        }
        text
    }
}
