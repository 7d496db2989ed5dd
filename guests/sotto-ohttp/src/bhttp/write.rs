//! Encodes binary HTTP messages of known length.

use super::{Fields, Request, Response};

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
