//! Parses binary HTTP. A body of known length is a slice of the input; memory is allocated only for
//! fields, which are limited, and for a body in chunks, which is no longer than the input.

use super::{BhttpError, BhttpLimits, Fields, Request, Response};
use bytes::Bytes;

/// Largest number of informational responses (1xx) before the final one.
const MAX_BEFORE: usize = 8;

/// The unread bytes of a message, and its remaining limits.
struct BhttpReader {
    bytes: Bytes,
    limits: BhttpLimits,
    /// Number of fields that may still follow, and their bytes.
    fields: usize,
    room: usize,
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
        let mut rest = BhttpReader { bytes, limits, fields: limits.fields, room: limits.bytes, known: true };
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
            let section = self.lengthy(self.room.saturating_add(self.fields.saturating_mul(16)))?;
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
        let length =
            usize::try_from(length).ok().filter(|length| *length <= self.room).ok_or(BhttpError::TooMuch)?;
        let name = self.take(length)?;
        let value = self.lengthy(self.room)?;
        self.room = self.room.checked_sub(name.len() + value.len()).ok_or(BhttpError::TooMuch)?;
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
