//! Processed databases: the files of tables that Apple's tools write and serve.
//!
//! A byte 1, the number of plaintexts, and each of them column by column: a byte 0 for one that is
//! zero, or a byte 1 and its values modulo both primes. Tables follow one another, and so do the
//! chunks of a table.

use crate::codec::Codec;
use sotto_bfv::mulpir::{EntryShape, ValueTable};
use sotto_core::{PeerMisbehaved, Result};
use std::io::Write;

const WHAT: &str = "processed database";
const VERSION: u8 = 1;

/// Row and column of each plaintext of a table, in the order of the file.
fn cells(shape: &EntryShape) -> impl Iterator<Item = (usize, usize)> + use<> {
    let ([rows, columns], chunks) = (shape.dimensions(), shape.chunks());
    (0..columns * chunks).flat_map(move |col| (0..rows).map(move |row| (row, col)))
}

/// Writes tables of one shape.
///
/// # Errors
/// The errors of writing.
pub fn write(codec: &Codec, tables: &[&ValueTable], out: &mut dyn Write) -> Result<()> {
    let count: usize = tables.iter().map(|table| cells(table.shape()).count()).sum();
    out.write_all(&[VERSION])?;
    out.write_all(&(count as u32).to_le_bytes())?;
    for table in tables {
        for (row, col) in cells(table.shape()) {
            let values = table.read(row, col);
            if values.iter().all(|value| *value == 0) {
                out.write_all(&[0])?;
                continue;
            }
            let mut poly = vec![1];
            codec.put_poly(codec.top(), &codec.theirs(&values), &mut poly);
            out.write_all(&poly)?;
        }
    }
    Ok(())
}

/// Reads `tables` tables of this shape.
///
/// # Errors
/// [`Peer`](sotto_core::Error::Peer) if the bytes do not contain that many; the errors of
/// [`ValueTable::filled`].
pub fn read(codec: &Codec, shape: &EntryShape, tables: usize, bytes: &[u8]) -> Result<Vec<ValueTable>> {
    let malformed = |why: &str| PeerMisbehaved::Malformed { what: WHAT, why: why.into() };
    let (version, rest) = bytes.split_first().ok_or(malformed("is empty"))?;
    let (count, mut rest) = rest.split_first_chunk().ok_or(malformed("has no count"))?;
    let want = (cells(shape).count() * tables) as u64;
    if *version != VERSION {
        return Err(malformed("is of another version").into());
    }
    let got = u64::from(u32::from_le_bytes(*count));
    if got != want {
        return Err(PeerMisbehaved::Count { what: "plaintexts", got, want }.into());
    }
    let len = codec.poly_bytes(codec.top());
    let mut all = Vec::with_capacity(tables);
    for _ in 0..tables {
        let mut polys = std::collections::BTreeMap::new();
        for cell in cells(shape) {
            let (tag, left) = rest.split_first().ok_or(malformed("ends before its last plaintext"))?;
            rest = left;
            match tag {
                0 => (),
                1 => {
                    let (poly, left) =
                        rest.split_at_checked(len).ok_or(malformed("ends within a plaintext"))?;
                    // Checked here, so that filling the table cannot fail.
                    codec.take_poly(codec.top(), poly, WHAT)?;
                    polys.insert(cell, poly);
                    rest = left;
                }
                _ => return Err(malformed("has a plaintext of an unknown kind").into()),
            }
        }
        all.push(ValueTable::filled(codec.kit(), shape, |row, col| {
            let poly = codec.take_poly(codec.top(), polys.get(&(row, col))?, WHAT).ok()?;
            Some(codec.ours(&poly))
        })?);
    }
    if rest.is_empty() { Ok(all) } else { Err(malformed("has bytes after its last plaintext").into()) }
}
