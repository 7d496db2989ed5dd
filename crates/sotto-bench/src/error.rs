//! Why a run ended without figures.

use std::io;

/// Why a run ended without figures. A wrong answer is one of the reasons: fast and wrong is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// No scheme of that name is compiled in.
    #[error("{case}: no scheme is called {scheme}; this build has: {known}")]
    UnknownScheme {
        /// Which case.
        case: String,
        /// As the definition names it.
        scheme: String,
        /// What there is.
        known: String,
    },
    /// The scheme, or storage below it, refused.
    #[error("{case}: {step}: {why}")]
    Scheme {
        /// Which case.
        case: String,
        /// What was being done.
        step: &'static str,
        /// The refusal.
        why: sotto_core::Error,
    },
    /// The image could not be written or opened.
    #[error("{case}: {why}")]
    Image {
        /// Which case.
        case: String,
        /// What happened to it.
        why: Box<sotto_db::DbError>,
    },
    /// The parameters of a case cannot be what its definition asks for.
    #[error("{case}: {why}; change `params` in the definition")]
    Params {
        /// Which case.
        case: String,
        /// The mismatch.
        why: String,
    },
    /// A recovered row is not the row that was generated.
    #[error("{case}: WRONG ANSWER for row {row}: {why}; no figure of this run can be trusted")]
    WrongAnswer {
        /// Which case.
        case: String,
        /// Which row was asked for.
        row: u64,
        /// How it differs.
        why: String,
    },
    /// A hint that was moved to the next epoch is not that epoch's hint.
    #[error("{case}: WRONG UPDATE: the patched hint is not the one of the next epoch")]
    WrongPatch {
        /// Which case.
        case: String,
    },
    /// The generated rows are not the ones the definition was written for.
    #[error("{case}: the generated rows have digest {got}, the definition expects {want}")]
    OtherRows {
        /// Which case.
        case: String,
        /// BLAKE3 of the rows that were generated.
        got: String,
        /// What the definition says.
        want: String,
    },
    /// Threads could not be started.
    #[error("cannot start {threads} threads: {why}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system said.
        why: String,
    },
    /// The file of published figures is damaged.
    #[error("{file}: {why}")]
    Published {
        /// Which file.
        file: &'static str,
        /// What is wrong in it.
        why: String,
    },
    /// A definition cannot be used.
    #[error(transparent)]
    Definition(#[from] crate::DefinitionError),
    /// Memory or disk.
    #[error("storage: {0}; choose another folder for temporary files, or a smaller table")]
    Storage(#[from] io::Error),
    /// The system gave no randomness.
    #[error("no randomness for queries: {0}")]
    Entropy(String),
}
