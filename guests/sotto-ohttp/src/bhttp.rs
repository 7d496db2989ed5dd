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

/// Largest number of informational responses (1xx) before the final one.
const MAX_BEFORE: usize = 8;

/// The unread bytes of a message, and its remaining limits.
struct BhttpReader {
    bytes: Bytes,
    limits: BhttpLimits,
    /// Number of fields that may still follow, and their bytes.
    fields: usize,
    remaining: usize,
    known: bool,
}

impl Request {
    /// Parses a request.
    ///
    /// # Errors
    /// [`BhttpError`].
    pub fn read(bytes: Bytes, limits: BhttpLimits) -> Result<Self, BhttpError> {
        let mut rest = BhttpReader::of(bytes, limits, [0, 2])?;
        let (method, scheme) = (rest.text()?, rest.text()?);
        let (authority, path) = (rest.text()?, rest.text()?);
        if method.is_empty() || !method.bytes().all(is_token) || scheme.is_empty() {
            return Err(BhttpError::Text);
        }
        let fields = rest.section()?;
        let body = rest.body()?;
        Ok(Request { method, scheme, authority, path, fields, body })
    }
}

impl Response {
    /// Parses a response. Informational responses (1xx) before the final one are skipped.
    ///
    /// # Errors
    /// [`BhttpError`].
    pub fn read(bytes: Bytes, limits: BhttpLimits) -> Result<Self, BhttpError> {
        let mut rest = BhttpReader::of(bytes, limits, [1, 3])?;
        for _ in 0..=MAX_BEFORE {
            let status = rest.number()?;
            let fields = rest.section()?;
            match status {
                100..200 => {}
                200..600 => {
                    let body = rest.body()?;
                    return Ok(Response { status: status as u16, fields, body });
                }
                _ => return Err(BhttpError::Status),
            }
        }
        Err(BhttpError::TooMuch)
    }
}

impl BhttpReader {
    /// Starts to read after the framing indicator, which says whether lengths are known.
    fn of(bytes: Bytes, limits: BhttpLimits, [known, unknown]: [u64; 2]) -> Result<Self, BhttpError> {
        let mut rest =
            BhttpReader { bytes, limits, fields: limits.fields, remaining: limits.bytes, known: true };
        let kind = rest.number()?;
        rest.known = kind == known;
        if rest.known || kind == unknown { Ok(rest) } else { Err(BhttpError::Kind) }
    }

    /// Reads an integer of one, two, four or eight bytes; its two highest bits encode the number of
    /// bytes.
    fn number(&mut self) -> Result<u64, BhttpError> {
        let first = *self.bytes.first().ok_or(BhttpError::Short)?;
        let more = self.take(1 << (first >> 6))?;
        let all = more.iter().skip(1).fold(u64::from(first & 0x3F), |all, byte| all << 8 | u64::from(*byte));
        Ok(all)
    }

    /// Takes the next `bytes` bytes as a slice of the input.
    fn take(&mut self, bytes: usize) -> Result<Bytes, BhttpError> {
        match bytes <= self.bytes.len() {
            true => Ok(self.bytes.split_to(bytes)),
            false => Err(BhttpError::Short),
        }
    }

    /// Reads a length, and as many bytes.
    fn lengthy(&mut self, most: usize) -> Result<Bytes, BhttpError> {
        let length = usize::try_from(self.number()?).map_err(|_| BhttpError::Short)?;
        if length > most { Err(BhttpError::TooMuch) } else { self.take(length) }
    }

    /// Reads a text of printable ASCII.
    fn text(&mut self) -> Result<String, BhttpError> {
        let text = self.lengthy(self.limits.bytes)?;
        let is_text = text.iter().all(u8::is_ascii_graphic);
        let text = std::str::from_utf8(&text).ok().filter(|_| is_text).ok_or(BhttpError::Text)?;
        Ok(text.to_owned())
    }

    /// Reads all fields of a section. A missing section is empty.
    fn section(&mut self) -> Result<Fields, BhttpError> {
        let mut fields = Fields::new();
        if self.bytes.is_empty() {
            return Ok(fields);
        }
        if self.known {
            // Each name and each value follows a length of at most eight bytes.
            let section = self.lengthy(self.remaining.saturating_add(self.fields.saturating_mul(16)))?;
            let behind = std::mem::replace(&mut self.bytes, section);
            while !self.bytes.is_empty() {
                let length = self.number()?;
                fields.push(self.field(length)?);
            }
            self.bytes = behind;
            return Ok(fields);
        }
        loop {
            // The section ends with an empty name.
            match self.number()? {
                0 => return Ok(fields),
                length => fields.push(self.field(length)?),
            }
        }
    }

    /// Reads a field whose name has this length.
    fn field(&mut self, length: u64) -> Result<(String, Bytes), BhttpError> {
        self.fields = self.fields.checked_sub(1).ok_or(BhttpError::TooMuch)?;
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length <= self.remaining)
            .ok_or(BhttpError::TooMuch)?;
        let name = self.take(length)?;
        let value = self.lengthy(self.remaining)?;
        self.remaining = self.remaining.checked_sub(name.len() + value.len()).ok_or(BhttpError::TooMuch)?;
        let is_name = !name.is_empty() && name.iter().all(|b| is_token(*b) && !b.is_ascii_uppercase());
        let is_value = value.iter().all(|b| !matches!(b, 0 | b'\r' | b'\n'));
        let name = std::str::from_utf8(&name).ok().filter(|_| is_name && is_value).ok_or(BhttpError::Text)?;
        Ok((name.to_owned(), value))
    }

    /// Reads the content, and skips what follows it.
    fn body(&mut self) -> Result<Bytes, BhttpError> {
        let body = self.content()?;
        self.section()?;
        if self.bytes.iter().any(|byte| *byte != 0) { Err(BhttpError::Long) } else { Ok(body) }
    }

    fn content(&mut self) -> Result<Bytes, BhttpError> {
        if self.bytes.is_empty() {
            return Ok(Bytes::new());
        }
        if self.known {
            return self.lengthy(usize::MAX);
        }
        let mut all = Vec::new();
        loop {
            // The content ends with an empty chunk.
            let chunk = self.lengthy(usize::MAX)?;
            if chunk.is_empty() {
                return Ok(all.into());
            }
            all.extend_from_slice(&chunk);
        }
    }
}

/// Whether a byte is valid in the name of a field or of a method (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

impl Request {
    /// Encodes the request.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![0];
        for text in [&self.method, &self.scheme, &self.authority, &self.path] {
            put(&mut out, text.as_bytes());
        }
        whole(out, &self.fields, &self.body)
    }
}

impl Response {
    /// Encodes the response.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![1];
        number(&mut out, u64::from(self.status));
        whole(out, &self.fields, &self.body)
    }
}

/// Appends fields, content, and empty trailers.
fn whole(mut out: Vec<u8>, fields: &Fields, body: &[u8]) -> Vec<u8> {
    let mut section = Vec::new();
    for (name, value) in fields {
        put(&mut section, name.as_bytes());
        put(&mut section, value);
    }
    out.reserve(section.len() + body.len() + 32);
    put(&mut out, &section);
    put(&mut out, body);
    out.push(0);
    out
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends an integer in as few bytes as possible. Integers from 2^62 on cannot be encoded, but no
/// length is that large.
fn number(out: &mut Vec<u8>, number: u64) {
    match number {
        0..0x40 => out.push(number as u8),
        0x40..0x4000 => out.extend((number as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend((number as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend((number | 0xC000_0000_0000_0000).to_be_bytes()),
    }
}
