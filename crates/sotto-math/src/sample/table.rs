//! The cumulative table, computed in fixed-point integers.
//!
//! Floating-point `exp` differs between platforms in its last bit and has 53 bits where the table
//! needs 63. Integers with 112 fractional bits have neither problem: after the at most ten thousand
//! products of a table, errors stay below 2^-98.

/// Fractional bits. Sums of the weights of sigma 1000 reach 2^12, so 124 bits are used.
const FRACTION: u32 = 112;
const ONE: u128 = 1 << FRACTION;

/// The probabilities that the magnitude is at most `k`, times 2^63, rounded, for each `k`. The
/// table ends where that rounds to 2^63: the truncated tail is below 2^-64.
pub(super) fn thresholds(sigma: f64) -> Vec<u64> {
    let weights = weights(sigma);
    let total: u128 = weights.iter().sum();
    let mut sum = 0;
    weights
        .iter()
        .map(|weight| {
            sum += weight;
            ratio_63(sum, total)
        })
        .take_while(|&bound| bound < 1 << 63)
        .collect()
}

/// The weight of each magnitude: 1 for zero, twice `exp(-k^2 / (2 sigma^2))` for `k`.
fn weights(sigma: f64) -> Vec<u128> {
    // A power of two times a double is exact, and the double has no bit below 2^-112.
    let x = (1.0 / (2.0 * sigma * sigma) * ONE as f64) as u128;
    let r = exp_minus(x);
    let r_squared = mul(r, r);
    let mut weights = vec![ONE];
    // rho(k + 1) = rho(k) r^(2k + 1).
    let (mut rho, mut step) = (r, mul(r_squared, r));
    while rho > 0 {
        weights.push(2 * rho);
        rho = mul(rho, step);
        step = mul(step, r_squared);
    }
    weights
}

/// Computes `exp(-x)` for `x` up to 2, by its series; terms of each sign are summed separately.
fn exp_minus(x: u128) -> u128 {
    let (mut plus, mut minus, mut term) = (0, 0, ONE);
    let mut k = 0;
    while term > 0 {
        *if k % 2 == 0 { &mut plus } else { &mut minus } += term;
        k += 1;
        term = mul(term, x) / k;
    }
    plus - minus
}

/// Computes `a b`, rounded down, for operands up to 2.
fn mul(a: u128, b: u128) -> u128 {
    const HALF: u32 = FRACTION / 2;
    let split = |v: u128| (v >> HALF, v & ((1 << HALF) - 1));
    let ((a1, a0), (b1, b0)) = (split(a), split(b));
    a1 * b1 + ((a1 * b0 + a0 * b1 + ((a0 * b0) >> HALF)) >> HALF)
}

/// Computes `2^63 part / whole`, rounded to the nearest, by long division.
fn ratio_63(part: u128, whole: u128) -> u64 {
    if part >= whole {
        return 1 << 63;
    }
    let (mut rest, mut quotient) = (part, 0u64);
    for _ in 0..64 {
        rest *= 2;
        let bit = rest >= whole;
        quotient = quotient << 1 | u64::from(bit);
        rest -= if bit { whole } else { 0 };
    }
    (quotient >> 1) + (quotient & 1)
}
