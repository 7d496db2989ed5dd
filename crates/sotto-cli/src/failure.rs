//! The failure of a verb: its exit code, on which scripts branch, and its text for a person or as
//! JSON. Exit codes, messages and fixes are the libraries', save for fixes that name an option.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use sotto_apple::image::ImageError;
use sotto_bench::{BenchError, DefinitionError};
use sotto_binding::vector::VectorError;
use sotto_catalog::CatalogError;
use sotto_client::ClientError;
use sotto_client::cache::CacheError;
use sotto_client::state::StateError;
use sotto_client::transport::TransportError;
pub(crate) use sotto_core::Exit;
use sotto_core::{Diagnose, Diagnosis, Error, Misuse};
use sotto_db::DbError;
use sotto_plan::PlanError;
use sotto_prg::EntropyError;
use sotto_server::StartError;
use sotto_tlog::LogError;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

/// Result of this crate's functions.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// An exit code.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExitCode {
    /// Number that the command ends with.
    code: u8,
    /// Name of the exit code, as errors have it in JSON.
    name: String,
    /// What it means, in one sentence.
    meaning: &'static str,
}

/// All exit codes, and what `sotto exit-codes` prints.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExitCodes {
    exit_codes: Vec<ExitCode>,
}

impl ExitCodes {
    pub(crate) fn all() -> Self {
        let done =
            ExitCode { code: 0, name: "done".to_owned(), meaning: "The command did what it was asked." };
        let errors = Exit::ALL.iter().map(|(exit, meaning)| ExitCode {
            code: *exit as u8,
            name: format!("{exit:?}").to_lowercase(),
            meaning,
        });
        ExitCodes { exit_codes: std::iter::once(done).chain(errors).collect() }
    }
}

/// Text that `sotto exit-codes` and `sotto help exit-codes` print.
pub(crate) static EXIT_CODES: LazyLock<String> = LazyLock::new(|| {
    let lines = ExitCodes::all().exit_codes.into_iter();
    let lines: String =
        lines.map(|ExitCode { code, name, meaning }| format!("  {code}  {name:<9} {meaning}\n")).collect();
    lines
        + "\nAn error goes to stderr; with --json it is one JSON object {\"error\": {\"code\", \"kind\", \
           \"message\", \"fix\"}}."
});

/// An error, as it is printed on stderr with `--json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorReport<'a> {
    error: ErrorBody<'a>,
}

#[derive(Serialize, JsonSchema)]
struct ErrorBody<'a> {
    /// Exit code of the command.
    code: u8,
    /// Name of the exit code.
    kind: Exit,
    /// Description of the error.
    message: &'a str,
    /// What to do about the error, unless the message says it.
    fix: Option<&'a str>,
}

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

    pub(crate) fn peer(message: impl Into<String>) -> Self {
        Failure::new(Exit::Peer, message)
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

    /// The failure for an error that says its exit code and fix.
    pub(crate) fn of(error: &impl Diagnose) -> Self {
        let Diagnosis { exit, fix, .. } = error.diagnosis();
        let fix = (!fix.is_empty()).then(|| fix.to_owned());
        Failure { fix, ..Failure::new(exit, error.to_string()) }
    }

    /// The failure for a file that could not be read or written. A missing file is told from an
    /// unreadable one.
    pub(crate) fn file(doing: &str, path: &Path, error: &io::Error) -> Self {
        Failure::new(error.into(), format!("{doing} {}: {error}", path.display()))
    }

    /// The text for stderr, without a trailing newline.
    pub(crate) fn render(&self, json: bool) -> String {
        let Failure { exit, message, fix, .. } = self;
        if json {
            let error = ErrorBody { code: *exit as u8, kind: *exit, message, fix: fix.as_deref() };
            return serde_json::to_string(&ErrorReport { error }).unwrap_or_default();
        }
        let fix = fix.as_ref().map(|fix| format!("\n  fix: {fix}")).unwrap_or_default();
        format!("error: {message}{fix}")
    }
}

/// Names the file that an error of the system is about.
pub(crate) trait FileContext<T> {
    /// Turns an error into the failure of doing something with a file: [`Failure::file`].
    fn doing(self, doing: &str, path: &Path) -> Result<T>;
}

impl<T> FileContext<T> for io::Result<T> {
    fn doing(self, doing: &str, path: &Path) -> Result<T> {
        self.map_err(|error| Failure::file(doing, path, &error))
    }
}

macro_rules! diagnosed {
    ($($error:ty),+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::of(&error)
            }
        })+
    };
}

diagnosed!(BenchError, CacheError, CatalogError, DbError, DefinitionError, ImageError, LogError, PlanError);
diagnosed!(StartError, TransportError, VectorError);

impl From<EntropyError> for Failure {
    fn from(error: EntropyError) -> Self {
        Failure::internal(error.to_string()).fix("repair the system's random device")
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        if let ClientError::Core(Error::Misuse(Misuse::IndexPastEnd { len, .. })) = error {
            // The index is not repeated: what is looked up is private, and messages end up in logs.
            return Failure::missing(format!("no such row: the table has {len}"))
                .fix("give a row number below that; rows are counted from 0");
        }
        let failure = Failure::of(&error);
        match &error {
            ClientError::StateNeeded { .. } => failure.fix("give --state DIR, or set HOME or XDG_DATA_HOME"),
            ClientError::State(StateError::NoRollbackCounter) => failure.fix("give --rollback-dir DIR"),
            ClientError::State(StateError::Busy { .. }) => failure.fix(
                "end the other process, wait longer with --max-wait, or give a --state DIR of its own, which \
                 needs its own preparation",
            ),
            error if matches!(error.root(), ClientError::Refused(problem) if problem.code.is_retryable()) => {
                failure.fix(
                    "try again later, after the server's Retry-After if any, or wait longer with --max-wait",
                )
            }
            _ => failure,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        // The fixes of a scheme's errors are for clients.
        Failure { fix: None, ..Failure::of(&error) }
    }
}
