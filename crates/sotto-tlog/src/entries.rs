//! Bundles of entries, and the leaf hash of each entry.
//!
//! | layout | an entry in a bundle | hashed content |
//! |---|---|---|
//! | `tlog-tiles` | a length, two bytes, big-endian; the entry | the entry |
//! | `static-ct` | `TileLeaf`: a `TimestampedEntry` and its sources | `00 00` and the `TimestampedEntry` |
//! | `sumdb` | the entry's number, a newline, the record, a newline | the record |
//!
//! The two zero bytes mean v1 and `timestamped_entry` (RFC 6962, 3.4).
#![deny(clippy::indexing_slicing)]

use crate::note::decimal;
use crate::{LogError, LogLayout, Result};
use sotto_tree::log::{Hash, hash};

/// Largest size of a bundle in bytes. 256 entries of Certificate Transparency have about 400 KB.
pub const MAX_BUNDLE_BYTES: u64 = 1 << 26;

/// An entry of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleEntry<'a> {
    /// Bytes of the entry in the bundle.
    pub written: &'a [u8],
    /// Part of the entry that is hashed: an entry, a `TimestampedEntry`, a record.
    pub content: &'a [u8],
    /// Leaf hash of the entry.
    pub leaf: Hash,
}

/// Iterator over the entries of a bundle. It ends after the first malformed one.
#[derive(Clone, Debug)]
pub struct BundleEntries<'a> {
    layout: LogLayout,
    rest: &'a [u8],
    index: u64,
    path: &'a str,
}

impl<'a> BundleEntries<'a> {
    /// Iterates over a bundle whose first entry has the given index in its log. `path` is for
    /// errors.
    pub fn new(layout: LogLayout, bytes: &'a [u8], first: u64, path: &'a str) -> Self {
        BundleEntries { layout, rest: bytes, index: first, path }
    }

    fn cut(&mut self) -> std::result::Result<BundleEntry<'a>, &'static str> {
        let mut rest = self.rest;
        let (content, leaf) = match self.layout {
            LogLayout::Tiles => {
                let length = number::<2>(&mut rest).ok_or("expected a length")?;
                let entry = take(&mut rest, length).ok_or("truncated")?;
                (entry, hash::leaf(entry))
            }
            LogLayout::StaticCt => {
                let entry = timestamped(&mut rest)?;
                (entry, hash::leaf(&[&[0, 0], entry].concat()))
            }
            LogLayout::SumDb => {
                let record = record(&mut rest, self.index)?;
                (record, hash::leaf(record))
            }
        };
        let (written, _) = self.rest.split_at(self.rest.len() - rest.len());
        self.rest = rest;
        self.index += 1;
        Ok(BundleEntry { written, content, leaf })
    }
}

impl<'a> Iterator for BundleEntries<'a> {
    type Item = Result<BundleEntry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let index = self.index;
        Some(self.cut().map_err(|why| {
            self.rest = &[];
            LogError::Entry { path: self.path.into(), index, why: why.into() }
        }))
    }
}

/// Advances past a `TileLeaf` and returns its `TimestampedEntry` (static-ct-api, "Log entries"; RFC
/// 6962, 3.4).
fn timestamped<'a>(rest: &mut &'a [u8]) -> std::result::Result<&'a [u8], &'static str> {
    const CUT: &str = "truncated";
    const X509: u64 = 0;
    const PRECERT: u64 = 1;
    let all = *rest;
    number::<8>(rest).ok_or(CUT)?;
    let kind = number::<2>(rest).ok_or(CUT)?;
    match kind {
        X509 => {}
        PRECERT => drop(take(rest, 32).ok_or(CUT)?),
        _ => return Err("expected a certificate or a pre-certificate"),
    }
    sized::<3>(rest).ok_or(CUT)?;
    sized::<2>(rest).ok_or(CUT)?;
    let (entry, _) = all.split_at(all.len() - rest.len());
    if kind == PRECERT {
        sized::<3>(rest).ok_or(CUT)?;
    }
    let issuers = sized::<2>(rest).ok_or(CUT)?;
    if issuers.len().is_multiple_of(32) {
        Ok(entry)
    } else {
        Err("the issuers are not fingerprints of 32 bytes")
    }
}

/// Advances past a record and its number (`FormatRecord` of `golang.org/x/mod/sumdb/tlog`). A
/// record is non-empty lines of UTF-8.
fn record<'a>(rest: &mut &'a [u8], index: u64) -> std::result::Result<&'a [u8], &'static str> {
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or("expected a record number")?;
    let number = take(rest, end as u64).and_then(|digits| std::str::from_utf8(digits).ok());
    if number.and_then(decimal) != Some(index) {
        return Err("the record number is not the entry's index");
    }
    take(rest, 1);
    let length = rest.windows(2).position(|pair| pair == b"\n\n").ok_or("expected an empty line after it")?;
    let record = take(rest, length as u64 + 1).ok_or("truncated")?;
    take(rest, 1);
    let text = std::str::from_utf8(record).map_err(|_| "not UTF-8")?;
    let plain = text.bytes().all(|byte| byte >= b' ' || byte == b'\n') && !text.starts_with('\n');
    if plain { Ok(record) } else { Err("control characters or an empty line") }
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = left;
    Some(taken)
}

/// Reads a big-endian number of `BYTES` bytes.
fn number<const BYTES: u64>(rest: &mut &[u8]) -> Option<u64> {
    Some(take(rest, BYTES)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Reads bytes after their length, which has `BYTES` bytes.
fn sized<'a, const BYTES: u64>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = number::<BYTES>(rest)?;
    take(rest, length)
}
