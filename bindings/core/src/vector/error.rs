//! Errors of a vector, and differences between a vector and this build.

use crate::{BindingError, ErrorKind};
use sotto_client::ClientError;

/// Why a vector was not replayed to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// The bytes are no vector.
    #[error("these bytes are no vector: {why}")]
    NotAVector {
        /// Why they are not.
        why: String,
    },
    /// The vector has another version.
    #[error("this is a vector of the format {format:?}, and this build reads {}", super::FORMAT)]
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
    #[error("the vector is of scheme {id}, which this build does not have")]
    UnknownScheme {
        /// Id of the scheme.
        id: String,
    },
    /// This build makes another request than the recorded one.
    #[error("request {step} is not the recorded one: {what}")]
    OtherRequest {
        /// Number of the request, counted from 0.
        step: usize,
        /// What differs.
        what: &'static str,
    },
    /// This build ends before the recorded lookup does.
    #[error("request {step} of the recorded lookup is not made")]
    RequestMissing {
        /// Number of the missing request, counted from 0.
        step: usize,
    },
    /// This build refuses a recorded message.
    #[error("after {step} requests the client fails: {error}")]
    Client {
        /// Number of requests made before.
        step: usize,
        /// Error of the client.
        error: Box<ClientError>,
    },
    /// This build recovers another row.
    #[error("row {row} is read otherwise than it was recorded")]
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
                "take the file from spec/vectors of the release again, with the .bin beside it"
            }
            VectorError::Version { .. } => "take the vectors of the release that this build is of",
            VectorError::UnknownScheme { .. } => "leave this vector out, or take a build that has the scheme",
            _ => {
                "do not look anything up with this build on this machine: it was built wrongly, or the machine computes wrongly; \
                 report it with the vector's name, the processor and how it was built"
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
