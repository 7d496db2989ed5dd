//! Parameters as a catalog states them, `l` bytes in a record, `m` records, the bytes that are packed
//! together, and the bits of all messages.

mod select;

use serde::{Deserialize, Serialize};
use sotto_core::{AbortLeakage, Costs, NamedSet, Result, Security, TableShape, work};
use sotto_math::matrix::{PANEL_ROWS, PanelLayout};
use sotto_prg::PublicSeed;
use sotto_silent::groups::{Groups, MaskLayout};
use sotto_silent::lattice::{self, N, PACKED_OPS, Q_BITS, SIGMA};
use sotto_silent::limits::{self, KEY_BITS, field, in_range, within};
use sotto_silent::message::{Field, Format};
use sotto_silent::plain_modulus::{MAX_SCALE, PlainModulus};
use sotto_silent::short_blocks::{MAX_BLOCK, ShortBlocks};
use sotto_silent::unit_vector::{KEY_BODIES, KEYS_OPS, MessageBits, WORD_OPS};
use sotto_silent::{MatrixLiteral, bound};
use std::ops::RangeInclusive;

/// Maximum bytes of a record: 512 to 2048 packed ciphertexts.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Maximum number of records. Their noise alone ends a little above, depending on the bits of a
/// query's words.
pub const MAX_RECORDS: u64 = 1 << 20;

/// Maximum number of buckets.
pub const MAX_BUCKETS: u64 = 1 << 10;

/// Maximum bytes of the records, one of each bucket, that an answer brings.
pub const MAX_ANSWERED_BYTES: u64 = 1 << 24;

/// Numbers that may be packed together: as many as the ring has coefficients, with two keys, or half as
/// many with one.
pub(crate) const SAMPLES: [u64; 2] = [N as u64, N as u64 / 2];

/// Maximum number of short blocks in a query, which is multiplied by as many powers as a block has bytes
/// of each product.
pub(crate) const MAX_BLOCKS: u64 = 4;

/// Named set of tables with one record in a column, whose answers are authenticated where rows are verified.
pub const ONE_SCALE: &str = "one-scale";

/// The range of the scales of a column. With six of numbers of four bits little is left of the margin.
const SCALES: RangeInclusive<u8> = 2..=6;

/// Bits of a number: a byte is one, or two at several scales.
const NUMBER_BITS: [u8; 2] = [8, 4];

/// Most bits from one scale to the next.
const MAX_SCALE_BITS: u8 = 16;

/// The range of the bits of a query's word.
pub(crate) const QUERY_BITS: RangeInclusive<u8> = 16..=Q_BITS as u8;

/// Most bits of an answer's word: up to 37 of a mask, the client's product with it is exact.
pub(crate) const MAX_ANSWER_BITS: u8 = *limits::MASK_BITS.end();

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the ring: [`lattice::SET`].
    pub set: String,
    /// Bytes in a record: rows of the matrix, `l`.
    pub record_bytes: u64,
    /// Number of records, of all buckets together. Those of a bucket are the columns of its matrix, `m`.
    pub records: u64,
    /// Equal buckets, of each of which a query brings a record; left out if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u64>,
    /// Bytes of a record that are packed together: 2048, with two keys, or 1024, with one.
    pub samples: u64,
    /// Records in a block of the query: a power of two up to 1024 in [short
    /// blocks](sotto_silent::short_blocks), for tables of few records. 2048, which is not stated,
    /// where each coefficient of a block selects a record.
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub block: u64,
    /// Records that a column of the matrix has, each at a [scale](PlainModulus) of its own, and the
    /// bits from one scale to the next; left out if a column is a record. One bucket, blocks that are
    /// not short, and no sums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scales: Option<[u8; 2]>,
    /// Bits of a number: 8, which is not stated, or 4, of which a byte has two. Four bits with several
    /// scales.
    #[serde(default = "byte", skip_serializing_if = "is_byte")]
    pub number_bits: u8,
    /// Bits of a query's word that are sent.
    pub query_bits: u8,
    /// Bits of a key's coefficient that are sent.
    pub key_bits: u8,
    /// Bits of a coefficient of an answer: of masks, of bodies.
    pub answer_bits: [u8; 2],
    /// Seed of the public polynomials: [`lattice::PUBLIC_SEED`].
    pub seed: PublicSeed,
}

/// Records in a block that is not short.
pub(crate) const fn whole() -> u64 {
    N as u64
}

/// Whether a block is not short.
#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")
)]
const fn is_whole(block: &u64) -> bool {
    *block == whole()
}

/// Bits of a number that is a byte.
pub(crate) const fn byte() -> u8 {
    8
}

/// Whether a number is a byte.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_byte(bits: &u8) -> bool {
    *bits == byte()
}

impl ParamsLiteral {
    /// The bits of all messages.
    pub fn bits(&self) -> MessageBits {
        let [mask, body] = self.answer_bits.map(u32::from);
        MessageBits { query: self.query_bits.into(), keys: self.key_bits.into(), mask, body }
    }

    /// Packed ciphertexts of a record; an answer has those of a record of each bucket.
    pub fn groups(&self) -> u64 {
        self.numbers().div_ceil(self.samples.max(1))
    }

    /// Numbers of a record.
    fn numbers(&self) -> u64 {
        if is_byte(&self.number_bits) { self.record_bytes } else { 2 * self.record_bytes }
    }

    /// Numbers of a record that are packed together.
    pub fn samples(&self) -> usize {
        self.samples as usize
    }

    /// The table in short blocks; `None` if blocks are not short.
    pub fn short_blocks(&self) -> Option<ShortBlocks> {
        let [record_bytes, records, block] =
            [self.record_bytes, self.records, self.block].map(|x| x as usize);
        (!is_whole(&self.block)).then_some(ShortBlocks { record_bytes, records, block })
    }

    /// The plain modulus of a record's numbers, of which the matrix's numbers have one or one at each
    /// scale.
    pub fn plain(&self) -> PlainModulus {
        let [scales, scale_bits] = self.scales.unwrap_or([1, 0]);
        PlainModulus::at_scales(self.number_bits.into(), scales.into(), scale_bits.into())
    }

    /// Records in a column of the matrix.
    pub fn column_records(&self) -> u64 {
        self.plain().scales() as u64
    }

    /// Words of each of a query's vectors.
    pub fn words(&self) -> u64 {
        self.short_blocks().map_or_else(|| self.columns(), |blocks| blocks.words() as u64)
    }

    /// Columns of a bucket's matrix.
    fn columns(&self) -> u64 {
        self.bucket_records().div_ceil(self.column_records())
    }

    /// Rows of a bucket's matrix: whole panels of each record where there are several in a column.
    fn rows(&self) -> u64 {
        match self.column_records() {
            1 => self.numbers(),
            several => several * self.numbers().next_multiple_of(PANEL_ROWS as u64),
        }
    }

    /// Bodies of packing keys: of two keys if as many bytes are packed as the ring has coefficients.
    /// Short blocks need one, and none if a block selects one record.
    fn key_bodies(&self) -> u64 {
        let keys = match self.block {
            1 => 0,
            _ if !is_whole(&self.block) || self.samples() < N => 1,
            _ => 2,
        };
        self.plain().packing().bodies() as u64 * keys
    }

    /// The range of the bits of an answer's word. With as many bits of a body as a number has, nothing is
    /// left of the margin.
    pub(crate) fn answer_range(&self) -> RangeInclusive<u8> {
        self.number_bits + 1..=MAX_ANSWER_BITS
    }

    /// Numbers that are packed with one switch fewer.
    fn switched(&self) -> usize {
        if is_whole(&self.block) { self.samples() } else { self.block as usize }
    }

    /// The layout of a bucket's matrix.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.rows() as usize, self.columns() as usize)
    }

    /// The bodies of some groups' packed ciphertexts.
    pub fn bodies(&self, groups: u64) -> Format {
        Format::default().and(groups, Field::words(self.samples, self.bits().body))
    }

    /// The packing groups of a record's numbers.
    pub fn packing(&self) -> Groups {
        Groups::of(self.plain(), self.samples(), self.numbers() as usize, 1)
    }

    /// Bytes of the weights of all buckets.
    pub fn weight_bytes(&self) -> u64 {
        self.buckets() * self.packing().bytes(MaskLayout::ARTIFACT)
    }

    /// Bytes of a bucket: the matrix, rows padded to 64 and columns to 4, and the weights.
    pub fn bucket_bytes(&self) -> u64 {
        let matrix = self.rows().next_multiple_of(PANEL_ROWS as u64) * self.columns().next_multiple_of(4);
        matrix + self.packing().bytes(MaskLayout::ARTIFACT)
    }

    /// Bytes of the image: all buckets, or with short blocks the matrix and the digits of switches.
    pub fn image_bytes(&self) -> u64 {
        self.short_blocks()
            .map_or_else(|| self.buckets() * self.bucket_bytes(), |blocks| blocks.image_bytes())
    }

    /// Samples of ring-LWE under one secret, coefficient by coefficient: the words of all vectors, and
    /// the keys.
    pub fn samples_of_secret(&self) -> u64 {
        self.buckets() * self.words() + self.key_bodies() * N as u64
    }
}

impl MatrixLiteral for ParamsLiteral {
    fn sets() -> Vec<NamedSet> {
        let about =
            "one record in a column of the matrix, so that a refusal of an answer tells nothing of the row";
        vec![NamedSet { name: ONE_SCALE, about }]
    }

    fn select(shape: &TableShape) -> Result<Self> {
        select::select(shape)
    }

    fn check(&self) -> Result<Security> {
        limits::public(&self.set, &self.seed)?;
        in_range("record_bytes", self.record_bytes, MAX_RECORD_BYTES)?;
        in_range("records", self.records, MAX_RECORDS)?;
        if let Some(buckets) = self.buckets {
            in_range("buckets", buckets, MAX_BUCKETS)?;
            if buckets == 1 || !self.records.is_multiple_of(buckets) {
                return Err(field(
                    "buckets",
                    "must divide the records, and be left out if there is one".to_owned(),
                ));
            }
            if buckets * self.record_bytes > MAX_ANSWERED_BYTES {
                return Err(field(
                    "buckets",
                    format!("must have at most {MAX_ANSWERED_BYTES} bytes in an answer"),
                ));
            }
        }
        if !SAMPLES.contains(&self.samples) {
            return Err(field("samples", format!("must be one of {SAMPLES:?}")));
        }
        if !is_whole(&self.block) {
            in_range("block", self.block, MAX_BLOCK)?;
            if !self.block.is_power_of_two() || self.samples != N as u64 || self.buckets.is_some() {
                let why = "must be a power of two, with 2048 bytes packed together and one bucket";
                return Err(field("block", why.into()));
            }
            if self.records.div_ceil(self.block) > MAX_BLOCKS {
                return Err(field(
                    "block",
                    format!("must be at least a quarter of the {} records", self.records),
                ));
            }
        }
        if !NUMBER_BITS.contains(&self.number_bits) || (self.scales.is_none() && !is_byte(&self.number_bits))
        {
            return Err(field(
                "number_bits",
                format!("must be one of {NUMBER_BITS:?}, and 8 without scales"),
            ));
        }
        if let Some([scales, bits]) = self.scales {
            within("scales", scales, SCALES)?;
            within("scales", bits, self.number_bits + 1..=MAX_SCALE_BITS)?;
            if u32::from(scales - 1) * u32::from(bits) > MAX_SCALE {
                return Err(field("scales", format!("must have at most {MAX_SCALE} bits in all")));
            }
            if self.buckets.is_some() || !is_whole(&self.block) {
                return Err(field("scales", "must be left out with buckets and short blocks".into()));
            }
        }
        within("query_bits", self.query_bits, QUERY_BITS)?;
        within("key_bits", self.key_bits, KEY_BITS)?;
        let [mask, body] = self.answer_bits;
        within("answer_bits", mask, self.answer_range())?;
        within("answer_bits", body, *self.answer_range().start()..=mask)?;
        lattice::security()
    }

    fn shape(&self) -> [u64; 2] {
        [self.records, self.record_bytes]
    }

    fn buckets(&self) -> u64 {
        self.buckets.unwrap_or(1)
    }

    /// The words of each bucket's vector, and the bodies of the keys, which are for all of them.
    fn query(&self) -> Format {
        let bits = self.bits();
        Format::default()
            .and(self.buckets(), Field::residues(self.words(), bits.query))
            .and(self.key_bodies(), Field::residues(N as u64, bits.keys))
    }

    /// The body of a packed ciphertext for each group, bucket by bucket.
    fn answer(&self) -> Format {
        self.bodies(self.buckets() * self.groups())
    }

    fn masks(&self) -> Format {
        let mask = Field::words(N as u64, self.bits().mask);
        Format::default().and(self.buckets() * self.groups(), mask)
    }

    fn failure_log2(&self) -> f64 {
        let numbers = self.buckets() * self.numbers();
        bound::few_failure_log2(self.switched(), numbers, self.words(), self.plain(), self.bits())
    }

    /// What records at lower scales leave in a number is public, and moves the boundary at which an
    /// answer is refused.
    fn abort_leakage(&self) -> Option<AbortLeakage> {
        self.scales.map(|_| AbortLeakage::Row)
    }

    /// Work of an answer: both passes read their tables once, and each coefficient is packed.
    fn work(&self) -> Costs {
        let passes = match self.short_blocks() {
            Some(blocks) => short_block_ops(&blocks),
            None => self.image_bytes() * work::READ_BYTE,
        };
        Costs {
            server_ops: passes + self.buckets() * self.groups() * N as u64 * PACKED_OPS,
            client_ops: KEYS_OPS * self.key_bodies() / KEY_BODIES as u64
                + self.buckets() * self.words() * WORD_OPS,
            resident_bytes: self.image_bytes(),
            ..Costs::default()
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let ([errors, roundings], margin) =
            bound::few_variances_and_margin(self.switched(), self.words(), self.plain(), self.bits());
        let blocks = self.short_blocks();
        let packing = match &blocks {
            Some(blocks) => ("bytes of digits", blocks.groups() as u64 * blocks.digit_bytes()),
            None => ("bytes of weights", self.weight_bytes()),
        };
        let mut details = vec![
            ("l", self.record_bytes.to_string()),
            ("m", self.columns().to_string()),
            ("records in a column", self.column_records().to_string()),
            ("bits of a number", self.number_bits.to_string()),
            ("buckets", self.buckets().to_string()),
            ("samples of a secret", self.samples_of_secret().to_string()),
            ("d", N.to_string()),
            ("log2 q", format!("{:.3}", (lattice::Q as f64).log2())),
            ("sigma", SIGMA.to_string()),
            ("packed ciphertexts", (self.buckets() * self.groups()).to_string()),
            ("bytes of masks", self.masks().bytes().to_string()),
            ("byte planes", self.query_bits.div_ceil(8).to_string()),
            (packing.0, packing.1.to_string()),
            ("errors", format!("2^{:.1} of a margin of 2^{:.1}", errors.log2() / 2.0, margin.log2())),
            ("roundings", format!("2^{:.1}", roundings.log2() / 2.0)),
        ];
        details.extend(blocks.map(|blocks| ("records in a block", blocks.block.to_string())));
        details
    }
}

/// Work of the passes over a matrix in short blocks, as many as powers of `Y`, and over the digits.
fn short_block_ops(blocks: &ShortBlocks) -> u64 {
    let matrix = blocks.image_bytes() - blocks.groups() as u64 * blocks.digit_bytes();
    let digits = blocks.image_bytes() - matrix;
    matrix * work::READ_BYTE + matrix * blocks.powers() as u64 * ROTATED_BYTE_OPS + digits * DIGIT_BYTE_OPS
}

/// Operations for a byte of the matrix and a rotated query, in the cache, measured.
const ROTATED_BYTE_OPS: u64 = 9;

/// Operations for a byte of a switch's digits: unpacking, a product, and rotating the key; measured.
const DIGIT_BYTE_OPS: u64 = 92;
