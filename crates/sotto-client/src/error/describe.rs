//! The stable name and the fix of each [`ClientError`].

use super::ClientError;
use super::source_codes::{catalog_code, catalog_fix, core_code, core_fix, oprf_code};
use sotto_catalog::CatalogError;
use sotto_wire::Code;

impl ClientError {
    /// A stable name of this error, for programs. A refusal has the name that the server sent
    /// (`spec/wire.md`).
    pub fn code(&self) -> &'static str {
        match self {
            ClientError::Core(error) => core_code(error),
            ClientError::Catalog(CatalogError::Params(error)) => core_code(error),
            ClientError::Catalog(error) => catalog_code(error),
            ClientError::TableName(_) => "bad-table-name",
            ClientError::CatalogDamaged { .. } => "catalog-damaged",
            ClientError::Frame(_) => "bad-answer",
            ClientError::Oprf(error) => oprf_code(*error),
            ClientError::Transport(error) => error.code(),
            ClientError::Refused(problem) => problem.code.text(),
            ClientError::EpochChanged { .. } => "epoch-changed",
            ClientError::NoDeltaChain { .. } => "no-delta-chain",
            ClientError::ClientDiscarded { .. } => "client-discarded",
            ClientError::Rollback { .. } => "rollback",
            ClientError::RetiredKey { .. } => "retired-key",
            ClientError::OtherSigner { .. } => "other-signer",
            ClientError::Equivocation { .. } => "equivocation",
            ClientError::OtherSnapshot { .. } => "other-snapshot",
            ClientError::Expired { .. } => "expired",
            ClientError::Witness(error) => error.code(),
            ClientError::WrongTable { .. } => "wrong-table",
            ClientError::UnknownScheme { .. } => "unknown-scheme",
            ClientError::ServerCount { .. } => "server-count",
            ClientError::SameEndpoint { .. } => "same-endpoint",
            ClientError::InsecurePlaintext { .. } => "insecure-plaintext",
            ClientError::NoRowProofs { .. } => "no-row-proofs",
            ClientError::RowProofInvalid { .. } => "row-proof-invalid",
            ClientError::CatalogsDiffer { .. } => "catalogs-differ",
            ClientError::NoCommonEpoch { .. } => "no-common-epoch",
            ClientError::Server { error, .. } => error.code(),
            ClientError::MissingArtifact { .. } => "missing-artifact",
            ClientError::TooManyRows { .. } => "too-many-rows",
            ClientError::CannotStream { .. } => "cannot-stream",
            ClientError::StackInconsistent { .. } => "stack-inconsistent",
            ClientError::Output(_) => "output",
            ClientError::StateNeeded { .. } => "state-needed",
            ClientError::NoEntropy => "no-entropy",
            #[cfg(feature = "cache")]
            ClientError::Cache(error) => error.code(),
            #[cfg(feature = "cache")]
            ClientError::State(error) => error.code(),
        }
    }

    /// What to do about this error.
    pub fn fix(&self) -> &str {
        match self {
            ClientError::Core(error) => core_fix(error),
            ClientError::Catalog(error) => catalog_fix(error),
            ClientError::Frame(_) => {
                "tell the operator; do not ask for the same row again until you know why: a server can learn \
                 from how clients react to wrong answers"
            }
            ClientError::Oprf(_) => {
                "tell the publisher, and do not ask for the same row again: a server can learn from how clients react \
                to wrong answers"
            }
            ClientError::Transport(error) => error.fix(),
            ClientError::TableName(_) => "give the table's name as its publisher spells it",
            ClientError::CatalogDamaged { .. } => {
                "check the network, and any proxy in between; if it stays so, tell the operator"
            }
            ClientError::Refused(problem) => &problem.fix,
            ClientError::EpochChanged { .. } => "open the table again and make a new query",
            ClientError::NoDeltaChain { .. } => {
                "nothing: the client is prepared anew; if this happens often, ask the operator to keep more deltas"
            }
            ClientError::ClientDiscarded { .. } => "open the table again",
            ClientError::StackInconsistent { .. } => {
                "open the stack again in a while: its publisher is writing a new epoch; if it stays so, ask the operator"
            }
            ClientError::NoRowProofs { .. } => {
                "ask its publisher to encode it with --row-proofs, or look it up without"
            }
            ClientError::RowProofInvalid { .. } => {
                "tell nobody at once, and do not ask for the same row again: a server can learn from how clients react to wrong \
                 answers. Later, tell the publisher that this server changes rows"
            }
            ClientError::Rollback { .. } => {
                "an old copy of the table is being served: ask the operator, and if this is meant, have the cache forget the \
                 table (sotto forget, Builder::forget)"
            }
            ClientError::RetiredKey { .. } => {
                "an old copy of the table is being served, or somebody has its old key: pin the new key, and ask the operator. \
                 If the table was made anew on purpose, have the cache forget it (sotto forget, Builder::forget)"
            }
            ClientError::OtherSigner { .. } => {
                "ask the publisher whether the table was made anew with another key; if so, have the cache forget it (sotto \
                 forget, Builder::forget), and pin the new key"
            }
            ClientError::Equivocation { .. } => {
                "the publisher shows different tables to different people, or somebody else has its key: do not trust it, and \
                 show both catalogs to others. If the table was made anew on purpose, have the cache forget it (sotto forget)"
            }
            ClientError::OtherSnapshot { .. } => {
                "the server has moved on, is behind, or shows you another table than the one you know: ask its operator; to go \
                 on with another snapshot, name it, with a digest from somebody you trust"
            }
            ClientError::Expired { .. } => {
                "somebody keeps an old table alive, or its publisher is late, or this machine's clock is wrong: check the clock, \
                 then ask the publisher"
            }
            ClientError::Witness(error) => error.fix(),
            ClientError::WrongTable { .. } => "tell the operator: tables are mixed up at the server",
            ClientError::UnknownScheme { .. } => "use a build of sotto that carries the scheme",
            ClientError::ServerCount { .. } => {
                "give the address of each server its scheme asks, server 0 first; several must be run by parties that do \
                 not share what they see"
            }
            ClientError::SameEndpoint { .. } => {
                "give the addresses of servers run by parties that do not share what they see"
            }
            ClientError::InsecurePlaintext { .. } => {
                "give https:// addresses; if the way to one server at least is safe from whoever listens on the others, \
                 say --insecure-plaintext"
            }
            ClientError::CatalogsDiffer { .. } => {
                "tell the operators: all servers of the table have to serve the same image"
            }
            ClientError::NoCommonEpoch { .. } => {
                "try again; if it stays so, tell the operators: one server is behind the others by several epochs"
            }
            ClientError::Server { error, .. } => match error.as_ref() {
                ClientError::Refused(problem) if problem.code == Code::WrongServer => {
                    "give the addresses in the order of the servers' roles, server 0 first"
                }
                error => error.fix(),
            },
            ClientError::MissingArtifact { .. } => "tell the publisher to encode the table afresh",
            ClientError::TooManyRows { .. } => {
                "make several requests; how many is visible to the server either way"
            }
            ClientError::CannotStream { .. } => "look the row up whole",
            ClientError::Output(_) => "check the disk, or where the row is to go",
            ClientError::StateNeeded { .. } => {
                "give a folder for the state; or say that it may live in memory, and be lost with the process"
            }
            ClientError::NoEntropy => "mend the system's random device",
            #[cfg(feature = "cache")]
            ClientError::Cache(error) => error.fix(),
            #[cfg(feature = "cache")]
            ClientError::State(error) => error.fix(),
        }
    }
}
