//! Errors of a vector, and differences between a vector and this build.

use crate::{BindingError, ErrorKind};
use sotto_client::ClientError;

/// Why a vector was not replayed to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// The bytes are no vector.
    #[error("not a vector: {why}")]
    NotAVector {
        /// Why they are not.
        why: String,
    },
    /// The vector has another version.
    #[error("the vector has format {format:?}, expected {}", super::FORMAT)]
    Version {
        /// Format that the vector names.
        format: String,
    },
    /// The vector contradicts itself.
    #[error("the vector is damaged: {what}: {why}")]
    Damaged {
        /// Faulty part.
        what: String,
        /// Description of the fault.
        why: &'static str,
    },
    /// The scheme is not part of this build.
    #[error("scheme {id} of the vector is not in this build")]
    UnknownScheme {
        /// Id of the scheme.
        id: String,
    },
    /// A request of this build differs from the recorded one.
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
    /// A recovered row that differs from the recorded one.
    #[error("row {row} differs from the recorded one")]
    OtherRow {
        /// Index of the row.
        row: u64,
    },
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

    /// A stable name of this error, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            VectorError::NotAVector { .. } => "not-a-vector",
            VectorError::Version { .. } => "vector-version",
            VectorError::Damaged { .. } => "vector-damaged",
            VectorError::UnknownScheme { .. } => "unknown-scheme",
            VectorError::OtherRequest { .. } | VectorError::RequestMissing { .. } => "vector-request",
            VectorError::Client { .. } => "vector-client",
            VectorError::OtherRow { .. } => "vector-row",
        }
    }

    /// What to do about this error.
    pub fn fix(&self) -> &'static str {
        match self {
            VectorError::NotAVector { .. } | VectorError::Damaged { .. } => {
                "copy the file again from spec/vectors of the release, with the .bin beside it"
            }
            VectorError::Version { .. } => "use the vectors of the same release as this build",
            VectorError::UnknownScheme { .. } => "omit this vector, or use a build that has the scheme",
            _ => {
                "make no lookups with this build on this machine, since the build or the machine computes \
                 wrong results; report it with the name of the vector, the processor and the build commands"
            }
        }
    }
}

impl From<ClientError> for VectorError {
    fn from(error: ClientError) -> Self {
        VectorError::Client { step: 0, error: Box::new(error) }
    }
}

impl From<VectorError> for BindingError {
    fn from(error: VectorError) -> Self {
        let kind = match &error {
            VectorError::NotAVector { .. } | VectorError::Version { .. } | VectorError::Damaged { .. } => {
                ErrorKind::Misuse
            }
            _ => ErrorKind::Machine,
        };
        BindingError::new(kind, error.code(), error.to_string(), error.fix())
    }
}
