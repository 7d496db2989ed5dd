//! Records read out of an image, without the whitening: for changes in place, and for re-encoding a
//! table of which there is no other copy.

use super::group::Group;
use super::image::PlaintextTable;
use crate::family::Family;
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::server::bytes_per_part;
use sotto_core::{Misuse, RecordSource, Result};
use sotto_lattice::bgv::SlotRing;
use sotto_lattice::bgv::table_product::TableProduct as Shape;

/// Reads the numbers of the plaintexts of a group, in the columns that are `needed`. `at` reads
/// bytes of the image.
pub(super) fn read<F: Family>(
    params: &Params<F>,
    shape: &Shape,
    group: Group,
    needed: impl Fn(usize) -> bool,
    at: impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<Vec<Vec<u64>>> {
    let region = group.table as u64 * shape.bytes();
    let one = |k| {
        if !needed(k) {
            return Ok(Vec::new());
        }
        let cell = group.cell(&params.layout, k);
        let coefficients = shape.read_cell(&params.ring, cell, |offset, out| at(region + offset, out))?;
        let mut numbers = vec![0; params.layout.n];
        params.ring.ring().decode(&coefficients, &mut numbers);
        Ok(numbers)
    };
    (0..params.layout.width).map(one).collect()
}

/// The records of an image.
pub(super) struct Records<F: Family> {
    table: PlaintextTable<F>,
}

impl<F: Family> Records<F> {
    pub(super) fn new(table: PlaintextTable<F>) -> Self {
        Records { table }
    }

    /// Fills pieces group by group, each of which is read once: a plaintext has parts of many
    /// records, so requests for more of them at once are cheaper.
    fn fill(&self, mut pieces: Vec<Piece<'_>>) -> Result<()> {
        pieces.sort_by_key(|piece| piece.group);
        let groups: Vec<_> = pieces.chunk_by_mut(|a, b| a.group == b.group).collect();
        groups.into_par_iter().try_for_each(|pieces| self.of_group(pieces))
    }

    /// Fills pieces of one group, and reads only the columns that a piece needs.
    fn of_group(&self, pieces: &mut [Piece<'_>]) -> Result<()> {
        let params = self.table.params();
        let Some(group) = pieces.first().map(|piece| piece.group) else { return Ok(()) };
        let mut needed = vec![false; params.layout.width];
        for piece in &*pieces {
            Group::columns(&params.layout, piece.inside..piece.inside + piece.out.len(), &mut needed);
        }
        let needed = |column: usize| needed.get(column).copied().unwrap_or(false);
        let at = |offset, out: &mut [u8]| self.table.at(offset, out);
        let numbers = read(params, &self.table.shape, group, needed, at)?;
        for piece in pieces {
            let record = group.get(params, (piece.bucket, piece.position), &numbers);
            let inside = record.get(piece.inside..).unwrap_or_default();
            piece.out.iter_mut().zip(inside).for_each(|(out, byte)| *out = *byte);
        }
        Ok(())
    }

    /// Makes the piece of a range of one record.
    fn piece<'a>(&self, record: u64, offset: u64, out: &'a mut [u8]) -> Result<Piece<'a>> {
        let (len, width) = (self.records(), self.record_bytes() as u64);
        let end = offset.saturating_add(out.len() as u64);
        for (index, len) in [(record.saturating_add(1), len), (end, width)] {
            if index > len {
                return Err(Misuse::IndexPastEnd { index, len }.into());
            }
        }
        let (group, bucket, position) = Group::of(&self.table.params().layout, record);
        Ok(Piece { group, bucket, position, inside: offset as usize, out })
    }
}

/// A range of bytes of one record, and the buffer for them.
struct Piece<'a> {
    group: Group,
    bucket: usize,
    position: usize,
    /// Offset of the first byte within the record.
    inside: usize,
    out: &'a mut [u8],
}

impl<F: Family> RecordSource for Records<F> {
    fn records(&self) -> u64 {
        self.table.params().literal.records
    }

    fn record_bytes(&self) -> usize {
        self.table.params().layout.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let width = self.record_bytes();
        if !out.len().is_multiple_of(width) {
            return Err(Misuse::Rule("the buffer must hold whole records").into());
        }
        let records = (first..).zip(out.chunks_exact_mut(width));
        self.fill(records.map(|(record, out)| self.piece(record, 0, out)).collect::<Result<_>>()?)
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        self.fill(vec![self.piece(record, offset, out)?])
    }

    fn read_parts(&self, parts: &[(u64, u64)], out: &mut [u8]) -> Result<()> {
        let each = bytes_per_part(parts.len(), out.len())?;
        let parts = parts.iter().zip(out.chunks_exact_mut(each));
        self.fill(
            parts.map(|((record, offset), out)| self.piece(*record, *offset, out)).collect::<Result<_>>()?,
        )
    }
}
