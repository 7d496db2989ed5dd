//! Replay of recorded lookups: whether this build, on this processor, makes the same requests and
//! recovers the same row.
//!
//! | module | contents |
//! |---|---|
//! | `format` | the file: a text followed by bytes (`spec/vectors/README.md` describes it) |
//! | `lookup` | a lookup over any transport |
//! | `error` | what was found wrong, and whose fault it is |
//!
//! A vector names the seed of the generator that its client drew from. [`replay`] opens the table
//! over the recorded messages with a generator of that seed, compares every request with the
//! recorded one, and feeds the recorded responses. The generator lives as long as the call does and
//! there is no network in it, so a seed that everybody knows serves no real lookup. The feature
//! `record` exports both for tools that make vectors; released builds do not have it.

mod error;
mod format;
mod lookup;

pub use error::VectorError;
pub use format::{
    Body, Exchange, FORMAT, MARK, NamedBytes, Pieces, TrailingBytes, Vector, VectorKey, VectorLookup, method,
    range,
};
#[cfg(feature = "record")]
pub use lookup::{generator, lookup};
#[cfg(not(feature = "record"))]
use lookup::{generator, lookup};

use sotto_client::transport::{Request, Response};

/// The contents of a vector that this build has reproduced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayReport {
    /// Id of the scheme.
    pub scheme: String,
    /// Index of the row; `None` if a key or several rows were looked up.
    pub row: Option<u64>,
    /// Value of the row or of the key, or the rows one after the other.
    pub value: Vec<u8>,
    /// Number of compared requests.
    pub requests: usize,
}

/// Replays a vector: its text, followed by the bytes of the file next to it, if there is one.
///
/// # Errors
/// [`VectorError`]: the vector is damaged, or this build does not reproduce it.
pub fn replay(file: &[u8]) -> Result<ReplayReport, VectorError> {
    let (vector, bytes) = Vector::parse(file)?;
    if sotto_registry::find(&vector.scheme).is_none() {
        return Err(VectorError::UnknownScheme(vector.scheme));
    }
    // The secrets are for other clients, which need all of their bytes.
    for (name, secret) in &vector.secrets {
        if bytes.of(secret)?.is_none() {
            return Err(VectorError::damaged(name, "only requests may be omitted"));
        }
    }
    let mut tape = ReplayTransport { vector: &vector, bytes, step: 0 };
    let (key, requested) = (vector.key.0, vector.lookup()?);
    let mut rng = generator(&vector.seed);
    let found = lookup(&vector.table, key, vector.servers, &requested, &mut rng, &mut |server, request| {
        tape.play(server, request)
    });
    let (scheme, value) = found.map_err(|error| error.at(tape.step))?;
    if tape.step != vector.exchanges.len() {
        return Err(VectorError::RequestMissing { step: tape.step });
    }
    if scheme != vector.scheme {
        return Err(VectorError::damaged("the scheme", "differs from that of the catalog"));
    }
    if value != vector.value.0 {
        return Err(VectorError::OtherRow(requested.to_string()));
    }
    Ok(ReplayReport { scheme, row: vector.row, value, requests: tape.step })
}

/// The recorded messages, replayed in their order.
struct ReplayTransport<'a> {
    vector: &'a Vector,
    bytes: TrailingBytes<'a>,
    step: usize,
}

impl ReplayTransport<'_> {
    fn play(&mut self, server: u8, request: &Request) -> Result<Response, VectorError> {
        let step = self.step;
        let differs = |what| VectorError::OtherRequest { step, what };
        let exchange = self.vector.exchanges.get(step).ok_or(differs("more requests than recorded"))?;
        let parts = [
            ("another server", exchange.server == server),
            ("another method", exchange.method == format::method(request.method)),
            ("another path", exchange.path == request.path),
            ("another range", exchange.range == request.range.as_ref().map(format::range)),
            ("another body", self.bytes.are(exchange.request.as_ref(), &request.body)?),
        ];
        if let Some((what, _)) = parts.iter().find(|(_, same)| !same) {
            return Err(differs(what));
        }
        let body = self.bytes.of(&exchange.response)?;
        let body = body.ok_or(VectorError::damaged("a response", "only requests may be omitted"))?;
        if body.len() as u64 > request.limit {
            return Err(VectorError::damaged("a response", "longer than any answer to the request"));
        }
        self.step += 1;
        Ok(Response::new(exchange.status, body.into_owned()))
    }
}
