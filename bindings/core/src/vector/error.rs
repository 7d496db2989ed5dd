//! What was found wrong with a vector, or with this build.

use crate::{BindingError, ErrorKind};
use sotto_client::ClientError;

/// A vector was not replayed to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// Bytes that are no vector.
    #[error("these bytes are no vector: {why}")]
    NotAVector {
        /// Why not.
        why: String,
    },
    /// A vector of another version.
    #[error("this is a vector of the format {format:?}, and this build reads {}", super::FORMAT)]
    Version {
        /// Its format.
        format: String,
    },
    /// A vector that contradicts itself.
    #[error("the vector is damaged: {what}: {why}")]
    Damaged {
        /// Which part.
        what: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A scheme that this build was made without.
    #[error("the vector is of scheme {id}, which this build does not have")]
    UnknownScheme {
        /// Its id.
        id: String,
    },
    /// This build asks otherwise than was recorded.
    #[error("request {step} is not the recorded one: {what}")]
    OtherRequest {
        /// Which, counted from 0.
        step: usize,
        /// What differs.
        what: &'static str,
    },
    /// This build was done before the recorded lookup was.
    #[error("request {step} of the recorded lookup is not made")]
    RequestMissing {
        /// Which, counted from 0.
        step: usize,
    },
    /// This build refuses a recorded message.
    #[error("after {step} requests the client fails: {error}")]
    Client {
        /// How many requests were made.
        step: usize,
        /// Why.
        error: Box<ClientError>,
    },
    /// This build reads another row.
    #[error("row {row} is read otherwise than it was recorded")]
    OtherRow {
        /// Its number.
        row: u64,
    },
}

impl VectorError {
    pub(super) fn damaged(what: impl Into<String>, why: &'static str) -> Self {
        VectorError::Damaged { what: what.into(), why }
    }

    /// The same, where the client failed after so many requests.
    pub(super) fn at(self, requests: usize) -> Self {
        match self {
            VectorError::Client { error, .. } => VectorError::Client { step: requests, error },
            other => other,
        }
    }

    /// A stable name for programs.
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

    /// What to do.
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
