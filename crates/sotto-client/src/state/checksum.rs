//! Checksums of files and values, which detect damage.
//!
//! They protect against accidents, not against anyone who can write in the folder, and so has the
//! secrets anyway. A damaged hint would only give wrong rows, but a damaged request would be a
//! second one with the same hint.

use sotto_core::{ExpectOrDefault, Result};
use std::io::{self, Read, Write};

/// Bytes of the checksum before a value.
const CHECK: usize = 16;

/// Context of every hash in this module.
const CONTEXT: &str = "sotto 2026 client state value v1";

fn check(kind: &str, key: u64, bytes: &[u8]) -> [u8; CHECK] {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(kind.as_bytes()).update(&[0]).update(&key.to_le_bytes()).update(bytes);
    let mut out = [0; CHECK];
    hasher.finalize_xof().fill(&mut out);
    out
}

/// Prepends a checksum to a value. `kind` and `key` name the place of the value.
pub(crate) fn add_checksum(kind: &str, key: u64, bytes: &[u8]) -> Vec<u8> {
    [&check(kind, key, bytes)[..], bytes].concat()
}

/// The value that was given to [`add_checksum`]; `None` if the checksum does not match.
pub(crate) fn check_checksum<'a>(kind: &str, key: u64, sealed: &'a [u8]) -> Option<&'a [u8]> {
    let (found, bytes) = sealed.split_first_chunk::<CHECK>()?;
    (*found == check(kind, key, bytes)).then_some(bytes)
}

/// Reader or writer that hashes and counts the bytes that pass through it.
pub(crate) struct HashingIo<T> {
    inner: T,
    hasher: blake3::Hasher,
    bytes: u64,
}

/// Length of a file, and its digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileDigest {
    pub(crate) bytes: u64,
    pub(crate) digest: [u8; 32],
}

impl<T> HashingIo<T> {
    pub(crate) fn new(inner: T) -> Self {
        HashingIo { inner, hasher: blake3::Hasher::new(), bytes: 0 }
    }

    /// Length and digest of the bytes so far.
    pub(crate) fn sum(&self) -> FileDigest {
        FileDigest { bytes: self.bytes, digest: *self.hasher.finalize().as_bytes() }
    }

    /// The inner reader or writer, whose bytes are not hashed.
    pub(crate) fn inner(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: Write> Write for HashingIo<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..written).expect_or_default("a write is at most what was given"));
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for HashingIo<T> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        self.hasher.update(out.get(..read).expect_or_default("a read is at most the buffer"));
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Writes a head, the output of `fill`, and the digest of both; returns the length and digest of
/// what precedes the digest.
pub(crate) fn write_with_digest(
    out: &mut dyn Write,
    head: &[u8],
    fill: &mut dyn FnMut(&mut dyn Write) -> Result<()>,
) -> Result<FileDigest> {
    let mut hashing = HashingIo::new(out);
    hashing.write_all(head)?;
    // Schemes write small numbers, and a hash is fastest over many bytes at once.
    let mut buffered = io::BufWriter::with_capacity(64 << 10, &mut hashing);
    fill(&mut buffered)?;
    buffered.into_inner().map_err(io::IntoInnerError::into_error)?;
    let sum = hashing.sum();
    hashing.inner().write_all(&sum.digest)?;
    Ok(sum)
}

/// Reads the digest that follows what `hashing` has read. Returns whether it is correct and ends
/// the file.
pub(crate) fn is_sealed(hashing: &mut HashingIo<Box<dyn Read>>) -> io::Result<bool> {
    let sum = hashing.sum();
    let mut rest = Vec::new();
    hashing.inner().take(33).read_to_end(&mut rest)?;
    Ok(rest == sum.digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_another_place_is_not_taken() {
        let sealed = add_checksum("ask", 7, b"bytes");
        assert_eq!(check_checksum("ask", 7, &sealed), Some(&b"bytes"[..]));
        assert_eq!(check_checksum("ask", 8, &sealed), None);
        assert_eq!(check_checksum("entry", 7, &sealed), None);
        for cut in 0..sealed.len() {
            assert_eq!(check_checksum("ask", 7, &sealed[..cut]), None);
            let mut flipped = sealed.clone();
            flipped[cut] ^= 1;
            assert_eq!(check_checksum("ask", 7, &flipped), None);
        }
    }
}
