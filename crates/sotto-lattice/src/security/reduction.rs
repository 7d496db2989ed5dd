//! Costs of lattice reduction and sieving, in gates, by MATZOV's model; shared by all attacks.
//!
//! The formulas are those of the lattice estimator (`reduction.py`, class `MATZOV`): list-decoding
//! gate counts of Albrecht, Gheorghiu, Postlethwaite and Schanck (ASIACRYPT 2020), with the
//! corrections of MATZOV ("Report on the security of LWE", 2022). All costs are in log2.

use crate::noise::log2_sum;
use std::f64::consts::{E, PI};

/// List-decoding sieve, classical circuit: log2 gates = slope * dimension + offset.
const GATES_PER_DIMENSION: f64 = 0.296_135_003_082_053_65;
const GATES_OFFSET: f64 = 20.387_885_985_467_914;

/// log2 of the number of vectors that a sieve leaves, per dimension.
const VECTORS_PER_DIMENSION: f64 = 0.2075;

/// log2 of the root Hermite factor that block size `beta` (above 40) reaches (Chen's thesis, 2013).
pub(super) fn log2_delta(beta: f64) -> f64 {
    ((PI * beta).log2() / beta + (beta / (2.0 * PI * E)).log2()) / (2.0 * (beta - 1.0))
}

/// The dimension in which a block of `beta` is sieved: some dimensions come for free (Ducas,
/// EUROCRYPT 2018).
fn sieved(beta: f64) -> f64 {
    beta - beta * (4.0_f64 / 3.0).ln() / (beta / (2.0 * PI * E)).ln()
}

/// log2 of the factor by which sieves of all dimensions up to one cost more than the last of them.
fn progressive() -> f64 {
    -(1.0 - (-GATES_PER_DIMENSION).exp2()).log2()
}

/// Cost of a progressive sieve in `dimension`.
fn sieve(dimension: f64) -> f64 {
    GATES_PER_DIMENSION * dimension + GATES_OFFSET + progressive()
}

/// Cost of progressive BKZ of block size `beta` in dimension `d`: one sieve for each block.
pub(super) fn bkz(beta: f64, d: f64) -> f64 {
    sieve(sieved(beta)) + progressive() + (d - beta).max(1.0).log2()
}

/// The dimension of a sieve that costs as much as BKZ itself, run once on the reduced basis (Guo,
/// Johansson, ASIACRYPT 2021).
fn second_sieve(beta: f64, d: f64) -> f64 {
    let small = beta - (beta - sieved(beta)).floor();
    let more = ((d - beta).max(1.0).log2() + progressive()) / GATES_PER_DIMENSION;
    (small + more).floor().min(d)
}

/// log2 of the factor by which the vectors of the second sieve are longer than the shortest of a
/// reduced basis.
pub(super) fn log2_longer(beta: f64, d: f64) -> f64 {
    let dimension = second_sieve(beta, d);
    (dimension - 1.0) * (log2_delta(dimension) - log2_delta(beta)) + 0.5 * (4.0_f64 / 3.0).log2()
}

/// Cost of making 2^`log2_count` short vectors: BKZ and a sieve, repeated while one sieve leaves
/// too few.
pub(super) fn short_vectors(beta: f64, d: f64, log2_count: f64) -> f64 {
    let dimension = second_sieve(beta, d);
    let excess = log2_count - VECTORS_PER_DIMENSION * dimension;
    // Above 2^50 rounding up changes nothing, and the power could overflow.
    let rounds = if excess < 50.0 { excess.exp2().ceil().max(1.0).log2() } else { excess };
    rounds + log2_sum(bkz(beta, d), sieve(dimension))
}
