//! The client above its transports: the opening of a table over a caller's I/O, and lookups as values.
//!
//! | module | contents |
//! |---|---|
//! | `config` | which table to open, and which publisher to trust |
//! | [`setup`] | from a table's name to a session |
//! | [`setup_io`] | what a setup needs of its caller: requests carried, and perhaps stored bytes |
//! | `epoch_agreement` | one catalog for all servers of a table |
//! | `verified_table` | a table whose catalog was verified |
//! | [`trust`] | which catalogs are accepted: pins, first use, rollbacks |
//! | [`witness`] | whether a catalog is in its publisher's log, and who has witnessed that log |
//! | [`artifacts`] | the artifacts that a scheme needs, each chunk verified |
//! | `download` | their download: cached, patched or fetched |
//! | `row_proof` | whether rows are those that the publisher has signed |
//! | [`delta_chain`] | from the epoch of a client's state to a later one, by rows deltas |
//! | [`query_request`] | one request for rows, and the secret that reads its answers |
//! | `bucket_query` | the records of a lookup, of one row or of one row of each bucket |
//! | [`row_stream`] | a record of many megabytes, unit by unit |
//! | `durable_query` | queries of a client whose state must be on disk first (feature `cache`) |
//! | [`logged_request`] | the part of such a request that is on disk (feature `cache`) |
//! | [`evaluation`] | evaluations that open the rows of a symmetric table |
//! | [`hint_request`] | hints that one of the servers makes |
//! | `keys` | keys registered again with a server that has dropped them, or taken to the next epoch |
//! | `registered_keys` | registered keys in a few bytes, for another process |
//!
//! A session uses no sockets, files, clocks or threads, and randomness is passed in, so it runs in
//! a browser or in a test as it does behind [`crate::table`]. A setup calls its caller's
//! [`SetupIo`], which blocks; a lookup is a value, and any transport can carry it, at any time:
//! [`Session::query`] returns the requests, and [`Session::recover`] reads the responses.
//! [`Session`] has an example.

pub mod artifacts;
mod bucket_query;
mod config;
pub mod delta_chain;
mod download;
#[cfg(feature = "cache")]
pub(crate) mod durable_query;
mod epoch_agreement;
pub mod evaluation;
pub mod hint_request;
mod keys;
#[cfg(feature = "cache")]
pub mod logged_request;
pub mod query_request;
mod registered_keys;
mod row_proof;
pub mod row_stream;
pub mod setup;
pub mod setup_io;
pub mod trust;
mod verified_table;
pub mod witness;

#[cfg(feature = "http")]
pub(crate) use artifacts::ROWS_FETCH_BYTES;
pub use artifacts::{FetchRange, LoadCached, RowsDownload};
pub use config::SetupConfig;
pub use delta_chain::{DeltaChain, DeltaStep, StateVersion};
pub use evaluation::EvaluationRequest;
pub use hint_request::HintRequest;
#[cfg(feature = "cache")]
pub(crate) use query_request::QueryTargets;
pub use query_request::{QueryRequest, Session};
pub use registered_keys::RegisteredKeys;
pub use row_stream::StreamRequest;
pub use setup::{SavedPreparation, SessionSetup};
pub use setup_io::{ByteSource, RequestIo, RequestPurpose, SetupIo};
#[cfg(feature = "cache")]
pub(crate) use trust::{Freshness, Judge, VerifiedCatalog};
pub use trust::{KnownSigner, RetiredKey, Trust};
pub use witness::{LogMemory, WitnessError, Witnesses};

use crate::{ClientError, Result, transport::Response};
use sotto_core::Epoch;
use sotto_wire::{Problem, ProblemCode};

/// Returns the body of a success, and turns a refusal into its error for a session of `epoch`.
pub(crate) fn accepted(response: &Response, epoch: Option<Epoch>) -> Result<&[u8]> {
    if response.is_success() {
        return Ok(&response.body);
    }
    let problem = Problem::read(response.status, &response.body);
    match epoch {
        Some(asked) if is_over(&problem) => Err(ClientError::EpochChanged { asked, newest: problem.epoch }),
        _ => Err(ClientError::Refused(problem)),
    }
}

/// Whether a refusal says that the server has moved on to other epochs.
fn is_over(problem: &Problem) -> bool {
    matches!(
        problem.code,
        ProblemCode::StaleEpoch
            | ProblemCode::WrongParams
            | ProblemCode::EpochExpired
            | ProblemCode::NoSuchArtifact
    )
}
