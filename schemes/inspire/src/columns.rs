//! Records as columns of the matrix, and columns as records.
//!
//! Column j has records t j to t j + t - 1. For each group of N of their numbers it has the t
//! coefficients of the polynomial that takes their values, one after the other: N numbers of two
//! signed bytes, the residues nearest to zero.

use crate::interpolate::{Direction, evaluate_at, transform};
use crate::literal::ParamsLiteral;
use crate::numbers::{GROUP_BYTES, NUMBER_BITS, place};
use rayon::prelude::*;
use sotto_core::{ExpectOrDefault, RecordChange, RecordSource, Result};
use sotto_math::bits::{pack16, unpack16};
use sotto_math::matrix::PanelLayout;
use sotto_silent::lattice::N;
use sotto_silent::matrix::StackedColumns;
use sotto_silent::unit_vector::bytes_of;

/// Bytes of a polynomial in the matrix.
pub(crate) const POLYNOMIAL_BYTES: usize = 2 * N;

/// The columns of a table's records.
pub(crate) struct Columns<'a> {
    pub(crate) params: &'a ParamsLiteral,
    pub(crate) rows: StackedColumns<'a>,
}

impl RecordSource for Columns<'_> {
    fn records(&self) -> u64 {
        self.params.columns()
    }

    fn record_bytes(&self) -> usize {
        self.params.layout().rows()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let (t, l, bytes) = (self.params.places as usize, self.record_bytes(), self.rows.height);
        let mut records = vec![0; out.len() / l * t * bytes];
        self.rows.read(first, &mut records)?;
        let columns = records.par_chunks_exact(t * bytes).zip(out.par_chunks_exact_mut(l));
        columns.for_each_init(Vec::new, |scratch, (records, column)| {
            let groups = column.chunks_exact_mut(t * POLYNOMIAL_BYTES);
            for (group, column) in groups.enumerate() {
                let mut polynomials = Vec::with_capacity(t * N);
                records.chunks_exact(bytes).for_each(|record| numbers(record, group, &mut polynomials));
                put(&mut polynomials, scratch, column);
            }
        });
        Ok(())
    }
}

/// Interpolates the polynomials of one group, and writes the coefficients.
pub(crate) fn put(polynomials: &mut [i32], scratch: &mut Vec<i32>, out: &mut [u8]) {
    scratch.resize(N, 0);
    transform(Direction::Interpolate, polynomials, scratch);
    for (x, pair) in polynomials.iter().zip(out.as_chunks_mut::<2>().0) {
        *pair = bytes_of(*x as u16);
    }
}

/// The polynomials whose coefficients are a group of a column.
pub(crate) fn take(column: &[u8], scratch: &mut Vec<i32>) -> Vec<i32> {
    scratch.resize(N, 0);
    let mut polynomials: Vec<i32> = column.as_chunks::<2>().0.iter().map(|pair| number(*pair)).collect();
    transform(Direction::Evaluate, &mut polynomials, scratch);
    polynomials
}

/// The number of two signed bytes.
fn number([low, high]: [u8; 2]) -> i32 {
    i32::from(low as i8) + 256 * i32::from(high as i8)
}

/// Appends the N numbers of a record in one group; past its end they are zero.
fn numbers(record: &[u8], group: usize, out: &mut Vec<i32>) {
    let first = group * GROUP_BYTES as usize;
    let mut bytes = [0; GROUP_BYTES as usize];
    let there = record.get(first..).unwrap_or_default();
    bytes.iter_mut().zip(there).for_each(|(byte, there)| *byte = *there);
    let numbers = unpack16(&bytes, NUMBER_BITS, N).expect_or_default("a group is whole bytes");
    out.extend(numbers.into_iter().map(i32::from));
}

/// Writes byte `offset` of a group into its numbers.
fn put_byte(numbers: &mut [i32], offset: u64, byte: u8) {
    let (number, before) = place(offset);
    let (low, bits, mask) = ((1 << NUMBER_BITS) - 1, i32::from(byte) << before, 0xff << before);
    let parts = [(bits, mask), (bits >> NUMBER_BITS, mask >> NUMBER_BITS)];
    for (x, (bits, mask)) in numbers.iter_mut().skip(number as usize).zip(parts) {
        *x = *x & !(mask & low) | bits & low;
    }
}

/// The groups of a record's bytes that any of these changes touches, each once.
pub(crate) fn groups(changes: &[&RecordChange]) -> Vec<usize> {
    let of_change = |change: &&RecordChange| {
        let end = change.offset + change.bytes.len() as u64;
        change.offset / GROUP_BYTES..end.div_ceil(GROUP_BYTES)
    };
    let mut groups: Vec<usize> = changes.iter().flat_map(of_change).map(|group| group as usize).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// Writes the bytes of a change that are in the group at some byte of a record.
pub(crate) fn put_change(numbers: &mut [i32], start: u64, change: &RecordChange) {
    let bytes = (change.offset..).zip(&change.bytes);
    let skipped = start.saturating_sub(change.offset) as usize;
    let within = bytes.skip(skipped).take_while(|(offset, _)| *offset < start + GROUP_BYTES);
    within.for_each(|(offset, byte)| put_byte(numbers, offset - start, *byte));
}

/// Reads bytes of a record from `offset` on in a matrix; `None` if the matrix does not have them.
pub(crate) fn read_record(
    layout: &PanelLayout,
    t: usize,
    matrix: &[u8],
    record: u64,
    offset: usize,
    out: &mut [u8],
) -> Option<()> {
    // Eight numbers are fifteen bytes.
    let (start, end) = (offset / 15 * 15, offset + out.len());
    let first = start / 15 * 8;
    let count = (end - start).div_ceil(15) * 8;
    let (column, k) = ((record / t as u64) as usize, (record % t as u64) as usize);
    let one = |number: usize| {
        let group = number / N;
        evaluate_at(t, k, number % N, |i, at| {
            let row = ((group * t + i) * N + at) * 2;
            let byte = |row| matrix.get(layout.offset(row, column)).copied();
            Some(self::number([byte(row)?, byte(row + 1)?]))
        })
    };
    let numbers: Option<Vec<u16>> = (first..first + count).map(one).collect();
    let mut bytes = Vec::new();
    pack16(&numbers?, NUMBER_BITS, &mut bytes);
    out.copy_from_slice(bytes.get(offset - start..end - start)?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_put_where_they_are_read() {
        let record: Vec<u8> = (0..2 * GROUP_BYTES - 100).map(|i| (i * i + 7 * i) as u8).collect();
        for (group, bytes) in record.chunks(GROUP_BYTES as usize).enumerate() {
            let (mut expected, mut made) = (Vec::new(), vec![0; N]);
            numbers(&record, group, &mut expected);
            for byte in [0xff, 0x00] {
                (0..bytes.len() as u64).for_each(|offset| put_byte(&mut made, offset, byte));
            }
            (0..).zip(bytes).for_each(|(offset, byte)| put_byte(&mut made, offset, *byte));
            assert_eq!(made, expected);
        }
    }
}
