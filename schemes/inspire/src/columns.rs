//! Records as columns of the matrix, and columns as records.
//!
//! Column j has records t j to t j + t - 1. For each group of N of their numbers it has the t
//! coefficients of the polynomial that takes their values, one after the other: N numbers of two
//! signed bytes, the residues nearest to zero.
//!
//! Interpolation at roots of unity: t polynomials M_k of N numbers modulo p become the coefficients of the polynomial in Y that
//! takes the value M_k at Y = omega^k, and back (InsPIRe, eprint 2025/1352; the transform is Cooley's and Tukey's, 1965).
//! omega = X^(2 d / t) is a principal root of unity modulo X^d + 1: omega^(t / 2) = -1, so the sums
//! of its powers are zero for any p. Multiplying by a twiddle factor is a rotation, and only the
//! division by t requires an odd p. Numbers grow by a factor of t before they are reduced.

use crate::literal::{GROUP_BYTES, NUMBER_BITS, P, ParamsLiteral, place};
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

/// The largest centered residue: (p - 1) / 2.
const MIDDLE: i32 = (P / 2) as i32;

/// The direction of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From values to coefficients: c_i = t^-1 sum_k M_k omega^(-i k).
    Interpolate,
    /// From coefficients to values: M_k = sum_i c_i omega^(i k).
    Evaluate,
}

/// Transforms consecutive polynomials, t of N numbers each. Numbers are residues at most p in
/// absolute value; the resulting values are from 0 to p - 1, and coefficients are centered. `scratch`
/// is scratch for one polynomial.
///
/// # Panics
/// Unless t is a power of two from 1 to 2^12, and `scratch` has the size of a polynomial.
pub fn transform(direction: Direction, x: &mut [i32], scratch: &mut [i32]) {
    let t = x.len() / N;
    assert!(t.is_power_of_two() && t <= 1 << 12 && x.len() == t * N && scratch.len() == N, "t polynomials");
    reorder(x, t);
    let mut half = 1;
    while half < t {
        for block in x.chunks_exact_mut(2 * half * N) {
            let (low, high) = block.split_at_mut(half * N);
            for (j, (a, b)) in low.chunks_exact_mut(N).zip(high.chunks_exact_mut(N)).enumerate() {
                let turn = N / half * j;
                let by = if direction == Direction::Evaluate || turn == 0 { turn } else { 2 * N - turn };
                turned(b, by, scratch);
                for ((a, b), turned) in a.iter_mut().zip(b).zip(&*scratch) {
                    (*a, *b) = (*a + turned, *a - turned);
                }
            }
        }
        half *= 2;
    }
    match direction {
        Direction::Evaluate => x.iter_mut().for_each(|x| *x = positive(folded(*x))),
        // 1 / t is minus 2^15 / t.
        Direction::Interpolate => {
            let scale = -(1 << (NUMBER_BITS - t.ilog2()));
            x.iter_mut().for_each(|x| *x = nearest(folded(folded(*x) * scale)));
        }
    }
}

/// A number with the same residue modulo p, from below 2^30 in absolute value to -2^15..2^16: 2^15
/// is -1.
fn folded(x: i32) -> i32 {
    (x & ((1 << NUMBER_BITS) - 1)) - (x >> NUMBER_BITS)
}

/// The residue from 0 to p - 1.
fn positive(x: i32) -> i32 {
    let p = 2 * MIDDLE + 1;
    let x = if x < 0 { x + p } else { x };
    if x < p { x } else { x - p }
}

/// The residue nearest to zero.
fn nearest(x: i32) -> i32 {
    let x = positive(x);
    if x <= MIDDLE { x } else { x - 2 * MIDDLE - 1 }
}

/// Writes a polynomial times X^`by`, for `by` below 2 N.
fn turned(x: &[i32], by: usize, out: &mut [i32]) {
    let (turns, by) = (by / N, by % N);
    let sign = if turns == 0 { 1 } else { -1 };
    let (stay, wrap) = x.split_at(N - by);
    let (first, rest) = out.split_at_mut(by);
    first.iter_mut().zip(wrap).for_each(|(out, x)| *out = -sign * x);
    rest.iter_mut().zip(stay).for_each(|(out, x)| *out = sign * x);
}

/// Puts polynomials into bit-reversed order.
fn reorder(x: &mut [i32], t: usize) {
    let bits = t.ilog2();
    for i in 0..t {
        let other = if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) };
        if i < other {
            let (low, high) = x.split_at_mut(other * N);
            if let (Some(a), Some(b)) = (low.get_mut(i * N..(i + 1) * N), high.get_mut(..N)) {
                a.swap_with_slice(b);
            }
        }
    }
}

/// Number `i` of the value at omega^`place`, from coefficients that `read` reads by polynomial and
/// number.
pub fn evaluate_at(
    t: usize,
    place: usize,
    i: usize,
    read: impl Fn(usize, usize) -> Option<i32>,
) -> Option<u16> {
    let term = |c: usize| {
        let from = (2 * N + i - 2 * N / t * (c * place % t)) % (2 * N);
        let x = read(c, from % N)?;
        Some(i64::from(if from < N { x } else { -x }))
    };
    let sum: Option<i64> = (0..t).map(term).sum();
    Some(sum?.rem_euclid(i64::from(P)) as u16)
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

    fn values(t: usize) -> Vec<i32> {
        (0..t * N).map(|i| (i as u32).wrapping_mul(2_654_435_761) as i32 >> 17 & 0x7fff).collect()
    }

    #[test]
    fn values_come_back() {
        for t in [1, 2, 4, 8] {
            let values = values(t);
            let (mut x, mut scratch) = (values.clone(), vec![0; N]);
            transform(Direction::Interpolate, &mut x, &mut scratch);
            assert!(x.iter().all(|x| x.abs() <= i32::from(P / 2)));
            for place in 0..t {
                for i in [0, 1, 700, N - 1] {
                    let read = |c: usize, i: usize| x.get(c * N + i).copied();
                    let number = evaluate_at(t, place, i, read).unwrap();
                    assert_eq!(i32::from(number), values[place * N + i], "{t} {place} {i}");
                }
            }
            transform(Direction::Evaluate, &mut x, &mut scratch);
            assert_eq!(x, values);
        }
    }

    /// The definition: c_i = t^-1 sum_k M_k omega^(-i k).
    #[test]
    fn coefficients_are_those_of_the_definition() {
        let (t, p) = (8, i64::from(P));
        let values = values(t);
        let (mut x, mut scratch) = (values.clone(), vec![0; N]);
        transform(Direction::Interpolate, &mut x, &mut scratch);
        for i in 0..t {
            let mut sum = vec![0i64; N];
            for k in 0..t {
                let turn = (2 * N - 2 * N / t * (i * k % t)) % (2 * N);
                for r in 0..N {
                    let to = (r + turn) % (2 * N);
                    let x = i64::from(values[k * N + r]);
                    sum[to % N] += if to < N { x } else { -x };
                }
            }
            for (c, sum) in x[i * N..].iter().zip(&sum) {
                assert_eq!((i64::from(*c) * t as i64 - sum).rem_euclid(p), 0);
            }
        }
    }
}
