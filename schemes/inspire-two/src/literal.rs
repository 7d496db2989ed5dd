//! Parameters as a catalog states them, the number and bytes of records, the number of blocks, and the
//! bits of all messages; and choosing them for a table: many columns cost query bytes, many blocks cost
//! weights to read.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, Result, Security, TableShape, work};
use sotto_lattice::noise::log2_sum;
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::groups::{Groups, MaskLayout};
use sotto_silent::lattice::{self, KEY_WORDS, N, PACKED_OPS, PUBLIC_SEED, SET, SIGMA, weight_layout};
use sotto_silent::limits::{self, MASK_BITS, QUERY_BITS, field, in_range, within};
use sotto_silent::matrix_shape::{MatrixShape, cheapest, of_small_image, price};
use sotto_silent::message::{Field, Format};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{MessageBits, WORD_OPS};
use sotto_silent::{MatrixLiteral, bound};
use std::ops::{Range, RangeInclusive};

/// Numbers of a packed ciphertext of the second layer: the maximum that one key packs.
pub const GROUP: usize = N / 2;

/// Maximum bytes of a record: as many numbers as one key packs.
pub const MAX_RECORD_BYTES: u64 = 2 * GROUP as u64;

/// Maximum number of columns, which are words of the first vector.
pub const MAX_COLUMNS: u64 = 1 << 20;

/// Maximum number of blocks, a power of two, which are words of the second vector.
pub const MAX_BLOCKS: u64 = 1 << 16;

/// The range of the bits of a key's coefficient: up to six byte planes.
pub const KEY_BITS: RangeInclusive<u8> = 40..=48;

/// Operations for a client's key.
const KEY_OPS: u64 = 70_000_000;

/// Operations for one number of the first layer: its products of all planes become a residue, which
/// is truncated.
const NUMBER_OPS: u64 = 10_000;

/// Operations for packing one body: its mask, and a switch.
const SWITCH_OPS: u64 = 14_000_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the ring: [`SET`].
    pub set: String,
    /// Bytes in a record, `w`.
    pub record_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Blocks, `N2`: records in one column. A power of two.
    pub blocks: u64,
    /// Bits of a word of both vectors that are sent.
    pub query_bits: [u8; 2],
    /// Bits of a key's coefficient that are sent.
    pub key_bits: u8,
    /// Bits of a coefficient of the first layer's ciphertexts, from which the second selects: of
    /// masks, of bodies.
    pub inner_bits: [u8; 2],
    /// Bits of a coefficient of an answer: of masks, of bodies.
    pub answer_bits: [u8; 2],
    /// Seed of the public polynomials: [`PUBLIC_SEED`].
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// Columns of the grid: words of the first vector.
    pub fn columns(&self) -> u64 {
        self.records.div_ceil(self.blocks.max(1))
    }

    /// Numbers of a record: two bytes each.
    pub fn numbers(&self) -> usize {
        self.record_bytes.div_ceil(2) as usize
    }

    /// The bits of both layers' messages. The first layer's answer is not sent: the second layer
    /// selects from it.
    pub fn bits(&self) -> [MessageBits; 2] {
        let [first, second] = self.query_bits.map(u32::from);
        let keys = self.key_bits.into();
        let [inner_mask, inner_body] = self.inner_bits.map(u32::from);
        let [mask, body] = self.answer_bits.map(u32::from);
        [
            MessageBits { query: first, keys, mask: inner_mask, body: inner_body },
            MessageBits { query: second, keys, mask, body },
        ]
    }

    /// The layout of the matrix of all records: a column for each column of the grid, block under
    /// block.
    pub fn matrix(&self) -> PanelLayout {
        PanelLayout::new(2 * self.numbers() * self.blocks as usize, self.columns() as usize)
    }

    /// The layout of the weights that pack each block.
    pub fn weights(&self) -> PanelLayout {
        weight_layout(self.numbers(), self.blocks as usize)
    }

    /// The layout of the second matrix: a column for each block, with the bytes of its ciphertext's
    /// mask. Empty for one block, whose mask is not selected.
    pub fn mask_matrix(&self) -> PanelLayout {
        let rows = if self.picks() > 0 { N / 8 * usize::from(self.inner_bits[0]) } else { 0 };
        PanelLayout::new(rows, self.blocks as usize)
    }

    /// The rows of the second matrix for some groups of masks; without groups, the part with the
    /// first mask has all rows.
    pub fn masks_of(&self, which: Range<usize>) -> PanelLayout {
        let [masks, _] = self.groups();
        let numbers: usize = masks.get(which).unwrap_or_default().iter().sum();
        PanelLayout::new(2 * numbers, self.blocks as usize)
    }

    /// Bytes of a block's bodies.
    pub fn body_bytes(&self) -> usize {
        (self.numbers() * usize::from(self.inner_bits[1])).div_ceil(8)
    }

    /// Words of the second vector: none for one block, whose ciphertext is the answer.
    pub fn picks(&self) -> u64 {
        if self.blocks > 1 { self.blocks } else { 0 }
    }

    /// Numbers of each packed ciphertext of the second layer: first those of masks, then those of
    /// bodies. The size of a packing is the next power of two.
    pub fn groups(&self) -> [Vec<usize>; 2] {
        let of =
            |numbers: usize| (0..numbers).step_by(GROUP).map(|first| GROUP.min(numbers - first)).collect();
        let numbers = [self.mask_matrix().rows() / 2, self.body_bytes().div_ceil(2)];
        if self.picks() > 0 { numbers.map(of) } else { [Vec::new(), Vec::new()] }
    }

    /// The ciphertexts of an answer whose masks follow from the table: the count of numbers of each,
    /// and their bits. The other ones are those of bodies, whose masks depend on the query.
    pub fn parts(&self) -> Vec<(usize, MessageBits)> {
        let ([first, second], [of_masks, _]) = (self.bits(), self.groups());
        let picked = of_masks.into_iter().map(|numbers| (numbers, second));
        if self.picks() > 0 { picked.collect() } else { vec![(self.numbers(), first)] }
    }

    /// The bodies of some of these ciphertexts.
    pub fn bodies(&self, which: Range<usize>) -> Format {
        let parts = self.parts();
        let body = |(numbers, bits): &(usize, MessageBits)| Field::words(*numbers as u64, bits.body);
        let bodies = parts.get(which).unwrap_or_default().iter().map(body);
        bodies.fold(Format::default(), |format, field| format.and(1, field))
    }

    /// The packing groups of the masks' numbers: groups of one size, and then smaller ones.
    pub fn packings(&self) -> Vec<Groups> {
        let [masks, _] = self.groups();
        self.packings_of(0..masks.len())
    }

    /// The packing groups of some groups of masks.
    pub fn packings_of(&self, which: Range<usize>) -> Vec<Groups> {
        let [masks, _] = self.groups();
        let masks = masks.get(which).unwrap_or_default();
        let same = masks.chunk_by(|a, b| a.next_power_of_two() == b.next_power_of_two());
        let groups = same.filter_map(|run| Some((run.first()?.next_power_of_two(), run.iter().sum())));
        groups.map(|(size, numbers)| Groups::of(PlainModulus::PAIR, size, numbers, 1)).collect()
    }

    /// The offsets of the section's parts, and its end: matrix, weights, masks, weights of the
    /// masks.
    pub fn starts(&self) -> [u64; 5] {
        let packing = self.packings().iter().map(|groups| groups.bytes(MaskLayout::ARTIFACT)).sum::<u64>();
        let parts = [self.matrix(), self.weights(), self.mask_matrix()].map(|layout| layout.bytes() as u64);
        let [matrix, weights, masks] = parts;
        [0, matrix, matrix + weights, matrix + weights + masks, matrix + weights + masks + packing]
    }

    /// Bytes of the image.
    pub fn image_bytes(&self) -> u64 {
        let [.., end] = self.starts();
        end
    }

    /// Bounds on log2 of the failure probability of the first layer, and of the second, if there is
    /// one.
    pub fn failures_log2(&self) -> [f64; 2] {
        let [first, second] = self.bits();
        let numbers = self.numbers();
        let sent = self.groups().iter().flatten().sum::<usize>() as u64;
        let few = |samples, numbers, words, bits| {
            bound::few_failure_log2(samples, numbers, words, PlainModulus::PAIR, bits)
        };
        [
            few(numbers.next_power_of_two(), numbers as u64, self.columns(), first),
            few(GROUP, sent, self.picks(), second),
        ]
    }

    /// The position of a record: its column, and the first row of its block.
    pub fn place(&self, record: u64) -> (u64, u64) {
        (record / self.blocks, record % self.blocks * 2 * self.numbers() as u64)
    }
}

impl MatrixLiteral for ParamsLiteral {
    fn select(shape: &TableShape) -> Result<Self> {
        let too_large =
            "it needs more than 2^36 records of at most 2048 bytes, or their noise leaves no margin";
        let priced = || {
            let grids = cuts(shape).flat_map(|cut| grids(cut).map(move |blocks| (cut, blocks)));
            grids.filter_map(|(cut, blocks)| {
                let literal = word_sizes(shape, cut, blocks)?;
                // Where rows are short, bytes are the reason to choose this scheme: they weigh twice.
                let mut costs = literal.costs();
                let sent = [&mut costs.artifact_bytes, &mut costs.query_bytes, &mut costs.answer_bytes];
                sent.into_iter().for_each(|bytes| *bytes *= 2);
                Some((price(shape, &cut, &costs), literal))
            })
        };
        let selected = cheapest(shape, too_large, priced)?;
        Ok(of_small_image(shape, selected, Self::image_bytes, |_| priced()))
    }

    fn check(&self) -> Result<Security> {
        limits::public(&self.set, &self.seed)?;
        in_range("record_bytes", self.record_bytes, MAX_RECORD_BYTES)?;
        in_range("blocks", self.blocks, MAX_BLOCKS)?;
        if !self.blocks.is_power_of_two() {
            return Err(field("blocks", "must be a power of two".into()));
        }
        in_range("records", self.records, self.blocks * MAX_COLUMNS)?;
        self.query_bits.into_iter().try_for_each(|bits| within("query_bits", bits, QUERY_BITS))?;
        within("key_bits", self.key_bits, KEY_BITS)?;
        for (name, [mask, body]) in [("inner_bits", self.inner_bits), ("answer_bits", self.answer_bits)] {
            within(name, mask, MASK_BITS)?;
            within(name, body, *MASK_BITS.start()..=mask)?;
        }
        lattice::security()
    }

    fn shape(&self) -> [u64; 2] {
        [self.records, self.record_bytes]
    }

    /// Fields of a query: both vectors, and the bodies of one key, coefficient by coefficient.
    fn query(&self) -> Format {
        let [first, second] = self.bits();
        Format::of(Field::residues(self.columns(), first.query))
            .and(1, Field::residues(self.picks(), second.query))
            .and(1, Field::residues(KEY_WORDS as u64, first.keys))
    }

    /// The bodies of each packed ciphertext, and then, where blocks are selected, mask and bodies of
    /// those of the blocks' bodies.
    fn answer(&self) -> Format {
        let ([_, second], [_, of_bodies]) = (self.bits(), self.groups());
        let with = |format: Format, numbers| format.and_packed(1, numbers as u64, second);
        of_bodies.into_iter().fold(self.bodies(0..self.parts().len()), with)
    }

    fn masks(&self) -> Format {
        let parts = self.parts().into_iter();
        parts.fold(Format::default(), |format, (_, bits)| format.and(1, Field::words(N as u64, bits.mask)))
    }

    fn failure_log2(&self) -> f64 {
        let [first, second] = self.failures_log2();
        log2_sum(first, second).min(0.0)
    }

    /// Every part of the image is read once, and coefficients, numbers and bodies are packed.
    fn work(&self) -> Costs {
        let [_, bodies] = self.groups();
        let switches: usize = bodies.iter().map(|numbers| numbers.next_power_of_two()).sum();
        Costs {
            server_ops: self.image_bytes() * work::READ_BYTE
                + ((self.parts().len() + bodies.len()) * N) as u64 * PACKED_OPS
                + self.blocks * self.numbers() as u64 * NUMBER_OPS
                + switches as u64 * SWITCH_OPS,
            client_ops: KEY_OPS + (self.columns() + self.blocks) * WORD_OPS,
            resident_bytes: self.image_bytes(),
            ..Costs::default()
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let [_, weights, masks, packing, end] = self.starts();
        let failures = self.failures_log2();
        vec![
            ("columns", self.columns().to_string()),
            ("blocks", self.blocks.to_string()),
            ("d", N.to_string()),
            ("log2 q", format!("{:.3}", (lattice::Q as f64).log2())),
            ("sigma", SIGMA.to_string()),
            ("packed ciphertexts", (self.parts().len() + self.groups()[1].len()).to_string()),
            ("bytes of weights", (masks - weights).to_string()),
            ("bytes of masks", (packing - masks).to_string()),
            ("bytes of the masks' weights", (end - packing).to_string()),
            ("failure of the layers", format!("2^{:.0}, 2^{:.0}", failures[0], failures[1])),
        ]
    }
}

/// Divisions of rows into records.
fn cuts(shape: &TableShape) -> impl Iterator<Item = MatrixShape> {
    let (rows, row_bytes) = (shape.rows, shape.row_bytes);
    let together = (0..).map(|i| 1u64 << i).take_while(move |together| {
        row_bytes.checked_mul(*together).is_some_and(|bytes| bytes <= MAX_RECORD_BYTES)
    });
    let whole = together.map(move |together| {
        let together = together.min(rows);
        MatrixShape { record_bytes: together * row_bytes, records: rows.div_ceil(together), lookups: 1 }
    });
    // Widths are evened out, so that the last record of a row is not mostly padding.
    let lookups = row_bytes.div_ceil(MAX_RECORD_BYTES);
    let pieces = rows.checked_mul(lookups).filter(|_| lookups > 1);
    let record_bytes = row_bytes.div_ceil(lookups);
    whole.chain(pieces.map(move |records| MatrixShape { record_bytes, records, lookups }))
}

/// Minimum number of columns with more than one block: weights then take at most twice the bytes of
/// the records.
const MIN_COLUMNS: u64 = 3072;

/// Numbers of blocks worth trying.
fn grids(MatrixShape { records, .. }: MatrixShape) -> impl Iterator<Item = u64> {
    let blocks = (0..=MAX_BLOCKS.ilog2()).map(|log2| 1u64 << log2);
    blocks.filter(move |blocks| {
        let columns = records.div_ceil(*blocks);
        columns <= MAX_COLUMNS && (*blocks == 1 || columns >= MIN_COLUMNS)
    })
}

/// The word sizes with the fewest bytes of query, answer and a share of the masks, which trade noise
/// against each other. Each layer gets half of the failure probability.
fn word_sizes(shape: &TableShape, cut: MatrixShape, blocks: u64) -> Option<ParamsLiteral> {
    let required = shape.required_failure_log2() - (cut.lookups as f64).log2();
    let MatrixShape { record_bytes, records, .. } = cut;
    let widest = [*MASK_BITS.end(); 2];
    let literal = |key_bits, inner_bits| ParamsLiteral {
        set: SET.into(),
        record_bytes,
        records,
        blocks,
        query_bits: [*QUERY_BITS.end(); 2],
        key_bits,
        inner_bits,
        answer_bits: widest,
        seed: PUBLIC_SEED,
    };
    let inner = (24..=27).flat_map(|mask| [18, 19, 20, 22].map(move |body| [mask, body]));
    let keys = KEY_BITS.rev().step_by(2).take(3);
    let first = keys.flat_map(|key| inner.clone().map(move |inner| literal(key, inner)));
    let first = first.filter_map(|literal| {
        narrowest(
            QUERY_BITS,
            |bits| ParamsLiteral { query_bits: [bits, 50], ..literal.clone() },
            |literal| literal.failures_log2()[0] <= required - 1.0,
        )
    });
    // With one block there is no second layer, and its bits are those of the first.
    let alone = |literal: ParamsLiteral| {
        let [bits, _] = literal.query_bits;
        ParamsLiteral { query_bits: [bits; 2], answer_bits: literal.inner_bits, ..literal }
    };
    let answers = (22..=30).flat_map(|mask| [18, 19, 20].map(move |body| [mask, body]));
    let both = first.flat_map(|literal| -> Vec<ParamsLiteral> {
        if literal.picks() == 0 {
            return vec![alone(literal)];
        }
        let answers = answers.clone().filter_map(|answer_bits| {
            let with = |bits| {
                let [first, _] = literal.query_bits;
                ParamsLiteral { query_bits: [first, bits], answer_bits, ..literal.clone() }
            };
            narrowest(QUERY_BITS, with, |literal| literal.failures_log2()[1] <= required - 1.0)
        });
        answers.collect()
    });
    both.min_by_key(|literal| (literal.epoch_bytes(cut.queries(shape)), literal.query_bits))
}

/// The first literal that is reliable; those after it with more bits are too.
fn narrowest(
    bits: RangeInclusive<u8>,
    with: impl Fn(u8) -> ParamsLiteral,
    reliable: impl Fn(&ParamsLiteral) -> bool,
) -> Option<ParamsLiteral> {
    let (mut low, mut high) = (*bits.start(), *bits.end());
    if !reliable(&with(high)) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if reliable(&with(middle)) { high = middle } else { low = middle + 1 }
    }
    Some(with(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InspireTwo;
    use sotto_core::Goal;
    use sotto_silent::MatrixScheme;
    use sotto_testkit::served::selects;

    #[test]
    fn what_is_selected_passes_the_check() {
        selects::<MatrixScheme<InspireTwo>>(1 << 30, 1 << 14);
    }

    #[test]
    fn images_of_small_tables_are_small() {
        for [rows, row_bytes] in [[1000, 32], [1 << 15, 32], [4096, 256], [2000, 500]] {
            let literal = ParamsLiteral::select(&TableShape::new(rows, row_bytes, 1)).unwrap();
            assert!(literal.image_bytes() <= 8 * rows * row_bytes + (4 << 20), "{literal:?}");
        }
    }

    #[test]
    fn goals_are_worth_asking_for() {
        let of =
            |goal| ParamsLiteral::select(&TableShape { goal, ..TableShape::new(1 << 24, 64, 1) }).unwrap();
        let [time, total] = [Goal::ServerTime, Goal::TotalBytes].map(of);
        let bytes = |literal: &ParamsLiteral| literal.query_bytes() + literal.answer_bytes();
        assert!(bytes(&total) <= bytes(&time) && time.costs().server_ops <= total.costs().server_ops);
        assert!(of(Goal::QueryBytes).query_bytes() <= total.query_bytes());
        // The reference table: 1 GiB as 2^24 x 64 B.
        assert!(bytes(&total) <= 172_000, "{total:?}");
        assert!(bytes(&time) <= 347_000, "{time:?}");
    }
}
