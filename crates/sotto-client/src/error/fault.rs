//! The party that can resolve a [`ClientError`].

use super::ClientError;
use super::transport::TransportError;
use super::witness::WitnessError;
use sotto_catalog::CatalogError;
use sotto_core::Error;

/// The party that can resolve an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The calling code, or the person who typed the request.
    Caller,
    /// The server, its operator, or the table's publisher.
    Server,
    /// The network between client and server, or a temporary condition.
    Network,
    /// The machine of the client.
    Machine,
}

impl ClientError {
    /// The party that can resolve this error.
    pub fn fault(&self) -> Fault {
        match self {
            ClientError::Core(Error::Misuse(_) | Error::Exhausted(_)) => Fault::Caller,
            ClientError::Catalog(CatalogError::NoSuchRow { .. } | CatalogError::KeyText { .. }) => {
                Fault::Caller
            }
            ClientError::Server { error, .. } => error.fault(),
            ClientError::Witness(
                WitnessError::Count { .. } | WitnessError::NoneNeeded { .. } | WitnessError::NoClock,
            )
            | ClientError::TableName(_)
            | ClientError::TooManyRows { .. }
            | ClientError::ServerCount { .. }
            | ClientError::SameEndpoint { .. }
            | ClientError::InsecurePlaintext { .. }
            | ClientError::CannotStream { .. }
            | ClientError::StateNeeded { .. }
            | ClientError::Transport(TransportError::Address { .. }) => Fault::Caller,
            ClientError::Transport(
                TransportError::Connect { .. }
                | TransportError::UnknownHost { .. }
                | TransportError::Intermediary { .. }
                | TransportError::Lost(_)
                | TransportError::Timeout(_),
            ) => Fault::Network,
            ClientError::Refused(problem) if problem.code.is_retryable() => Fault::Network,
            ClientError::CatalogDamaged { .. }
            | ClientError::EpochChanged { .. }
            | ClientError::NoCommonEpoch { .. }
            | ClientError::StackInconsistent { .. } => Fault::Network,
            ClientError::UnknownScheme { .. } | ClientError::Witness(WitnessError::Kept { .. }) => {
                Fault::Machine
            }
            ClientError::Core(Error::Storage(_)) | ClientError::Output(_) | ClientError::NoEntropy => {
                Fault::Machine
            }
            #[cfg(feature = "cache")]
            ClientError::Cache(_) | ClientError::State(_) => Fault::Machine,
            _ => Fault::Server,
        }
    }
}
