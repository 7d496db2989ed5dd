//! The client without I/O: it says what to send, and reads what comes back.
//!
//! | module | what lives there |
//! |---|---|
//! | `config` | what to open, and whom to believe |
//! | `action` | what an opening, or a way to a later epoch, wants done next |
//! | [`opening`] | from a table's name to a session, step by step |
//! | `accord` | one catalog for all servers of a table |
//! | [`trust`] | whose catalog is believed: pins, first use, rollbacks |
//! | [`witness`] | whether it is in its publisher's log, and who has seen that log grow |
//! | `gather` | the artifacts a scheme needs: held, patched or fetched |
//! | `assembly` | an artifact, chunk by chunk, each checked |
//! | `proof` | whether rows are the publisher's |
//! | `resuming` | a preparation that was under way, perhaps in another process |
//! | [`delta_chain`] | from the epoch of a client's state to a later one, by rows deltas |
//! | [`ask`] | one request for rows, and the secret that reads its answer |
//! | `bucket` | which records a lookup is about, of one row or of one of each bucket; and the rows in them |
//! | [`stream`] | a record of many megabytes, unit by unit |
//! | `durable` | asking with a client whose state must be on disk first (feature `cache`) |
//! | `record` | what is on disk of such an ask (feature `cache`) |
//! | [`unmask`] | rows of a symmetric table: what opens them, and opening them |
//! | [`order`] | hints that one of the servers makes |
//! | `keys` | registered again when a server has dropped them; carried on to the next epoch |
//! | `registered` | the same keys in another process |
//!
//! No sockets, files, clocks or threads, and randomness is passed in, so a session runs in a browser or in a
//! test as it does behind [`crate::table`]:
//!
//! ```text
//! let mut opening = Opening::new(config).at(now);
//! loop {
//!     match opening.next() {
//!         Action::Catalog { server, request } | Action::Keys { server, request } => {
//!             opening.feed(&send(server, request), rng)?
//!         }
//!         Action::Recall(_) => opening.recalled(None)?,          // or the artifact of an older epoch
//!         Action::Fetch(fetch) => opening.feed(&send(0, fetch.request), rng)?,
//!         Action::Ready => break,
//!     }
//! }
//! let mut session = opening.finish()?;
//! let ask = session.ask(&[12345], rng)?;
//! let responses = ask.requests().iter().enumerate().map(|(server, request)| send(server, request)).collect();
//! let rows = session.recover(ask, &responses)?;
//! ```

mod action;
mod artifact_download;
mod bucket_query;
mod chunks;
mod config;
pub mod delta_chain;
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
mod saved_preparation;
pub mod setup;
pub mod trust;
pub mod witness;

pub use action::{Action, FetchRange, LoadCached};
#[cfg(feature = "cache")]
pub(crate) use bucket_query::QueryTargets;
#[cfg(feature = "http")]
pub(crate) use chunks::ROWS_FETCH_BYTES;
pub use config::SetupConfig;
pub use delta_chain::{DeltaChain, DeltaStep, StateVersion};
pub use evaluation::EvaluationRequest;
pub use hint_request::HintRequest;
pub use query_request::{QueryRequest, Session};
pub use registered_keys::RegisteredKeys;
pub use row_stream::StreamRequest;
pub use saved_preparation::SavedPreparation;
pub use setup::SessionSetup;
#[cfg(feature = "cache")]
pub(crate) use trust::{Judge, VerifiedCatalog};
pub use trust::{KnownSigner, RetiredKey, Trust};
pub use witness::{LogMemory, WitnessError, Witnesses};

use crate::{ClientError, Result, transport::Response};
use sotto_core::Epoch;
use sotto_wire::{Code, Problem};

/// The body of a success; a refusal as the error it means for a session of `epoch`.
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
    matches!(problem.code, Code::StaleEpoch | Code::WrongParams | Code::EpochExpired | Code::NoSuchArtifact)
}
