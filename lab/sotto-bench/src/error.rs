//! The reasons why a run ended without figures.

use sotto_core::{Diagnose, Diagnosis, ErrorKind, Exit};
use std::io;

/// The reason why a run ended without figures. A wrong answer is one of them: fast and wrong is no
/// result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// No scheme of that name is compiled in.
    #[error("{case}: unknown scheme {scheme}; this build has: {known}")]
    UnknownScheme {
        /// Title of the case.
        case: String,
        /// Name of the scheme in the definition.
        scheme: String,
        /// Names of the available schemes.
        known: String,
    },
    /// The scheme, or storage below it, refused.
    #[error("{case}: {step}: {why}")]
    Scheme {
        /// Title of the case.
        case: String,
        /// The step that failed.
        step: &'static str,
        /// The error of the scheme.
        why: sotto_core::Error,
    },
    /// The image could not be written or opened.
    #[error("{case}: {why}")]
    Image {
        /// Title of the case.
        case: String,
        /// The error of the image.
        why: Box<sotto_db::DbError>,
    },
    /// The parameters of a case cannot be what its definition asks for.
    #[error("{case}: {why}; change `params` in the definition")]
    Params {
        /// Title of the case.
        case: String,
        /// The mismatch.
        why: String,
    },
    /// A recovered row is not the row that was generated.
    #[error("{case}: WRONG ANSWER for row {row}: {why}; no figure of this run can be trusted")]
    WrongAnswer {
        /// Title of the case.
        case: String,
        /// Number of the requested row.
        row: u64,
        /// The difference.
        why: String,
    },
    /// In this case a hint that was moved to the next epoch is not that epoch's hint.
    #[error("{0}: WRONG UPDATE: the patched hint differs from that of the next epoch")]
    WrongPatch(String),
    /// The generated rows are not the ones the definition was written for.
    #[error("{case}: the generated rows have digest {got}, expected {want}")]
    OtherRows {
        /// Title of the case.
        case: String,
        /// BLAKE3 of the rows that were generated.
        got: String,
        /// BLAKE3 of the rows in the definition.
        want: String,
    },
    /// Threads could not be started.
    #[error("cannot start {threads} threads: {why}")]
    Threads {
        /// Number of requested threads.
        threads: usize,
        /// The error of the operating system.
        why: String,
    },
    /// The file of published figures is damaged, in this way.
    #[error("lab/sotto-bench/published.toml: {0}")]
    Published(String),
    /// The report could not be drawn, for this reason.
    #[error("cannot draw the figures: {0}; install Python 3, or draw the JSON report elsewhere")]
    Drawing(String),
    /// A definition cannot be used.
    #[error(transparent)]
    Definition(#[from] crate::DefinitionError),
    /// An error of memory or disk.
    #[error("storage: {0}; choose another folder for temporary files, or a smaller table")]
    Storage(#[from] io::Error),
    /// The operating system provides no randomness.
    #[error("no randomness for queries: {0}")]
    Entropy(#[from] sotto_prg::EntropyError),
}

impl Diagnose for BenchError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let (kind, exit) = match self {
            BenchError::Scheme { why, .. } => return Diagnosis { code: "bench", fix: "", ..why.diagnosis() },
            BenchError::Definition(error) => return error.diagnosis(),
            BenchError::UnknownScheme { .. } => (ErrorKind::Misuse, Exit::Missing),
            BenchError::Params { .. } => (ErrorKind::Misuse, Exit::Params),
            BenchError::Storage(_) => (ErrorKind::Storage, Exit::Storage),
            BenchError::Image { .. } => (ErrorKind::Storage, Exit::Internal),
            BenchError::Drawing { .. } => (ErrorKind::Machine, Exit::Missing),
            BenchError::OtherRows { .. } => (ErrorKind::Machine, Exit::Input),
            BenchError::WrongAnswer { .. }
            | BenchError::WrongPatch { .. }
            | BenchError::Threads { .. }
            | BenchError::Published { .. }
            | BenchError::Entropy(_) => (ErrorKind::Machine, Exit::Internal),
        };
        kind.diagnosis("bench", "").with_exit(exit)
    }
}
