//! A vector's two files, and the requests and responses in them.

use sotto_binding::vector::{self, Body, Exchange, MARK, NamedBytes, Pieces, Vector};
use sotto_catalog::{Hex32, HexBytes};
use sotto_client::transport::{Request, Response};
use std::collections::HashMap;

/// Maximum bytes of a body in the text.
const MAX_HEX: usize = 600;

/// Maximum bytes of a request that is stored at all. It follows from the seed, and answers are
/// opened without it.
const MAX_REQUEST: usize = 80_000;

/// Bytes of a repeated piece, in bodies of more than a quarter of a mebibyte: rows of a hint.
const PIECE: usize = 4096;
const MAX_PLAIN: usize = 1 << 18;

/// The two files of a vector.
pub(crate) struct VectorFiles {
    pub(crate) name: String,
    pub(crate) text: String,
    /// Empty if all bytes stand in the text.
    pub(crate) bytes: Vec<u8>,
}

/// The bytes after the text so far.
#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    /// Offsets of the bodies that are stored already: servers of one table send the same catalog.
    places: HashMap<Hex32, u64>,
    /// The offset of the pieces, and their numbers.
    pieces: Option<(usize, HashMap<[u8; PIECE], u8>)>,
}

impl Writer {
    /// The reference to a stored body.
    pub(crate) fn body(&mut self, body: &[u8]) -> Body {
        if body.len() <= MAX_HEX {
            return Body::Hex(HexBytes(body.to_vec()));
        }
        if self.bytes.is_empty() {
            self.bytes.extend(MARK);
        }
        let (blake3, bytes) = (blake3::hash(body).into(), body.len() as u64);
        if let Some((at, pieces)) = self.repeated(body) {
            return Body::Named(NamedBytes { bytes, blake3, at: Some(at), pieces: Some(pieces) });
        }
        let end = self.bytes.len() as u64;
        let at = *self.places.entry(blake3).or_insert(end);
        if at == end {
            self.bytes.extend(body);
        }
        Body::Named(NamedBytes { bytes, blake3, at: Some(at), pieces: None })
    }

    /// The offset of pieces that make up a body, and their order; `None` for a body that is short or
    /// has more than 256 different pieces.
    fn repeated(&mut self, body: &[u8]) -> Option<(u64, Pieces)> {
        let (pieces, rest) = body.as_chunks::<PIECE>();
        if body.len() <= MAX_PLAIN || !rest.is_empty() {
            return None;
        }
        let end = self.bytes.len();
        let (at, mut known) = self.pieces.clone().unwrap_or((end, HashMap::new()));
        // Once other bytes follow the pieces, no more can be added.
        let is_last = at + PIECE * known.len() == end;
        let (mut order, mut more) = (Vec::with_capacity(pieces.len()), Vec::<u8>::new());
        for piece in pieces {
            let next = u8::try_from(known.len()).ok().filter(|_| is_last);
            let number = known.get(piece).copied().or(next)?;
            if known.insert(*piece, number).is_none() {
                more.extend(piece);
            }
            order.push(number);
        }
        self.bytes.extend(more);
        self.pieces = Some((at, known));
        Some((at as u64, Pieces { size: PIECE as u64, order: HexBytes(order) }))
    }

    /// The body of a request, which is left out if it is long.
    pub(crate) fn request(&mut self, body: &[u8]) -> Body {
        if body.len() <= MAX_REQUEST {
            return self.body(body);
        }
        Body::Named(NamedBytes {
            bytes: body.len() as u64,
            blake3: blake3::hash(body).into(),
            at: None,
            pieces: None,
        })
    }

    pub(crate) fn finish(self, name: &str, vector: &Vector) -> serde_json::Result<VectorFiles> {
        let text = serde_json::to_string_pretty(vector)? + "\n";
        Ok(VectorFiles { name: name.to_owned(), text, bytes: self.bytes })
    }
}

impl VectorFiles {
    /// The two files by their names.
    pub(crate) fn files(&self) -> impl Iterator<Item = (String, &[u8])> {
        let binary = (!self.bytes.is_empty()).then(|| (format!("{}.bin", self.name), self.bytes.as_slice()));
        [(format!("{}.json", self.name), self.text.as_bytes())].into_iter().chain(binary)
    }
}

/// A request that was sent, and its response.
pub(crate) struct RecordedExchange {
    pub(crate) server: u8,
    pub(crate) request: Request,
    pub(crate) response: Response,
}

impl RecordedExchange {
    pub(crate) fn written(&self, writer: &mut Writer) -> Exchange {
        let RecordedExchange { server, request, response } = self;
        Exchange {
            server: *server,
            method: vector::method(request.method).to_owned(),
            path: request.path.clone(),
            range: request.range.as_ref().map(vector::range),
            request: (!request.body.is_empty()).then(|| writer.request(&request.body)),
            status: response.status,
            response: writer.body(&response.body),
        }
    }
}
