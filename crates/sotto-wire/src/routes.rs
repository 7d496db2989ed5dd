//! Paths and header names of the protocol.
//!
//! The constants are patterns with `{name}` placeholders; the functions fill them in. Table names
//! contain only characters that need no escaping in a path (see the catalog), and digests are
//! hexadecimal.

use serde::{Deserialize, Serialize};
use sotto_core::Epoch;
use std::collections::BTreeMap;

/// `GET`: the list of tables, a [`TableList`].
pub const TABLES: &str = "/v1/tables";
/// `GET`: a table's signed catalog, the newest one or that of `?epoch=N`.
pub const TABLE: &str = "/v1/tables/{table}";
/// `POST`: registers keys; the response is a session id of 16 bytes.
pub const KEYS: &str = "/v1/tables/{table}/keys";
/// `POST`: a query request; the response is an answer frame.
pub const QUERY: &str = "/v1/tables/{table}/ask";
/// `POST`: requests a record in units; the response contains them as they are computed.
pub const STREAM: &str = "/v1/tables/{table}/stream";
/// `POST`: requests hints from the hint server; the response is a hint response frame.
pub const HINTS: &str = "/v1/tables/{table}/hints";
/// `POST`: requests evaluations of a symmetric table's function; the response is an evaluation
/// frame.
pub const EVALUATE: &str = "/v1/tables/{table}/evaluate";
/// `GET`: a signed stack: the tables under a layer, and its public files.
pub const STACK: &str = "/v1/stacks/{stack}";
/// `GET`: an artifact by the hexadecimal BLAKE3 digest of its bytes; ranges are supported.
pub const ARTIFACT: &str = "/v1/artifacts/{digest}";
/// `GET`: the proof that a catalog or a stack, named by its digest, is in its publisher's log; the
/// log is named by the publisher's key.
pub const LOG_PROOF: &str = "/v1/logs/{key}/proofs/{digest}";
/// `GET`: a file of a publisher's log (`c2sp.org/tlog-tiles`).
pub const LOG_FILE: &str = "/v1/logs/{key}/{*path}";

/// Content type of frames and artifacts.
pub const OCTETS: &str = "application/octet-stream";
/// Header that requests to the operator's address must have if they change something, with any
/// value: a web page cannot send it.
pub const ADMIN_HEADER: &str = "sotto-admin";
/// Content type of catalogs and lists.
pub const JSON: &str = "application/json";
/// Content type of checkpoints and proofs.
pub const TEXT: &str = "text/plain; charset=utf-8";
/// Content type of refusals (RFC 9457 names it; the members are ours).
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Seconds to wait before the next try, on 429 and 503.
pub const RETRY_AFTER: &str = "retry-after";
/// Header with the server's time; see [`crate::Timing`].
pub const SERVER_TIMING: &str = "server-timing";

/// The tables that a server serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableList {
    /// Names of the tables, in alphabetical order.
    pub tables: Vec<String>,
    /// Names of the stacks that some of the tables belong to, in alphabetical order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<String>,
    /// Role of this server, for each table whose scheme has several servers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, u8>,
}

/// Path of a table's catalog.
pub fn table(table: &str, epoch: Option<Epoch>) -> String {
    match epoch {
        None => format!("/v1/tables/{table}"),
        Some(epoch) => format!("/v1/tables/{table}?epoch={epoch}"),
    }
}

/// Path of a stack.
pub fn stack(stack: &str) -> String {
    format!("/v1/stacks/{stack}")
}

/// Path that keys are posted to.
pub fn keys(table: &str) -> String {
    format!("/v1/tables/{table}/keys")
}

/// Path that query requests are posted to.
pub fn query(table: &str) -> String {
    format!("/v1/tables/{table}/ask")
}

/// Path that requests for a record in units are posted to.
pub fn stream(table: &str) -> String {
    format!("/v1/tables/{table}/stream")
}

/// Path that hint requests are posted to.
pub fn hints(table: &str) -> String {
    format!("/v1/tables/{table}/hints")
}

/// Path that evaluation requests are posted to.
pub fn evaluate(table: &str) -> String {
    format!("/v1/tables/{table}/evaluate")
}

/// Path of an artifact.
pub fn artifact(digest_hex: &str) -> String {
    format!("/v1/artifacts/{digest_hex}")
}

/// Path of the proof that a catalog or a stack is in a log.
pub fn log_proof(key_hex: &str, digest_hex: &str) -> String {
    format!("/v1/logs/{key_hex}/proofs/{digest_hex}")
}

/// Path of a file of a log.
pub fn log_file(key_hex: &str, path: &str) -> String {
    format!("/v1/logs/{key_hex}/{path}")
}
