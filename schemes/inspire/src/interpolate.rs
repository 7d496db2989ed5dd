//! Interpolation at roots of unity: t polynomials M_k of N numbers modulo p become the coefficients of the polynomial in Y that
//! takes the value M_k at Y = omega^k, and back (InsPIRe, eprint 2025/1352; the transform is Cooley's and Tukey's, 1965).
//! omega = X^(2 d / t) is a principal root of unity modulo X^d + 1: omega^(t / 2) = -1, so the sums
//! of its powers are zero for any p. Multiplying by a twiddle factor is a rotation, and only the
//! division by t requires an odd p. Numbers grow by a factor of t before they are reduced.

use crate::numbers::{NUMBER_BITS, P};
use sotto_silent::lattice::N;

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
