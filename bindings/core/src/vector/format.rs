//! The file of a vector: a JSON text, followed by bytes that are too many for a text.

use super::VectorError;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sotto_catalog::{Hex32, HexBytes, PublicKey, TableName};
use sotto_client::transport::Method;
use sotto_core::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Format and version of a vector.
pub const FORMAT: &str = "sotto-vector/1";

/// First bytes after the text. A text has no zero byte, so this is also where it ends.
pub const MARK: &[u8; 16] = b"\0sotto-vector/1\n";

/// Maximum bytes of a text, number of exchanges in it, and bytes that are assembled from pieces.
const MAX_TEXT: usize = 4 << 20;
const MAX_EXCHANGES: usize = 1024;
const MAX_TOGETHER: usize = 64 << 20;

/// A recorded lookup.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// Always [`FORMAT`].
    pub format: String,
    /// Description for a person.
    pub about: String,
    /// Id of the scheme.
    pub scheme: String,
    /// Name of the table.
    pub table: TableName,
    /// Publisher's key, which the client has pinned.
    pub key: VectorKey,
    /// Number of servers.
    pub servers: u8,
    /// Seed of the client's generator.
    pub seed: Hex32,
    /// Index of the requested row, if one row was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// Requested key, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyword: Option<String>,
    /// Indices of the rows that were requested at once, of a stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<u64>>,
    /// Value of the row or of the key, or the rows one after the other.
    pub value: HexBytes,
    /// Requests and their responses, in order.
    pub exchanges: Vec<Exchange>,
    /// Secrets with which a client with another generator opens the answers, under the names of the
    /// scheme's page.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, Body>,
}

/// What a vector looks up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VectorLookup {
    /// A row of a table.
    Row(u64),
    /// The value of a key of a keyword table.
    Key(String),
    /// Several rows of a stack at once.
    Rows(Vec<u64>),
}

/// A publisher's key, in the text form that is printed and pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorKey(pub PublicKey);

/// One request and its response.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Number of the server, counted from 0.
    pub server: u8,
    /// HTTP method: `GET` or `POST`.
    pub method: String,
    /// Path, beginning with the slash.
    pub path: String,
    /// Header `Range`, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// Body of a `POST`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Body>,
    /// HTTP status.
    pub status: u16,
    /// Body of the response.
    pub response: Body,
}

/// Bytes of a body: in the text, after it, or left out and identified by their digest.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Body {
    /// Bytes in the text.
    Hex(HexBytes),
    /// Bytes after the text, or left out.
    Named(NamedBytes),
}

/// Bytes that are not in the text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedBytes {
    /// Number of bytes.
    pub bytes: u64,
    /// Digest of the bytes.
    pub blake3: Hex32,
    /// Offset of the bytes, counted from the first byte of [`MARK`]; `None` if they are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// Pieces that the bytes are assembled from, if they repeat themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pieces: Option<Pieces>,
}

/// Pieces of equal size, each of which is stored once.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pieces {
    /// Bytes of a piece.
    pub size: u64,
    /// Order of the pieces, a byte for each: number i begins i times `size` after `at`.
    pub order: HexBytes,
}

impl Vector {
    /// Parses a vector, and returns it with the bytes after its text.
    ///
    /// # Errors
    /// [`VectorError::NotAVector`], [`VectorError::Version`], [`VectorError::Damaged`].
    pub fn parse(file: &[u8]) -> Result<(Self, TrailingBytes<'_>), VectorError> {
        let end = file.iter().position(|byte| *byte == 0).unwrap_or(file.len());
        let (text, behind) = file.split_at_checked(end).unwrap_or((file, &[]));
        let not_one = |why: String| VectorError::NotAVector(why);
        if text.len() > MAX_TEXT {
            return Err(not_one(format!("the text exceeds {MAX_TEXT} bytes")));
        }
        if !behind.is_empty() && !behind.starts_with(MARK) {
            return Err(not_one("no marker after the text".into()));
        }
        // Fields of every version, so that a later one is reported by its name.
        #[derive(Deserialize)]
        struct Version {
            format: String,
        }
        let Version { format } = json::from_slice(text).map_err(|error| not_one(error.to_string()))?;
        if format != FORMAT {
            return Err(VectorError::Version(format));
        }
        let vector: Vector = json::from_slice(text).map_err(|error| not_one(error.to_string()))?;
        if vector.exchanges.len() > MAX_EXCHANGES {
            return Err(not_one(format!("it has more than {MAX_EXCHANGES} exchanges")));
        }
        Ok((vector, TrailingBytes { behind }))
    }

    /// What the vector looks up.
    ///
    /// # Errors
    /// [`VectorError::NotAVector`] unless it says that once.
    pub fn lookup(&self) -> Result<VectorLookup, VectorError> {
        match (self.row, &self.keyword, &self.rows) {
            (Some(row), None, None) => Ok(VectorLookup::Row(row)),
            (None, Some(key), None) => Ok(VectorLookup::Key(key.clone())),
            (None, None, Some(rows)) => Ok(VectorLookup::Rows(rows.clone())),
            _ => Err(VectorError::NotAVector("expected one of row, keyword and rows".into())),
        }
    }
}

impl fmt::Display for VectorLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VectorLookup::Row(row) => write!(f, "row {row}"),
            VectorLookup::Key(key) => write!(f, "the value of key {key:?}"),
            VectorLookup::Rows(rows) => write!(f, "one of rows {rows:?}"),
        }
    }
}

/// The bytes after a vector's text.
#[derive(Debug, Clone, Copy)]
pub struct TrailingBytes<'a> {
    behind: &'a [u8],
}

impl<'a> TrailingBytes<'a> {
    /// The bytes of a body; `None` if they are left out.
    ///
    /// # Errors
    /// [`VectorError::Damaged`] if they are missing, or have another digest.
    pub fn of<'b>(&self, body: &'b Body) -> Result<Option<Cow<'b, [u8]>>, VectorError>
    where
        'a: 'b,
    {
        let (named, at) = match body {
            Body::Hex(HexBytes(bytes)) => return Ok(Some(Cow::Borrowed(bytes))),
            Body::Named(NamedBytes { at: None, .. }) => return Ok(None),
            Body::Named(named @ NamedBytes { at: Some(at), .. }) => (named, *at),
        };
        let what = || format!("{} bytes at {at}", named.bytes);
        let bytes = match &named.pieces {
            None => self.place(at, named.bytes).map(Cow::Borrowed),
            Some(pieces) => self.together(at, pieces).map(Cow::Owned),
        };
        let bytes = bytes.ok_or_else(|| VectorError::damaged(what(), "missing"))?;
        if bytes.len() as u64 != named.bytes || named.blake3 != blake3::hash(&bytes).into() {
            return Err(VectorError::damaged(what(), "the digest does not match"));
        }
        Ok(Some(bytes))
    }

    fn place(&self, at: u64, bytes: u64) -> Option<&'a [u8]> {
        let (from, count) = (usize::try_from(at).ok()?, usize::try_from(bytes).ok()?);
        self.behind.get(from..from.checked_add(count)?)
    }

    fn together(&self, at: u64, pieces: &Pieces) -> Option<Vec<u8>> {
        let size = usize::try_from(pieces.size).ok()?;
        let total = size.checked_mul(pieces.order.0.len()).filter(|total| *total <= MAX_TOGETHER)?;
        let mut out = Vec::with_capacity(total);
        for number in &pieces.order.0 {
            let from = pieces.size.checked_mul(u64::from(*number))?.checked_add(at)?;
            out.extend(self.place(from, pieces.size)?);
        }
        Some(out)
    }

    /// Whether a body has these bytes; one that is left out is compared by its digest.
    ///
    /// # Errors
    /// As for [`TrailingBytes::of`].
    pub fn are(&self, body: Option<&Body>, bytes: &[u8]) -> Result<bool, VectorError> {
        Ok(match body {
            None => bytes.is_empty(),
            Some(Body::Named(NamedBytes { bytes: count, blake3, at: None, .. })) => {
                *count == bytes.len() as u64 && *blake3 == blake3::hash(bytes).into()
            }
            Some(body) => self.of(body)?.as_deref() == Some(bytes),
        })
    }
}

/// The HTTP name of a method.
pub fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Post => "POST",
    }
}

/// The value of an HTTP `Range` header.
pub fn range(range: &Range<u64>) -> String {
    format!("bytes={}-{}", range.start, range.end.saturating_sub(1))
}

impl Serialize for VectorKey {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&self.0)
    }
}

// What serde derives for `untagged` copies the body to a form of its own first, which is much code
// for browsers.
impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(BodyVisitor)
    }
}

struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = Body;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes as hexadecimal text, or an object that describes them")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Body, E> {
        text.parse().map(Body::Hex).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Body, A::Error> {
        NamedBytes::deserialize(MapAccessDeserializer::new(fields)).map(Body::Named)
    }
}

impl<'de> Deserialize<'de> for VectorKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        text.parse().map(VectorKey).map_err(D::Error::custom)
    }
}
