//! What each error of a client means.

use super::ClientError;
use sotto_core::ErrorKind::{Machine, Misuse, Network, Peer, Storage, Unreadable};
use sotto_core::{Diagnose, Diagnosis, Exit, Fault};
use sotto_oprf::OprfError;
use sotto_wire::ProblemCode;

impl ClientError {
    /// A stable name of this error, for programs. A refusal has the name that the server sent
    /// (`spec/wire.md`).
    pub fn code(&self) -> &'static str {
        self.diagnosis().code
    }

    /// What to do about this error.
    pub fn fix(&self) -> &str {
        self.diagnosis().fix
    }

    /// The party that can resolve this error.
    pub fn fault(&self) -> Fault {
        self.diagnosis().fault
    }
}

impl Diagnose for ClientError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        match self {
            ClientError::Core(error) => error.diagnosis(),
            ClientError::Catalog(error) => error.diagnosis(),
            ClientError::Oprf(error) => {
                let code = match error {
                    OprfError::Closed => "does-not-open",
                    OprfError::Future => "future-version",
                    _ => "bad-evaluation",
                };
                let fix = "tell the publisher, and do not look up the same row again: a server can learn from how \
                           clients react to wrong answers";
                Peer.diagnosis(code, fix)
            }
            ClientError::Transport(error) => error.diagnosis(),
            ClientError::Refused(problem) => problem.diagnosis(),
            ClientError::Witness(error) => error.diagnosis(),
            #[cfg(feature = "cache")]
            ClientError::Cache(error) => error.diagnosis(),
            #[cfg(feature = "cache")]
            ClientError::State(error) => error.diagnosis(),
            ClientError::Server { error, .. } => match error.as_ref() {
                ClientError::Refused(problem) if problem.code == ProblemCode::WrongServer => {
                    let fix = "give the addresses in the order of the servers' roles, server 0 first";
                    Diagnosis { fix, ..problem.diagnosis() }
                }
                error => error.diagnosis(),
            },
            ClientError::Frame(_) => Peer.diagnosis(
                "bad-answer",
                "tell the operator; do not look up the same row again until the cause is known: a server can learn \
                 from how clients react to wrong answers",
            ),
            ClientError::TableName(_) => {
                Misuse.diagnosis("bad-table-name", "give the table's name as its publisher spells it")
            }
            ClientError::CatalogDamaged { .. } => Network.diagnosis(
                "catalog-damaged",
                "check the network and any proxy; if it happens again, tell the operator",
            ),
            ClientError::EpochChanged { .. } => {
                Network
                .diagnosis("epoch-changed", "open the table again and make a new query")
                .with_exit(Exit::Refused)
            }
            ClientError::NoDeltaChain { .. } => Peer.diagnosis(
                "no-delta-chain",
                "wait until the client is prepared again; if this happens often, ask the operator to keep more deltas",
            ),
            ClientError::ClientDiscarded { .. } => Peer.diagnosis("client-discarded", "open the table again"),
            ClientError::StackInconsistent { .. } => Network.diagnosis(
                "stack-inconsistent",
                "open the stack again later: its publisher is writing a new epoch; if it happens again, ask the \
                 operator",
            ),
            ClientError::NoRowProofs { .. } => Peer.diagnosis(
                "no-row-proofs",
                "ask the publisher to encode the table with --row-proofs, or look it up without proofs",
            ),
            ClientError::NotAuthenticated { .. } => Peer.diagnosis(
                "not-authenticated",
                "ask the publisher to encode the table with --row-proofs and a scheme whose refusals tell nothing of \
                 the row, such as --scheme ypir-sp --set one-scale; or look it up without authenticated answers",
            ),
            ClientError::RowProofInvalid { .. } => Unreadable.diagnosis(
                "row-proof-invalid",
                "do not react at once, and do not look up the same row again: a server can learn from how clients \
                 react to wrong answers. Later, tell the publisher that this server changes rows",
            ),
            ClientError::Rollback { .. } => Peer.diagnosis(
                "rollback",
                "ask the operator why an old copy of the table is served; if that is intended, forget the table in \
                 the cache (sotto forget, TableBuilder::forget)",
            ),
            ClientError::RetiredKey { .. } => Peer.diagnosis(
                "retired-key",
                "pin the new key, and ask the operator: an old copy of the table is served, or somebody has the old \
                 key. If the table was created again on purpose, forget it in the cache (sotto forget, \
                 TableBuilder::forget)",
            ),
            ClientError::OtherSigner { .. } => Peer.diagnosis(
                "other-signer",
                "ask the publisher whether the table was created again with another key; if so, forget it in the \
                 cache (sotto forget, TableBuilder::forget), and pin the new key",
            ),
            ClientError::Equivocation { .. } => Peer.diagnosis(
                "equivocation",
                "do not trust the publisher, and show both catalogs to others: it shows different tables to \
                 different people, or somebody else has its key. If the table was created again on purpose, forget \
                 it in the cache (sotto forget)",
            ),
            ClientError::OtherSnapshot { .. } => Peer.diagnosis(
                "other-snapshot",
                "ask the operator whether the server is ahead, behind, or shows another table; to continue with \
                 another snapshot, name it, with a digest from somebody you trust",
            ),
            ClientError::OtherAnchor { .. } => Peer.diagnosis(
                "other-anchor",
                "if the server is behind, try again later or ask another one; if it is ahead, name the anchor that it \
                 has, once you know it from a source of your own",
            ),
            ClientError::Expired { .. } => Peer.diagnosis(
                "expired",
                "check this machine's clock, then ask the publisher: it is late, or somebody serves an old table",
            ),
            ClientError::WrongTable { .. } => {
                Peer.diagnosis("wrong-table", "tell the operator: tables are mixed up at the server")
            }
            ClientError::UnknownScheme { .. } => Machine
                .diagnosis("unknown-scheme", "use a build of sotto that includes the scheme")
                .with_exit(Exit::Params),
            ClientError::ServerCount { .. } => Misuse.diagnosis(
                "server-count",
                "give the address of each server that the scheme needs, server 0 first; several must be run by \
                 parties that do not share what they see",
            ),
            ClientError::SameEndpoint { .. } => Misuse.diagnosis(
                "same-endpoint",
                "give the addresses of servers run by parties that do not share what they see",
            ),
            ClientError::InsecurePlaintext { .. } => Misuse.diagnosis(
                "insecure-plaintext",
                "give https:// addresses; if the connection to at least one server is safe from whoever listens on \
                 the others, pass --insecure-plaintext",
            ),
            ClientError::CatalogsDiffer { .. } => Peer.diagnosis(
                "catalogs-differ",
                "tell the operators: all servers of the table have to serve the same image",
            ),
            ClientError::NoCommonEpoch { .. } => {
                let fix = "try again; if it happens again, tell the operators: one server is behind the others by \
                           several epochs";
                Network.diagnosis("no-common-epoch", fix).with_exit(Exit::Refused)
            }
            ClientError::MissingArtifact { .. } => {
                Peer.diagnosis("missing-artifact", "tell the publisher to encode the table afresh")
            }
            ClientError::TooManyRows { .. } => Misuse.diagnosis(
                "too-many-rows",
                "make several requests; the server sees the number of rows either way",
            ),
            ClientError::CannotStream { .. } => Misuse.diagnosis("cannot-stream", "look up the whole row"),
            ClientError::Output(_) => Storage.diagnosis("output", "check the disk or the output"),
            ClientError::StateNeeded { .. } => Misuse.diagnosis(
                "state-needed",
                "give a folder for the state, or choose to keep it in memory, where it is lost with the process",
            ),
            ClientError::NoEntropy => Machine.diagnosis("no-entropy", "repair the system's random device"),
        }
    }
}
