//! Parameters as a catalog states them, bytes and number of records, `t` records to a column, and the
//! bits of all messages; and choosing them for a table: many places cost packing, few places cost query
//! bytes.
//!
//! # Numbers
//!
//! A record is a string of bits, the lowest of each byte first, and a number is 15 of them.
//! Interpolation divides by t, a power of two, so the plain modulus has to be odd. Two signed bytes
//! of the matrix hold 2^16 residues and no more: 65537 is one too many, and 65535 cannot hold all
//! values of two bytes. So it is 2^15 + 1, whose smaller numbers also leave two more bits for
//! noise.
//!
//! # Noise
//!
//! The noise bound: `sotto_silent::bound` for t packed ciphertexts that are rotated and added, plus
//! the t - 1 products by the selector. Each of these adds, in units of 1 modulo q,
//!
//! ```text
//!   digits of mask and body    times errors of the selector's rows and their dropped bits
//! + dropped bits of the mask   times the secret
//! + dropped bits of the body
//! ```
//!
//! and later products only rotate it. **For any table**: the sum of t rotated numbers is at most t
//! times the largest number, since only the sum modulo p is small, not the sum.
//!
//! **What is heuristic**, besides the digits of packing: digits of the selector's factors are
//! assumed to be uniform and independent of errors, and their dropped and rounded bits to be
//! independent of the secret.

use crate::selector::{BODY_DIGITS, MASK_DIGITS};
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, Result, Security, TableShape, work};
use sotto_lattice::noise::{failure_apart_log2, steps};
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::groups::{Groups, MaskLayout};
use sotto_silent::lattice::{self, N, NORM, PACKED_OPS, PUBLIC_SEED, Q, Q_BITS, SET, SIGMA};
use sotto_silent::limits::{self, KEY_BITS, QUERY_BITS, field, in_range, within};
use sotto_silent::matrix_shape::{MatrixShape, cheapest, cuts, price};
use sotto_silent::message::{Field, Format};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{KEY_BODIES, MessageBits, WORD_OPS};
use sotto_silent::{MatrixLiteral, bound};
use std::ops::RangeInclusive;

/// The plain modulus p.
pub const P: u16 = (1 << NUMBER_BITS) + 1;

/// The plain modulus in the form that encryption takes.
pub const PLAIN: PlainModulus = PlainModulus::odd(P);

/// Bits of a record in a number.
pub const NUMBER_BITS: u32 = 15;

/// Bytes of a record in a group of N numbers.
pub const GROUP_BYTES: u64 = N as u64 * NUMBER_BITS as u64 / 8;

/// Number of numbers of a record of `record_bytes` bytes.
pub const fn numbers(record_bytes: u64) -> u64 {
    (record_bytes * 8).div_ceil(NUMBER_BITS as u64)
}

/// Groups of N numbers in a record of `record_bytes` bytes.
pub const fn groups(record_bytes: u64) -> u64 {
    record_bytes.div_ceil(GROUP_BYTES)
}

/// The number in which byte `offset` of a record begins, and the bits of that number before the
/// byte.
pub fn place(offset: u64) -> (u64, u32) {
    let bit = offset * 8;
    (bit / u64::from(NUMBER_BITS), (bit % u64::from(NUMBER_BITS)) as u32)
}

/// Maximum bytes of a record: 274 ciphertexts.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Maximum number of columns.
pub const MAX_COLUMNS: u64 = 1 << 20;

/// Possible numbers of records in a column. With 16 the digits of packing alone could fill the
/// margin.
pub const PLACES: [u64; 3] = [2, 4, 8];

/// The range of the bits of a selector's coefficient.
pub const SELECTOR_BITS: RangeInclusive<u8> = 32..=Q_BITS as u8;

/// The range of the bits of a mask's coefficient in an answer; up to 37 the client's product with
/// the mask is exact.
pub const MASK_BITS: RangeInclusive<u8> = 17..=37;

/// Operations for a client's keys and selector, measured.
const KEYS_OPS: u64 = 100_000_000;

/// Operations for a product with the selector, measured.
const PRODUCT_OPS: u64 = 10_500_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the ring: [`SET`].
    pub set: String,
    /// Bytes in a record.
    pub record_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Number of records in a column, `t`: a power of two.
    pub places: u64,
    /// Bits of a query's word that are sent.
    pub query_bits: u8,
    /// Bits of a key's coefficient that are sent.
    pub key_bits: u8,
    /// Bits of a coefficient of the selector: of its rows for masks, and for bodies.
    pub selector_bits: [u8; 2],
    /// Bits of a coefficient of an answer: of masks, of bodies.
    pub answer_bits: [u8; 2],
    /// Seed of the public polynomials: [`PUBLIC_SEED`].
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// The bits of all messages except for the selector's.
    pub fn bits(&self) -> MessageBits {
        let [mask, body] = self.answer_bits.map(u32::from);
        MessageBits { query: self.query_bits.into(), keys: self.key_bits.into(), mask, body }
    }

    /// Columns of the matrix, `m`.
    pub fn columns(&self) -> u64 {
        self.records.div_ceil(self.places.max(1))
    }

    /// Groups of a record's numbers, `G`: ciphertexts of an answer.
    pub fn groups(&self) -> u64 {
        groups(self.record_bytes)
    }

    /// Groups of a column's numbers: packed ciphertexts.
    pub fn packed(&self) -> u64 {
        self.groups() * self.places
    }

    /// Bits of the selector's coefficients.
    pub fn selector_bits(&self) -> [u32; 2] {
        self.selector_bits.map(u32::from)
    }

    /// The layout of the matrix: a row for each byte of a column's numbers.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.packed() as usize * lattice::GROUP_BYTES, self.columns() as usize)
    }

    /// The packing groups of the numbers of all polynomials. Rotations leave no place of one free.
    pub fn packing(&self) -> Groups {
        Groups::new(N * self.packed() as usize, 1)
    }

    /// Bytes of the weights and masks after the matrix.
    pub fn weight_bytes(&self) -> u64 {
        self.packing().bytes(MaskLayout::Whole)
    }

    /// Bytes of the image: the matrix, columns padded to 4, and the weights.
    pub fn image_bytes(&self) -> u64 {
        let matrix = self.packed() * lattice::GROUP_BYTES as u64 * self.columns().next_multiple_of(4);
        matrix + self.weight_bytes()
    }

    /// Variance proxies of errors with secrets, and of the rounded bits of words, keys and selectors;
    /// and the margin for both.
    pub fn noise(&self) -> ([f64; 2], f64) {
        let ([errors, roundings], margin) =
            bound::variances_and_margin(self.columns(), PLAIN, self.places, self.bits());
        let products = self.places.saturating_sub(1) as f64;
        let product = |rows, norm| {
            let digits = [&MASK_DIGITS, &BODY_DIGITS];
            steps::external_product(N, 1, digits, (Q as f64).log2(), rows, norm)
        };
        let lost = self.selector_bits().map(|kept| steps::truncated(0.0, Q_BITS.saturating_sub(kept)));
        let errors = errors + products * product([SIGMA * SIGMA; 2], NORM);
        // The dropped bits were counted once.
        let roundings = roundings + products * (product(lost, 0.0) - product([0.0; 2], 0.0));
        ([errors, roundings], margin)
    }
}

impl MatrixLiteral for ParamsLiteral {
    fn select(shape: &TableShape) -> Result<Self> {
        let too_large =
            "it needs more than 2^23 records of at most 2^20 bytes, or their noise leaves no margin";
        cheapest(shape, too_large, || {
            let cuts = cuts(shape, GROUP_BYTES, MAX_RECORD_BYTES);
            let cuts = cuts.flat_map(|cut| PLACES.map(|places| (cut, places)));
            let fitting = cuts.filter(|(cut, places)| cut.records <= MAX_COLUMNS * places);
            fitting.filter_map(|(cut, places)| {
                let literal = word_sizes(&cut, places, cut.required_failure_log2(shape))?;
                Some((price(shape, &cut, &literal.costs()), literal))
            })
        })
    }

    fn check(&self) -> Result<Security> {
        limits::public(&self.set, &self.seed)?;
        if !PLACES.contains(&self.places) {
            return Err(field("places", format!("must be one of {PLACES:?}")));
        }
        in_range("record_bytes", self.record_bytes, MAX_RECORD_BYTES)?;
        in_range("records", self.records, MAX_COLUMNS * self.places)?;
        within("query_bits", self.query_bits, QUERY_BITS)?;
        within("key_bits", self.key_bits, KEY_BITS)?;
        self.selector_bits.into_iter().try_for_each(|bits| within("selector_bits", bits, SELECTOR_BITS))?;
        let [mask, body] = self.answer_bits;
        within("answer_bits", mask, MASK_BITS)?;
        within("answer_bits", body, *MASK_BITS.start()..=mask)?;
        lattice::security()
    }

    fn shape(&self) -> [u64; 2] {
        [self.records, self.record_bytes]
    }

    /// The words of the vector, the bodies of two keys, and those of the selector's rows for masks and
    /// for bodies.
    fn query(&self) -> Format {
        let (n, bits, [masks, bodies]) = (N as u64, self.bits(), self.selector_bits());
        Format::of(Field::residues(self.columns(), bits.query))
            .and(KEY_BODIES as u64, Field::residues(n, bits.keys))
            .and(MASK_DIGITS.count.into(), Field::residues(n, masks))
            .and(BODY_DIGITS.count.into(), Field::residues(n, bodies))
    }

    /// A ciphertext for each group.
    fn answer(&self) -> Format {
        Format::default().and_packed(self.groups(), N as u64, self.bits())
    }

    fn failure_log2(&self) -> f64 {
        let (variances, margin) = self.noise();
        let numbers = numbers(self.record_bytes) as f64;
        if margin > 0.0 { failure_apart_log2(margin, variances, numbers) } else { 0.0 }
    }

    /// Work of an answer: both passes read their tables once, each coefficient is packed, and each
    /// group evaluated.
    fn work(&self) -> Costs {
        let products = self.groups() * self.places.saturating_sub(1);
        Costs {
            server_ops: self.image_bytes() * work::READ_BYTE
                + self.packed() * N as u64 * PACKED_OPS
                + products * PRODUCT_OPS,
            client_ops: KEYS_OPS + self.columns() * WORD_OPS,
            resident_bytes: self.image_bytes(),
            ..Costs::default()
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let ([errors, roundings], margin) = self.noise();
        vec![
            ("t", self.places.to_string()),
            ("m", self.columns().to_string()),
            ("d", N.to_string()),
            ("log2 q", format!("{:.3}", (Q as f64).log2())),
            ("p", PLAIN.modulus().to_string()),
            ("sigma", SIGMA.to_string()),
            ("groups of a record", self.groups().to_string()),
            ("byte planes", self.query_bits.div_ceil(8).to_string()),
            ("bytes of weights", self.weight_bytes().to_string()),
            ("errors", format!("2^{:.1} of a margin of 2^{:.1}", errors.log2() / 2.0, margin.log2())),
            ("roundings", format!("2^{:.1}", roundings.log2() / 2.0)),
        ]
    }
}

/// Word sizes with few bytes in query and answer together, which trade noise against each other.
/// The search starts with the widest, and removes the bit that saves the most bytes for the noise
/// that it adds, as long as one can be removed.
fn word_sizes(cut: &MatrixShape, places: u64, required: f64) -> Option<ParamsLiteral> {
    let ranges: [RangeInclusive<u8>; 6] =
        [QUERY_BITS, KEY_BITS, SELECTOR_BITS, SELECTOR_BITS, MASK_BITS, MASK_BITS];
    let literal = |[query_bits, key_bits, masks, bodies, mask, body]: [u8; 6]| ParamsLiteral {
        set: SET.into(),
        record_bytes: cut.record_bytes,
        records: cut.records,
        places,
        query_bits,
        key_bits,
        selector_bits: [masks, bodies],
        answer_bits: [mask, body],
        seed: PUBLIC_SEED,
    };
    let bytes = |literal: &ParamsLiteral| literal.query_bytes() + literal.answer_bytes();
    let mut bits = ranges.clone().map(|range| *range.end());
    let mut best = Some(literal(bits)).filter(|literal| literal.failure_log2() <= required)?;
    loop {
        let fewer = ranges.iter().enumerate().filter_map(|(i, range)| {
            let mut fewer = bits;
            let word = fewer.get_mut(i).filter(|bits| **bits > *range.start())?;
            *word -= 1;
            let next = literal(fewer);
            let [mask, body] = next.answer_bits;
            let saved = bytes(&best).saturating_sub(bytes(&next)) as f64;
            let noise = deviations(&next) - deviations(&best);
            (body <= mask && next.failure_log2() <= required).then(|| (saved / noise.max(1e-9), fewer, next))
        });
        let Some((_, fewer, next)) = fewer.max_by(|(x, ..), (y, ..)| x.total_cmp(y)) else {
            return Some(best);
        };
        (bits, best) = (fewer, next);
    }
}

/// The share of the margin of one deviation of errors and one of roundings.
fn deviations(literal: &ParamsLiteral) -> f64 {
    let (variances, margin) = literal.noise();
    variances.map(f64::sqrt).iter().sum::<f64>() / margin
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Inspire;
    use sotto_core::Goal;
    use sotto_silent::MatrixScheme;
    use sotto_testkit::served::selects;

    #[test]
    fn groups_hold_whole_bytes() {
        assert_eq!((GROUP_BYTES, groups(3840), groups(3841), groups(32768)), (3840, 1, 2, 9));
        assert_eq!((numbers(1), numbers(2), numbers(15), numbers(3840)), (1, 2, 8, 2048));
        assert_eq!((place(0), place(1), place(2), place(15)), ((0, 0), (0, 8), (1, 1), (8, 0)));
    }

    #[test]
    fn what_is_selected_passes_the_check() {
        selects::<MatrixScheme<Inspire>>(1 << 30, 1 << 22);
    }

    #[test]
    fn goals_are_worth_asking_for() {
        let of =
            |goal| ParamsLiteral::select(&TableShape { goal, ..TableShape::new(1 << 15, 32768, 1) }).unwrap();
        let [time, total] = [Goal::ServerTime, Goal::TotalBytes].map(of);
        assert!(total.query_bytes() + total.answer_bytes() <= time.query_bytes() + time.answer_bytes());
        assert!(of(Goal::QueryBytes).query_bytes() <= total.query_bytes());
        // The paper's table: 1 GiB as 32,768 x 32 KiB, 229 KB up and 98 down as published.
        assert!(time.query_bytes() < 180_000 && time.answer_bytes() < 102_000, "{time:?}");
        assert!(total.query_bytes() + total.answer_bytes() < 226_000, "{total:?}");
    }
}
