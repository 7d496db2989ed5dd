//! Binary HTTP (RFC 9292): a whole request or response as bytes. Messages of known and of
//! indeterminate length are read; only those of known length are written.
//!
//! ```text
//! request   0 | method | scheme | authority | path | fields | content | trailers | zeros       known length
//!           2 | method | scheme | authority | path | fields 0 | content in chunks 0 | trailers 0 | zeros
//! response  1 | (status | fields)* | status | fields | content | trailers | zeros
//!           3 | (status | fields 0)* | status | fields 0 | content in chunks 0 | trailers 0 | zeros
//! ```
//!
//! Each text follows its length, a variable-length integer of QUIC (RFC 9000, section 16). A
//! message may end after its fields, or after its content: missing parts are empty. Trailers are
//! skipped.

mod read;
mod write;

use bytes::Bytes;

/// Fields of a message: names in lower case, and values.
pub type Fields = Vec<(String, Bytes)>;

/// A request of binary HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Method, such as `POST`.
    pub method: String,
    /// Scheme, such as `https`.
    pub scheme: String,
    /// Host of the target, possibly with a port.
    pub authority: String,
    /// Path, with a query if there is one.
    pub path: String,
    /// Fields of the request.
    pub fields: Fields,
    /// Content of the request.
    pub body: Bytes,
}

/// A response of binary HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Status, from 200 to 599.
    pub status: u16,
    /// Fields of the response.
    pub fields: Fields,
    /// Content of the response.
    pub body: Bytes,
}

/// Limits on a message apart from its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BhttpLimits {
    /// Largest number of fields, including trailers.
    pub fields: usize,
    /// Largest size in bytes of all fields together, and of each text before them.
    pub bytes: usize,
}

impl Default for BhttpLimits {
    /// The customary limits of servers.
    fn default() -> Self {
        BhttpLimits { fields: 100, bytes: 16 << 10 }
    }
}

/// Why bytes are not a valid message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BhttpError {
    /// The message is of another kind than expected.
    #[error("not a message of this kind")]
    Kind,
    /// The message ends too early.
    #[error("truncated message")]
    Short,
    /// The message is followed by something else than zeros.
    #[error("bytes after the end of the message")]
    Long,
    /// The fields exceed the limits.
    #[error("too many or too long fields")]
    TooMuch,
    /// A name, a value or a text is invalid in HTTP.
    #[error("invalid HTTP field or text")]
    Text,
    /// The status is invalid for a response.
    #[error("invalid response status")]
    Status,
}
