//! Parameters as a catalog states them, the layout of the table in two matrices, and the bits of all
//! messages; and choosing them for a table: many blocks of rows make the second matrix large, few the
//! first query.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, Result, Security, TableShape, work};
use sotto_prg::PublicSeed;
use sotto_silent::MatrixLiteral;
use sotto_silent::limits::{field, within};
use sotto_silent::lwe::bound::{MIN_ANSWER_BITS, QUERY_BITS};
use sotto_silent::lwe::hint::{HintDownload, HintLiteral};
use sotto_silent::lwe::ring::{self, LOG2_Q, N, PUBLIC_SEED, SAMPLE_OPS, SET, SIGMA};
use sotto_silent::message::{Field, Format};
use sotto_silent::two_pass::bound::{self, WordNoise, failure_log2};
use sotto_silent::two_pass::select::{LayoutCandidate, cheapest};
use sotto_silent::two_pass::{FRESH_BITS, HINT_BITS, TwoPassLayout};
use std::ops::RangeInclusive;

/// The range of the bits of a word of a fresh row's mask.
pub const MASK_BITS: RangeInclusive<u8> = 16..=32;

/// Fresh rows for each byte of a record: a word of the first pass has two bytes.
pub const FRESH_ROWS: usize = FRESH_BITS as usize / 8;

/// Operations for one transform of a fresh row.
const TRANSFORM_OPS: u64 = 700_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the lattice set: [`SET`].
    pub set: String,
    /// Bytes in a record, `w`.
    pub record_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Blocks of rows, `B`: columns of the second matrix.
    pub blocks: u64,
    /// Bits of a word of the first query vector, and of the second.
    pub query_bits: [u8; 2],
    /// Bits of a word of an answer.
    pub answer_bits: u8,
    /// Bits of a word of a fresh row's mask.
    pub mask_bits: u8,
    /// Seed of the public matrix: [`PUBLIC_SEED`].
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// The layout of the table in both matrices.
    pub fn cut(&self) -> TwoPassLayout {
        TwoPassLayout { record_bytes: self.record_bytes, records: self.records, blocks: self.blocks }
    }

    /// Bytes of the hint that clients fetch: a row of n words for each row of the second matrix.
    pub fn hint_bytes(&self) -> u64 {
        self.cut().second_rows() * N as u64 * 4
    }

    /// Words of an answer: those of the second matrix, and those of the fresh rows.
    pub fn answer_words(&self) -> u64 {
        self.cut().second_rows() + self.fresh_rows()
    }

    /// Number of fresh rows.
    pub fn fresh_rows(&self) -> u64 {
        self.record_bytes * FRESH_ROWS as u64
    }

    /// The sizes that determine the noise of both passes.
    pub fn words(&self) -> [WordNoise; 2] {
        let [first, second] = self.query_bits;
        let (columns, answer_bits) = (self.cut().columns(), FRESH_BITS as u8);
        let mask_bits = Some(HINT_BITS as u8);
        let first = WordNoise { columns, query_bits: first, answer_bits, mask_bits };
        let (columns, mask_bits) = (self.blocks, Some(self.mask_bits));
        [first, WordNoise { columns, query_bits: second, answer_bits: self.answer_bits, mask_bits }]
    }

    /// Bytes of both matrices in an image.
    pub fn matrix_bytes(&self) -> u64 {
        self.cut().first_bytes() + self.cut().second_bytes()
    }
}

impl HintLiteral for ParamsLiteral {
    fn hint(&self) -> HintDownload {
        HintDownload::new(self.hint_bytes())
    }
}

impl MatrixLiteral for ParamsLiteral {
    fn select(shape: &TableShape) -> Result<Self> {
        cheapest(shape, |candidate| {
            let literal = word_sizes(&candidate).filter(|literal| candidate.affords(literal.hint_bytes()))?;
            Some((literal.costs(), literal))
        })
    }

    fn check(&self) -> Result<Security> {
        if self.set != SET {
            return Err(field("set", format!("must be \"{SET}\"")));
        }
        // A server that chose A could choose one with a trapdoor, so the seed is fixed for
        // everyone.
        if self.seed != PUBLIC_SEED {
            return Err(field("seed", format!("must be the scheme's public seed {PUBLIC_SEED}")));
        }
        if let Some((name, why)) = self.cut().refusal() {
            return Err(field(name, why));
        }
        let [first, second] = self.query_bits;
        within("query_bits", first, QUERY_BITS)?;
        within("query_bits", second, QUERY_BITS)?;
        within("answer_bits", self.answer_bits, MIN_ANSWER_BITS..=second)?;
        within("mask_bits", self.mask_bits, MASK_BITS)?;
        ring::security()
    }

    fn shape(&self) -> [u64; 2] {
        [self.records, self.record_bytes]
    }

    /// Words of a query: those of both vectors.
    fn query(&self) -> Format {
        let [first, second] = self.query_bits.map(u32::from);
        Format::of(Field::words(self.cut().columns(), first)).and(1, Field::words(self.blocks, second))
    }

    /// The words of the second matrix, then those of the fresh rows: the lower bytes of all words, then
    /// the upper ones. And the mask of each fresh row, n words.
    fn answer(&self) -> Format {
        let masks = self.fresh_rows() * N as u64;
        Format::of(Field::words(self.answer_words(), self.answer_bits.into()))
            .and(1, Field::words(masks, self.mask_bits.into()))
    }

    /// Failure probability over both passes.
    fn failure_log2(&self) -> f64 {
        let [first, second] = self.words();
        let read = failure_log2(self.record_bytes, &first);
        let fixed = failure_log2(self.cut().second_rows(), &WordNoise { mask_bits: None, ..second });
        let fresh = failure_log2(self.fresh_rows(), &second);
        sotto_silent::log2_sum([read, fixed, fresh])
    }

    /// Work of an answer: both matrices are read once, and the fresh rows' masks are made.
    fn work(&self) -> Costs {
        let transforms = self.fresh_rows() * (self.blocks.div_ceil(N as u64) + 1);
        Costs {
            artifact_bytes: self.hint_bytes(),
            server_ops: self.matrix_bytes() * work::READ_BYTE + transforms * TRANSFORM_OPS,
            // The mask is a product with the whole hint.
            client_ops: self.hint_bytes() * work::READ_BYTE
                + (self.cut().columns() + self.blocks) * SAMPLE_OPS,
            resident_bytes: self.matrix_bytes() + self.hint_bytes(),
            ..Costs::default()
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let cut = self.cut();
        let [first, second] = self.words().map(|words| {
            let ([errors, roundings], margin) = bound::variances_and_margin(&words);
            let [errors, roundings] = [errors, roundings].map(f64::sqrt);
            format!("errors {errors:.0}, roundings {roundings:.0}, of a margin of {margin:.0}")
        });
        vec![
            ("l", cut.rows().to_string()),
            ("m", cut.columns().to_string()),
            ("n", N.to_string()),
            ("log2 Q", format!("{LOG2_Q:.6}")),
            ("sigma", SIGMA.to_string()),
            ("second matrix", format!("{} x {}", cut.second_rows(), cut.blocks)),
            ("hint bytes", self.hint_bytes().to_string()),
            ("first pass", first),
            ("fresh rows", second),
        ]
    }
}

/// The word sizes with the fewest bytes in query and answer together. The first pass may use half
/// of the required failure probability, the rows of the second matrix a quarter, and the fresh ones
/// an eighth.
fn word_sizes(candidate: &LayoutCandidate) -> Option<ParamsLiteral> {
    let LayoutCandidate { cut, required, .. } = *candidate;
    let literal = |query_bits, answer_bits, mask_bits| ParamsLiteral {
        set: SET.into(),
        record_bytes: cut.record_bytes,
        records: cut.records,
        blocks: cut.blocks,
        query_bits,
        answer_bits,
        mask_bits,
        seed: PUBLIC_SEED,
    };
    let widest = |first, second| literal([first, second], second, *MASK_BITS.end());
    let first = QUERY_BITS.into_iter().find(|first| {
        let [words, _] = widest(*first, *QUERY_BITS.end()).words();
        failure_log2(cut.record_bytes, &words) <= required - 1.0
    })?;
    let second = QUERY_BITS.filter_map(|second| {
        let fixed = |bits: &u8| {
            let [_, words] = literal([first, second], *bits, *MASK_BITS.end()).words();
            failure_log2(cut.second_rows(), &WordNoise { mask_bits: None, ..words }) <= required - 2.0
        };
        let answer = (MIN_ANSWER_BITS..=second).find(fixed)?;
        let fresh = |answer| {
            let mut masks = MASK_BITS.map(move |mask| literal([first, second], answer, mask));
            masks.find(|literal| {
                let [_, words] = literal.words();
                failure_log2(literal.fresh_rows(), &words) <= required - 3.0
            })
        };
        (answer..=second).find_map(fresh)
    });
    second.min_by_key(|literal| literal.query_bytes() + literal.answer_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DoublePir;
    use sotto_core::Goal;
    use sotto_silent::MatrixScheme;
    use sotto_testkit::served::selects;

    #[test]
    fn what_is_selected_passes_the_check() {
        selects::<MatrixScheme<DoublePir>>(1 << 32, 300);
    }

    #[test]
    fn the_papers_table_takes_little_more_than_a_pass() {
        // 2^31 rows of a bit.
        let literal = ParamsLiteral::select(&TableShape::new(1 << 28, 1, 100)).unwrap();
        assert_eq!(literal.hint_bytes(), 3 << 22);
        assert!(literal.query_bytes() < 250_000 && literal.answer_bytes() < 12_000, "{literal:?}");
        assert!(literal.cut().second_bytes() * 10 <= literal.cut().first_bytes(), "{literal:?}");
    }

    #[test]
    fn goals_are_worth_asking_for() {
        let shape = |goal| TableShape { goal, ..TableShape::new(1 << 26, 4, 100) };
        let [time, query, total, rate] = Goal::ALL.map(|goal| ParamsLiteral::select(&shape(goal)).unwrap());
        assert!(time.costs().server_ops <= total.costs().server_ops);
        assert!(query.query_bytes() <= total.query_bytes());
        let all = |literal: &ParamsLiteral| {
            literal.query_bytes() + literal.answer_bytes() + literal.hint_bytes() / 100
        };
        let lookups = |literal: &ParamsLiteral| 4 / literal.record_bytes;
        assert!(all(&total) * lookups(&total) <= all(&time) * lookups(&time));
        assert!(rate.answer_bytes() * lookups(&rate) <= total.answer_bytes() * lookups(&total));
    }
}
