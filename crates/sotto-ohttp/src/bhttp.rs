//! Binary HTTP (RFC 9292): a whole request or response as bytes. Both forms are read, of known and of unknown lengths; the first
//! is written.
//!
//! ```text
//! request   0 | method | scheme | authority | path | fields | content | trailers | zeros       of known lengths
//!           2 | method | scheme | authority | path | fields 0 | content in chunks 0 | trailers 0 | zeros
//! response  1 | (status | fields)* | status | fields | content | trailers | zeros
//!           3 | (status | fields 0)* | status | fields 0 | content in chunks 0 | trailers 0 | zeros
//! ```
//!
//! Each text has its length before, a number of QUIC (RFC 9000, section 16). A message may end after its fields, or after its
//! content: what is missing is empty. Trailers are read over.

mod read;
mod write;

use bytes::Bytes;

/// Fields of a message: names in lower case, and values.
pub type Fields = Vec<(String, Bytes)>;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Such as `POST`.
    pub method: String,
    /// Such as `https`.
    pub scheme: String,
    /// The host that is meant, and perhaps its port.
    pub authority: String,
    /// The path, with a query if there is one.
    pub path: String,
    /// Its fields.
    pub fields: Fields,
    /// Its content.
    pub body: Bytes,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// From 200 to 599.
    pub status: u16,
    /// Its fields.
    pub fields: Fields,
    /// Its content.
    pub body: Bytes,
}

/// What a message may have besides its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BhttpLimits {
    /// Fields, trailers counted too.
    pub fields: usize,
    /// Bytes of all of them together, and of each text before them.
    pub bytes: usize,
}

impl Default for BhttpLimits {
    /// What servers take by custom.
    fn default() -> Self {
        BhttpLimits { fields: 100, bytes: 16 << 10 }
    }
}

/// Bytes that are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BhttpError {
    /// It says what it is, and is something else.
    #[error("it is no message of this kind")]
    Kind,
    /// It ends too early.
    #[error("it is cut off")]
    Short,
    /// Behind its end is something else than zeros.
    #[error("something follows its end")]
    Long,
    /// More fields than may be, or longer ones.
    #[error("its fields are too many or too long")]
    TooMuch,
    /// A name, a value or a text that HTTP does not have.
    #[error("it has a field or a text that HTTP does not have")]
    Text,
    /// A status that no response has.
    #[error("no response has this status")]
    Status,
}
