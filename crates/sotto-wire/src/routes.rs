//! Paths and header names, for both ends.
//!
//! The constants are patterns with `{name}` holes; the functions fill them. Table names hold only
//! characters that need no escaping in a path (see the catalog), and digests are hexadecimal.

use serde::{Deserialize, Serialize};
use sotto_core::Epoch;
use std::collections::BTreeMap;

/// `GET`: the list of tables, a [`TableList`].
pub const TABLES: &str = "/v1/tables";
/// `GET`: a table's signed catalog, the newest, or `?epoch=N`.
pub const TABLE: &str = "/v1/tables/{table}";
/// `POST`: registers keys; answered by 16 bytes of session id.
pub const KEYS: &str = "/v1/tables/{table}/keys";
/// `POST`: asks; answered by an answer frame.
pub const QUERY: &str = "/v1/tables/{table}/ask";
/// `POST`: asks for a record in units; answered by them, as they are made.
pub const STREAM: &str = "/v1/tables/{table}/stream";
/// `POST`: orders hints from the server that makes them; answered by a supply frame.
pub const HINTS: &str = "/v1/tables/{table}/hints";
/// `POST`: asks for evaluations of a symmetric table's function; answered by an evaluation frame.
pub const EVALUATE: &str = "/v1/tables/{table}/evaluate";
/// `GET`: a signed stack: the tables a layer lies on, and its public files.
pub const STACK: &str = "/v1/stacks/{stack}";
/// `GET`: a static file by the hexadecimal BLAKE3 digest of its bytes; ranges welcome.
pub const ARTIFACT: &str = "/v1/artifacts/{digest}";
/// `GET`: the proof that a catalog or a stack, by its digest, is in its publisher's log; the log is named by the publisher's key.
pub const LOG_PROOF: &str = "/v1/logs/{key}/proofs/{digest}";
/// `GET`: a file of a publisher's log (`c2sp.org/tlog-tiles`).
pub const LOG_FILE: &str = "/v1/logs/{key}/{*path}";

/// Content type of frames and artifacts.
pub const OCTETS: &str = "application/octet-stream";
/// What requests to the operator's address that change something have to bring, with any value: no web page can send it.
pub const ADMIN_HEADER: &str = "sotto-admin";
/// Content type of catalogs and lists.
pub const JSON: &str = "application/json";
/// Content type of checkpoints and proofs.
pub const TEXT: &str = "text/plain; charset=utf-8";
/// Content type of refusals (RFC 9457 names it; the members are ours).
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Seconds to wait before the next try, on 429 and 503.
pub const RETRY_AFTER: &str = "retry-after";
/// How long the server took; see [`crate::Timing`].
pub const SERVER_TIMING: &str = "server-timing";

/// The tables a server serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableList {
    /// Their names, in alphabetical order.
    pub tables: Vec<String>,
    /// The stacks that some of them belong to, in alphabetical order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<String>,
    /// Which of the scheme's servers this one is, for each table whose scheme asks several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, u8>,
}

/// The path of a table's catalog.
pub fn table(table: &str, epoch: Option<Epoch>) -> String {
    match epoch {
        None => format!("/v1/tables/{table}"),
        Some(epoch) => format!("/v1/tables/{table}?epoch={epoch}"),
    }
}

/// The path of a stack.
pub fn stack(stack: &str) -> String {
    format!("/v1/stacks/{stack}")
}

/// The path keys are posted to.
pub fn keys(table: &str) -> String {
    format!("/v1/tables/{table}/keys")
}

/// The path asks are posted to.
pub fn query(table: &str) -> String {
    format!("/v1/tables/{table}/ask")
}

/// The path requests for a record in units are posted to.
pub fn stream(table: &str) -> String {
    format!("/v1/tables/{table}/stream")
}

/// The path hints are ordered at.
pub fn hints(table: &str) -> String {
    format!("/v1/tables/{table}/hints")
}

/// The path evaluations are asked for at.
pub fn evaluate(table: &str) -> String {
    format!("/v1/tables/{table}/evaluate")
}

/// The path of an artifact.
pub fn artifact(digest_hex: &str) -> String {
    format!("/v1/artifacts/{digest_hex}")
}

/// The path of the proof that a catalog or a stack is in a log.
pub fn log_proof(key_hex: &str, digest_hex: &str) -> String {
    format!("/v1/logs/{key_hex}/proofs/{digest_hex}")
}

/// The path of a file of a log.
pub fn log_file(key_hex: &str, path: &str) -> String {
    format!("/v1/logs/{key_hex}/{path}")
}
