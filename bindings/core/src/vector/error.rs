//! Errors of a vector, and differences between a vector and this build.

use sotto_client::ClientError;
use sotto_core::{Diagnose, Diagnosis, ErrorKind, Exit};

/// Why a vector was not replayed to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// The bytes are no vector, for this reason.
    #[error("not a vector: {0}")]
    NotAVector(String),
    /// The vector has this format, of another version.
    #[error("the vector has format {0:?}, expected {expected}", expected = super::FORMAT)]
    Version(String),
    /// The vector contradicts itself.
    #[error("the vector is damaged: {what}: {why}")]
    Damaged {
        /// Faulty part.
        what: String,
        /// Description of the fault.
        why: &'static str,
    },
    /// The scheme of this id is not part of this build.
    #[error("scheme {0} of the vector is not in this build")]
    UnknownScheme(String),
    /// This build makes another request than the recorded one.
    #[error("request {step} differs from the recorded one: {what}")]
    OtherRequest {
        /// Number of the request, counted from 0.
        step: usize,
        /// What differs.
        what: &'static str,
    },
    /// A recorded request that this build does not make.
    #[error("request {step} of the recorded lookup is missing")]
    RequestMissing {
        /// Number of the missing request, counted from 0.
        step: usize,
    },
    /// A recorded response that this build refuses.
    #[error("after {step} requests the client fails: {error}")]
    Client {
        /// Number of requests made before.
        step: usize,
        /// Error of the client.
        error: Box<ClientError>,
    },
    /// A recovered row or value that differs from the recorded one.
    #[error("{0} differs from the recorded one")]
    OtherRow(String),
}

impl VectorError {
    pub(super) fn damaged(what: impl Into<String>, why: &'static str) -> Self {
        VectorError::Damaged { what: what.into(), why }
    }

    /// Adds the number of requests after which the client failed.
    pub(super) fn at(self, requests: usize) -> Self {
        match self {
            VectorError::Client { error, .. } => VectorError::Client { step: requests, error },
            other => other,
        }
    }
}

impl Diagnose for VectorError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let copy = "copy the file again from spec/vectors of the release, with the .bin beside it";
        let wrong = "make no lookups with this build on this machine, since the build or the machine computes wrong \
                     results; report it with the name of the vector, the processor and the build commands";
        let (kind, exit, code, fix) = match self {
            VectorError::NotAVector { .. } => (ErrorKind::Misuse, Exit::Input, "not-a-vector", copy),
            VectorError::Damaged { .. } => (ErrorKind::Misuse, Exit::Input, "vector-damaged", copy),
            VectorError::Version { .. } => {
                let fix = "use the vectors of the same release as this build";
                (ErrorKind::Misuse, Exit::Input, "vector-version", fix)
            }
            VectorError::UnknownScheme { .. } => {
                let fix = "omit this vector, or use a build that has the scheme";
                (ErrorKind::Machine, Exit::Params, "unknown-scheme", fix)
            }
            VectorError::OtherRequest { .. } | VectorError::RequestMissing { .. } => {
                (ErrorKind::Machine, Exit::Internal, "vector-request", wrong)
            }
            VectorError::Client { .. } => (ErrorKind::Machine, Exit::Internal, "vector-client", wrong),
            VectorError::OtherRow(_) => (ErrorKind::Machine, Exit::Internal, "vector-row", wrong),
        };
        kind.diagnosis(code, fix).with_exit(exit)
    }
}

impl From<ClientError> for VectorError {
    fn from(error: ClientError) -> Self {
        VectorError::Client { step: 0, error: Box::new(error) }
    }
}
