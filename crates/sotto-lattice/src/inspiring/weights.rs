//! What keys add to the bodies of few samples, as a product of integers.
//!
//! The body at `Y^j` is `b_j` plus a sum over switches of what `tau_i(y_l) d_il` has there, which is a linear function of the
//! coefficients of `y_l`: all switches together are one row of integers for each sample and digit. In the terms of
//! [`super`], with `D = n / 2g`, what `X^m` of a key counts at `Y^j` is
//!
//! ```text
//! T_jl[m] = sum_i what d_il(X) X^(m 5^i) has at X^(j D) = sum_i what tau_-i(d_il) X^m has at X^(j D / 5^i)
//! ```
//!
//! a sum of images of the digits, turned. It has the `g l n` numbers of as many digits in slots, but they are sums of less than
//! `g` digits, three bytes in the place of 6.4; and the product gives the bodies themselves, without any transform.

use super::{Descent, Inspiring};

/// Switches whose digits are added together: what they add lies in the second cache, and a row in the first.
const TOGETHER: usize = 4;

/// The weights of one packed ciphertext.
#[derive(Debug)]
pub struct Weights {
    /// For each sample, digit by digit, what each coefficient of a key counts.
    pub rows: Vec<i32>,
    /// The mask of the packed ciphertext, in slots.
    pub mask: Vec<u64>,
}

impl Weights {
    /// Weights of the first `count` samples. Only packing with one key has any.
    ///
    /// # Panics
    /// As [`Descent::new`]; if there are not so many samples, or as many as coefficients.
    pub fn new(packing: &Inspiring, samples: &[u64], count: usize) -> Self {
        let (n, l) = (packing.ring.n(), packing.digits());
        assert!(count <= packing.samples && packing.samples < n, "samples that are packed with one key");
        let mut descent = Descent::new(packing, samples);
        let mut rows = vec![0; count * l * n];
        let mut digits = vec![0; l * n];
        let inverse = inverse_of_5(n);
        let powers: Vec<usize> =
            std::iter::successors(Some(1), |k| Some(k * inverse % (2 * n))).take(packing.samples).collect();
        let mut images = Images { n, l, stride: packing.stride(), held: Vec::with_capacity(TOGETHER) };
        let half = packing.ring.q().value() / 2;
        let centred = |x: u64| if x > half { -((packing.ring.q().value() - x) as i32) } else { x as i32 };
        while descent.next_seen(&mut digits, |by, digits| {
            images.hold(powers[by], digits.iter().map(|x| centred(*x)));
        }) {
            if images.held.len() == TOGETHER {
                images.add(&mut rows);
            }
        }
        images.add(&mut rows);
        Weights { rows, mask: descent.finish() }
    }
}

/// Digits of some switches, ready to be added: what `tau(d)` for `X -> X^k` has at minus each power of X, over three halves of
/// the powers' period `2n`, in which signs change.
struct Images {
    n: usize,
    l: usize,
    stride: usize,
    held: Vec<(usize, Vec<i32>)>,
}

impl Images {
    fn hold(&mut self, k: usize, digits: impl Iterator<Item = i32>) {
        let (n, period) = (self.n, 2 * self.n);
        let mut image = vec![0; 3 * n * self.l];
        for (i, x) in digits.enumerate() {
            let (digit, power) = (i / n, i % n);
            let image = &mut image[digit * 3 * n..][..3 * n];
            // A power of two, and a mask is no division.
            let at = (power * (period - k)) & (period - 1);
            image[at] = x;
            image[at ^ n] = -x;
        }
        image.chunks_exact_mut(3 * n).for_each(|image| image.copy_within(..n, period));
        self.held.push((k, image));
    }

    fn add(&mut self, rows: &mut [i32]) {
        let (n, period) = (self.n, 2 * self.n);
        for (j, row) in rows.chunks_exact_mut(self.l * n).enumerate() {
            for (k, image) in &self.held {
                let start = (period - (j * self.stride * k) % period) % period;
                for (row, image) in row.chunks_exact_mut(n).zip(image.chunks_exact(3 * n)) {
                    row.iter_mut().zip(&image[start..start + n]).for_each(|(sum, x)| *sum += x);
                }
            }
        }
        self.held.clear();
    }
}

/// The inverse of 5 modulo `2n`, a power of two: 5 to the power of the order of the group, less one.
fn inverse_of_5(n: usize) -> usize {
    (1..n / 2).fold(1, |power, _| power * 5 % (2 * n))
}
