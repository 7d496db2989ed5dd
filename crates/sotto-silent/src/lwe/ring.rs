//! SimplePIR's lattice: modulus, public matrix, switching between moduli.
//!
//! The public matrix A, m by n, is made of negacyclic blocks. Block k comes from a polynomial a_k of
//! Z_Q\[X\]/(X^n + 1): row i of the block is the one for which `(A s)_i` is coefficient i of a_k s. So an
//! encryption costs one product of polynomials per 1024 columns, and so does a row of the hint:
//!
//! ```text
//! c_k = a_k(X) s(X) + e_k(X)                      LWE samples of columns k n .. (k+1) n
//! H_r = sum_k a_k(1/X) d_{r,k}(X)                  row r of D A, with d_{r,k} row r of block k of D
//! ```
//!
//! The second line is the transpose of the first: transposing a negacyclic block is substituting
//! 1/X. (Ring-LWE samples used as LWE samples and switched to a power of two: Distributional PIR,
//! eprint 2025/132, section 5; negacyclic blocks for hints: YPIR, USENIX Security 2024.)

use sotto_core::{Misuse, PeerMisbehaved, Result, Security};
use sotto_lattice::security::{self, SecretDistribution};
use sotto_math::modulus::Modulus;
use sotto_math::ntt::NttPlan;
use sotto_prg::PublicSeed;
use zeroize::Zeroizing;

/// The name of the set, for literals.
pub const SET: &str = "n1024-q32-s11";

/// Ring dimension.
pub const N: usize = 1024;

/// Bytes of a row of the hint: n words of four bytes.
pub const ROW_BYTES: usize = 4 * N;

/// The largest prime below 2^32 that is 1 modulo 2n, so that X^n + 1 splits.
pub const Q: u32 = 4_294_957_057;

/// The value of one unit of a plaintext byte modulo Q: Q / 256, rounded to the nearest integer.
pub const STEP: u32 = Q / 256;

/// Operations for one word of a query: drawing an error, and its share of the transforms; measured.
pub const SAMPLE_OPS: u64 = 5000;

/// log2 of [`Q`], rounded up.
pub const LOG2_Q: f64 = 31.999_997;

/// Standard deviation of secret and error.
pub const SIGMA: f64 = 11.0;

/// Seed of the public matrix, the same for every table: BLAKE3 of [`PUBLIC_SENTENCE`].
///
/// No server can choose it, so none can hide a trapdoor in A; and clients keep their transforms of
/// A across tables and epochs.
pub const PUBLIC_SEED: PublicSeed = PublicSeed([
    0x9c, 0xde, 0x4c, 0xbc, 0x9d, 0x59, 0xbf, 0xcc, //
    0x23, 0x7d, 0xea, 0x15, 0xf8, 0x6d, 0xe7, 0x60, //
    0xed, 0x73, 0x78, 0xd8, 0x77, 0x72, 0x3c, 0xd8, //
    0xef, 0xba, 0x56, 0x43, 0x30, 0xa0, 0xac, 0xeb, //
]);

/// The sentence whose digest is [`PUBLIC_SEED`].
pub const PUBLIC_SENTENCE: &str = "sotto simplepir/1: the public matrix is the same for everyone";

/// The security of the set, by the security gate.
///
/// # Errors
/// [`sotto_core::ParamsError::Insecure`] if the gate refuses it.
pub fn security() -> Result<Security> {
    Ok(security::gate(N, LOG2_Q, &SecretDistribution::Gaussian(SIGMA), SIGMA)?)
}

/// 2^32 - Q. It is small, so a division by Q becomes multiplications and additions.
const GAP: u64 = (1 << 32) - Q as u64;

/// Transforms modulo Q, and the public blocks.
pub struct Ring {
    plan: NttPlan,
}

impl Ring {
    /// Builds the tables of the transforms.
    ///
    /// # Errors
    /// None, since [`Q`] is a constant with a transform.
    pub fn new() -> Result<Self> {
        Modulus::new(u64::from(Q))
            .and_then(|q| NttPlan::new(N, q))
            .map(|plan| Ring { plan })
            .ok_or_else(|| Misuse::Rule("the modulus of simplepir/1 must have transforms").into())
    }

    /// The transforms: coefficients to values and back, products of values.
    pub fn plan(&self) -> &NttPlan {
        &self.plan
    }

    /// The values of a_k(X), by which encryptions multiply.
    pub fn block(&self, k: usize) -> Vec<u64> {
        let mut a = public_block(k);
        self.plan.forward(&mut a);
        a
    }

    /// The values of a_k(1/X), by which hints multiply.
    pub fn reversed_block(&self, k: usize) -> Vec<u64> {
        // a(1/X) = a_0 - sum_{i > 0} a_{n-i} X^i, because X^-i = -X^(n-i).
        let mut a = public_block(k);
        if let Some(rest) = a.get_mut(1..) {
            rest.reverse();
            rest.iter_mut().for_each(|x| *x = if *x == 0 { 0 } else { u64::from(Q) - *x });
        }
        self.plan.forward(&mut a);
        a
    }
}

/// The coefficients of a_k: words of the public stream below Q; larger words are skipped.
fn public_block(k: usize) -> Vec<u64> {
    let mut stream = PUBLIC_SEED.stream("simplepir/1 matrix", k as u64);
    let mut words = [0u32; N];
    let mut out = Vec::with_capacity(N);
    while out.len() < N {
        stream.fill_u32(&mut words);
        out.extend(words.iter().filter(|word| **word < Q).take(N - out.len()).map(|word| u64::from(*word)));
    }
    out
}

/// Small signed numbers as residues, without a branch on their signs.
pub fn lift(small: &[i32]) -> Zeroizing<Vec<u64>> {
    Zeroizing::new(small.iter().map(|x| residue(i64::from(*x))).collect())
}

/// A number of absolute value at most Q as a residue.
pub fn residue(x: i64) -> u64 {
    x.wrapping_add(i64::from(Q) & (x >> 63)) as u64
}

/// The quotient and the remainder of `x` divided by Q, in constant time on every platform.
///
/// 2^32 = Q + GAP, so the upper half of x is a first quotient, and the rest grows by GAP times that
/// half. Two such folds bring any x below 2 Q. A hardware division, which `/` becomes on wasm32,
/// may take longer for some operands than for others.
/// longer for some operands than for others.
fn div_rem(x: u64) -> (u64, u64) {
    let low = |x: u64| x & u64::from(u32::MAX);
    let first = x >> 32;
    let rest = low(x) + first * GAP;
    let second = rest >> 32;
    let rest = low(rest) + second * GAP;
    let over = (rest.wrapping_sub(u64::from(Q)) >> 63) ^ 1;
    (first + second + over, rest - u64::from(Q) * over)
}

/// A signed sum of absolute value below 2^60 as a residue.
pub fn reduce(sum: i64) -> u64 {
    // A multiple of Q makes the sum positive.
    remainder(sum.wrapping_add(i64::from(Q) << 29) as u64)
}

/// Any number as a residue.
pub fn remainder(x: u64) -> u64 {
    div_rem(x).1
}

/// A sum of products of words, in two halves: exact for up to 2^31 products.
#[derive(Debug, Clone, Copy, Default)]
pub struct WideSum {
    low: u64,
    high: u64,
}

impl WideSum {
    /// Adds the products of words at the same places.
    pub fn add(&mut self, a: &[u32], b: &[u64]) {
        for (a, b) in a.iter().zip(b) {
            let product = u64::from(*a) * b;
            self.low += product & u64::from(u32::MAX);
            self.high += product >> 32;
        }
    }

    /// The sum as a residue: 2^32 is GAP modulo Q.
    pub fn residue(self) -> u64 {
        remainder(remainder(self.high) * GAP + remainder(self.low))
    }
}

/// Appends words that a peer sent, each of which must be below Q. `what` names the message in the
/// error.
pub fn take_words(what: &'static str, words: &[[u8; 4]], into: &mut impl Extend<u32>) -> Result<()> {
    let words = words.iter().map(|word| u32::from_le_bytes(*word));
    into.extend(words.clone());
    if words.fold(false, |bad, word| bad | (word >= Q)) {
        return Err(PeerMisbehaved::NotCanonical(what).into());
    }
    Ok(())
}

/// Switches from modulus Q to modulus 2^`bits`, at most 32 bits: `x 2^bits / Q`, rounded to the
/// nearest integer.
pub fn switch(x: u64, bits: u32) -> u32 {
    let rounded = div_rem((x << bits) + u64::from(Q) / 2).0;
    // Rounding up to 2^bits itself means 0.
    (rounded & (u64::MAX >> (64 - bits))) as u32
}

/// Rounds words of b bits to their top t bits, to the nearest. Bits above b are the wrap of 2^b and
/// are dropped.
pub fn rounded(words: &[u32], b: u32, t: u32) -> Vec<u64> {
    let half = if t < b { 1 << (b - t - 1) } else { 0 };
    let mask = u32::MAX >> (32 - t);
    words.iter().map(|y| u64::from((y.wrapping_add(half) >> (b - t)) & mask)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_seed_is_the_digest_of_the_sentence() {
        assert_eq!(PUBLIC_SEED.0, *blake3::hash(PUBLIC_SENTENCE.as_bytes()).as_bytes());
    }

    #[test]
    fn q_is_the_largest_of_its_kind() {
        let mut of_its_kind = (u64::from(Q)..1 << 32).filter(|q| q % (2 * N as u64) == 1);
        assert_eq!(of_its_kind.next(), Some(u64::from(Q)));
        assert!(of_its_kind.all(|q| Modulus::new(q).is_none()));
        assert!(f64::from(Q).log2() <= LOG2_Q && LOG2_Q < 32.0);
    }

    #[test]
    fn a_step_is_q_over_256_rounded() {
        assert_eq!(256 * STEP, Q - 1);
    }

    #[test]
    fn blocks_are_each_others_transpose() {
        // <d, a s> = <d a(1/X), s> for every d and s: the identity that the hint is based on.
        let ring = Ring::new().unwrap();
        let d: Vec<i32> = (0..N as i32).map(|i| (i * 37 + 11) % 256 - 128).collect();
        let s: Vec<i32> = (0..N as i32).map(|i| (i * i) % 67 - 33).collect();
        let times = |x: &[i32], block: &[u64]| {
            let (mut x, mut out) = (lift(x), vec![0; N]);
            ring.plan().forward(&mut x);
            ring.plan().mul_acc(&mut out, &x, block);
            ring.plan().inverse(&mut out);
            out
        };
        let dot = |x: &[i32], y: &[u64]| {
            x.iter().zip(y).map(|(x, y)| i128::from(*x) * i128::from(*y)).sum::<i128>().rem_euclid(Q.into())
        };
        for k in [0, 1, 4095] {
            assert_eq!(dot(&d, &times(&s, &ring.block(k))), dot(&s, &times(&d, &ring.reversed_block(k))));
        }
    }

    #[test]
    fn blocks_differ_and_are_reduced() {
        let (a, b) = (public_block(0), public_block(1));
        assert_ne!(a, b);
        assert!(a.iter().chain(&b).all(|x| *x < Q.into()));
    }

    #[test]
    fn switching_at_the_edges() {
        for bits in 24..=32 {
            assert_eq!(switch(0, bits), 0);
            assert_eq!(switch(1, bits), (bits >= 31) as u32);
        }
        assert_eq!(switch(u64::from(Q) - 1, 24), 0);
        assert_eq!(switch(u64::from(Q) - 1, 32), u32::MAX);
    }

    #[test]
    fn rounding_wraps_at_the_top() {
        let words = [0, 1 << 15, (1 << 15) - 1, (1 << 26) - 1, 1 << 26, u32::MAX];
        assert_eq!(rounded(&words, 26, 10), [0, 1, 0, 0, 0, 0]);
        assert_eq!(rounded(&[5, u32::MAX], 32, 32), [5, u64::from(u32::MAX)]);
    }

    proptest! {
        #[test]
        fn division_is_division(x: u64) {
            prop_assert_eq!(div_rem(x), (x / u64::from(Q), x % u64::from(Q)));
        }

        #[test]
        fn reduction_is_the_remainder(x in -(1i64 << 60)..1 << 60) {
            prop_assert_eq!(reduce(x), x.rem_euclid(i64::from(Q)) as u64);
        }

        #[test]
        fn products_are_summed_exactly(words in prop::collection::vec(any::<(u32, u32)>(), 0..70)) {
            let (a, b): (Vec<u32>, Vec<u64>) = words.into_iter().map(|(a, b)| (a, u64::from(b))).unzip();
            let exact: u128 = a.iter().zip(&b).map(|(a, b)| u128::from(*a) * u128::from(*b)).sum();
            let mut sum = WideSum::default();
            let (left, right) = a.split_at(a.len() / 2);
            sum.add(left, &b);
            sum.add(right, &b[left.len()..]);
            prop_assert_eq!(u128::from(sum.residue()), exact % u128::from(Q));
        }

        #[test]
        fn switching_rounds_to_the_nearest(x in 0..u64::from(Q), bits in 8u32..=32) {
            let exact = (u128::from(x) << (bits + 1)) + u128::from(Q);
            let nearest = exact / (2 * u128::from(Q));
            prop_assert_eq!(u128::from(switch(x, bits)), nearest % (1 << bits));
        }
    }
}
