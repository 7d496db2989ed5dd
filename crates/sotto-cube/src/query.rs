//! The messages that a query encrypts, coefficient by coefficient. Constant time: every coefficient
//! is written whatever the index, with a mask of zeros or ones.

use crate::params::Inner;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_math::modulus::Modulus;
use std::hint::black_box;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The position of the requested record, and the parameters that scale its messages.
pub(crate) struct QueryTarget<'a> {
    params: &'a Inner,
    row: u64,
    column: u64,
}

/// All ones if the two values are equal, else zero.
fn mask(a: u64, b: u64) -> u128 {
    black_box(0u128.wrapping_sub(u128::from(a.ct_eq(&b).unwrap_u8())))
}

impl<'a> QueryTarget<'a> {
    pub(crate) fn new(params: &'a Inner, record: u64) -> Self {
        let nu2 = u32::from(params.literal.nu2);
        QueryTarget { params, row: record >> nu2, column: record & ((1 << nu2) - 1) }
    }

    /// The value of the requested row's selector at `level`: the modulus over p, to the nearest
    /// integer.
    fn step(&self, level: ModulusLevel) -> u128 {
        let modulus = self.params.ring.modulus(level);
        (modulus + (1 << (self.params.literal.p_log2 - 1))) >> self.params.literal.p_log2
    }

    /// `value` if `row` is the requested one, else 0.
    fn if_row(&self, row: u64, value: u128) -> u128 {
        value & mask(row, self.row)
    }

    /// `value` if bit `d` of the column is set, else 0.
    fn if_bit(&self, d: u32, value: u128) -> u128 {
        value & mask((self.column >> d) & 1, 1)
    }

    /// The coefficients of the one polynomial that expands to all messages.
    ///
    /// Coefficient 2 i is selector i, coefficient 2 i + 1 is bit row i; without bits, coefficient i
    /// is selector i. Each is divided by the power of two that expansion multiplies it by. Bit rows
    /// carry a factor q', which the switch to q removes.
    pub(crate) fn packed(&self) -> Option<Zeroizing<Vec<u128>>> {
        let (params, ring) = (self.params, &self.params.ring);
        let expansion = params.expansion()?;
        let mut f = Zeroizing::new(vec![0; params.n()]);
        let stride = if params.literal.nu2 > 0 { 2 } else { 1 };
        let selector = divided(ring, self.step(ModulusLevel::Full), expansion.left_rounds().end);
        for (row, f) in (0..u64::from(params.literal.rows)).zip(f.iter_mut().step_by(stride)) {
            *f = self.if_row(row, selector);
        }
        let rounds = expansion.right_rounds().end;
        let special = ring.modulus(ModulusLevel::Full) / ring.modulus(ModulusLevel::Main);
        let powers = params.gadgets.fold.iter().flat_map(|gadget| gadget.powers());
        let powers: Vec<u128> = powers.map(|power| divided(ring, power * special, rounds)).collect();
        let values =
            (0..u32::from(params.literal.nu2)).flat_map(|d| powers.iter().map(move |power| (d, *power)));
        for ((d, power), f) in values.zip(f.iter_mut().skip(1).step_by(2)) {
            *f = self.if_bit(d, power);
        }
        Some(f)
    }

    /// The selectors one by one, as slots modulo q of constant polynomials, which have equal slots.
    pub(crate) fn selectors(&self) -> impl Iterator<Item = Zeroizing<Vec<u64>>> {
        let step = self.step(ModulusLevel::Main);
        (0..u64::from(self.params.literal.rows)).map(move |row| self.constant(self.if_row(row, step)))
    }

    /// The bits one by one, as slots modulo q.
    pub(crate) fn bits(&self) -> impl Iterator<Item = Zeroizing<Vec<u64>>> {
        (0..u32::from(self.params.literal.nu2)).map(move |d| self.constant(self.if_bit(d, 1)))
    }

    fn constant(&self, value: u128) -> Zeroizing<Vec<u64>> {
        Zeroizing::new(vec![value as u64; self.params.n()])
    }
}

/// Computes `value / 2^rounds` modulo Q, for a public value.
fn divided(ring: &Ring, value: u128, rounds: u32) -> u128 {
    let by = |q: &Modulus| q.mul(q.reduce_u128(value), q.inv(q.pow(2, rounds.into())));
    match ring.pair() {
        Some(pair) => pair.lift(by(pair.modulus()), by(pair.special())),
        None => u128::from(by(ring.q())),
    }
}
