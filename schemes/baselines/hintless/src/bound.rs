//! The failure probability of a lookup, from sizes. A lookup fails if one of three events happens,
//! for any table.
//!
//! 1. *The noise of a byte* is `sum_j D[r][j] e_j`, and exceeds 2^23: [`sotto_silent::lwe::dense`].
//! 2. *A number of `H s`* exceeds half the product of the plain primes. Numbers of H are in [-2^31,
//!    2^31), and s is drawn after the table, so the proxy of a number is `n 2^62 2/3`.
//! 3. *A ciphertext is decrypted wrong.* The error of ciphertext i of a chain is the fresh one and
//!    i switches; diagonals have coefficients of at most t / 2, and each is multiplied by its own
//!    ciphertext:
//!
//! ```text
//!   sum over i < R / 2 of N (t / 2)^2 (sigma^2 + i V + 1/4)     V: a switch; 1/4: the message, of at most half a unit
//! ```
//!
//! then divided by the second prime and rounded.
//!
//! **What is heuristic.** Digits of switches are assumed to be independent and uniform, and the
//! errors that ciphertexts of a chain share not to be correlated with the diagonals. Those are
//! numbers of `D A`, for a public A without structure: anyone who controls them solves SIS.

use crate::linpir::{N, PLAIN, SIGMA};
use sotto_lattice::bgv::noise::Noise;
use sotto_lattice::bgv::{Pow2, RnsRing, SlotRing};
use sotto_lattice::noise::{failure_log2, log2_sum};
use sotto_silent::lwe::dense::HINTLESS;

/// log2 of the probability that a norm exceeds its bound, for each polynomial.
const SLACK_LOG2: f64 = -80.0;

/// The variance of a sum over diagonals whose coefficients have mean square `square`, by a model of
/// averages or of bounds.
pub fn sum(model: &Noise, ring: &RnsRing<Pow2>, diagonals: u64, square: f64) -> f64 {
    let (count, switch) = (diagonals as f64, model.key_switch(ring.top()));
    let each = model.fresh() + 0.25 + (count - 1.0) / 2.0 * switch;
    count * N as f64 * square * each
}

/// Bounds on the variance of an answer's ciphertext in a ring, and the model behind them.
pub fn answer(ring: &RnsRing<Pow2>, diagonals: u64) -> (Noise, f64) {
    let model = Noise::bound(ring, SIGMA, SLACK_LOG2);
    let half = ring.ring().plain() as f64 / 2.0;
    let variance = model.lowered(sum(&model, ring, diagonals, half * half), ring.top());
    (model, variance)
}

/// Bound on log2 of the probability that any of `rows` numbers of `H s` is read wrong.
pub fn products_failure_log2(rings: &[RnsRing<Pow2>], rows: u64, block_rows: u64) -> f64 {
    let half = (PLAIN[0] * PLAIN[1]) as f64 / 2.0;
    let blocks = (rows.div_ceil(block_rows) as f64).log2();
    // Digits of all switches, diagonals, and the secret have norms.
    let norms = SLACK_LOG2 + ((4 * block_rows) as f64).log2() + blocks;
    let decrypted = rings.iter().filter_map(|ring| {
        let (model, variance) = answer(ring, block_rows / 2);
        Some(log2_sum(model.failure_log2(variance, 0.0, ring.level(1)?) + blocks, norms))
    });
    decrypted.fold(failure_log2(half, HINTLESS.product_proxy(), rows as f64), log2_sum).min(0.0)
}

/// Bound on log2 of the probability that a byte of a record comes out wrong.
pub fn record_failure_log2(rings: &[RnsRing<Pow2>], record_bytes: u64, records: u64, block_rows: u64) -> f64 {
    let words = HINTLESS.failure_log2(record_bytes, records, 32);
    log2_sum(words, products_failure_log2(rings, record_bytes, block_rows)).min(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linpir::rings;

    #[test]
    fn bounds_by_hand() {
        let rings = rings().unwrap().as_slice();
        // The range: 2^31 sqrt(1408 2/3) = 2^35.94, against 2^40.38.
        let range = 16.0 - (2f64.powf(40.377 - 35.937)).powi(2) / 2.0 * std::f64::consts::LOG2_E;
        let whole = products_failure_log2(rings, 1 << 15, 1024);
        assert!(whole > range && whole < -55.0, "{whole} {range}");
        for ring in rings {
            let (_, variance) = answer(ring, 512);
            let deviation = variance.sqrt();
            let q = ring.log2_q(ring.level(1).unwrap());
            println!("2^{:.1} of 2^{:.1}", deviation.log2(), q - 1.0 - (ring.ring().plain() as f64).log2());
            assert!(deviation.log2() < q - 5.0 - (ring.ring().plain() as f64).log2());
        }
    }

    #[test]
    fn more_of_anything_fails_no_less() {
        let rings = rings().unwrap().as_slice();
        let at = |l, m, block| record_failure_log2(rings, l, m, block);
        assert!(at(64, 10, 64) <= at(65, 10, 64) && at(64, 10, 64) <= at(64, 11, 64));
        assert!(at(2048, 10, 64) <= at(2048, 10, 2048));
        assert!(at(1 << 20, 1 << 20, 2048) <= -40.0);
    }
}
