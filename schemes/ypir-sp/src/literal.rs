//! Parameters as a catalog states them, `l` bytes in a record, `m` records, the bytes that are packed
//! together, and the bits of all messages; and choosing them for a table: tall records cost packing
//! and answer bytes, many records cost query bytes. Half as many bytes together save one of two keys
//! in each query, and double the masks that a client fetches once.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, Result, Security, TableShape, work};
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::groups::{Groups, MaskLayout};
use sotto_silent::lattice::{self, N, PACKED_OPS, PUBLIC_SEED, Q_BITS, SET, SIGMA};
use sotto_silent::limits::{self, KEY_BITS, field, in_range, within};
use sotto_silent::matrix_shape::{MatrixShape, cheapest, cuts, of_small_image, price};
use sotto_silent::message::{Field, Format};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::short_blocks::{MAX_BLOCK, ShortBlocks};
use sotto_silent::unit_vector::{KEY_BODIES, KEYS_OPS, MessageBits, WORD_OPS};
use sotto_silent::{MatrixLiteral, bound};
use std::ops::RangeInclusive;

/// Maximum bytes of a record: 512 or 1024 packed ciphertexts.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Maximum number of records. Their noise alone ends a little above, depending on the bits of a
/// query's words.
pub const MAX_RECORDS: u64 = 1 << 20;

/// Maximum number of buckets.
pub const MAX_BUCKETS: u64 = 1 << 10;

/// Maximum bytes of the records, one of each bucket, that an answer brings.
pub const MAX_ANSWERED_BYTES: u64 = 1 << 24;

/// The plain modulus: each signed byte of a record is a number.
const PLAIN: PlainModulus = PlainModulus::BYTE;

/// Bytes that may be packed together: as many as the ring has coefficients, with two keys, or half as
/// many with one.
const SAMPLES: [u64; 2] = [N as u64, N as u64 / 2];

/// Maximum number of short blocks in a query, which is multiplied by as many powers as a block has bytes
/// of each product.
const MAX_BLOCKS: u64 = 4;

/// The range of the bits of a query's word.
const QUERY_BITS: RangeInclusive<u8> = 16..=Q_BITS as u8;

/// The range of the bits of an answer's word. With eight bits of a body nothing is left of the
/// margin; up to 37 of a mask, the client's product with it is exact.
const ANSWER_BITS: RangeInclusive<u8> = 9..=*limits::MASK_BITS.end();

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
const fn whole() -> u64 {
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

impl ParamsLiteral {
    /// The bits of all messages.
    pub fn bits(&self) -> MessageBits {
        let [mask, body] = self.answer_bits.map(u32::from);
        MessageBits { query: self.query_bits.into(), keys: self.key_bits.into(), mask, body }
    }

    /// Packed ciphertexts of a record; an answer has those of a record of each bucket.
    pub fn groups(&self) -> u64 {
        self.record_bytes.div_ceil(self.samples.max(1))
    }

    /// Bytes of a record that are packed together.
    pub fn samples(&self) -> usize {
        self.samples as usize
    }

    /// The table in short blocks; `None` if blocks are not short.
    pub fn short_blocks(&self) -> Option<ShortBlocks> {
        let [record_bytes, records, block] =
            [self.record_bytes, self.records, self.block].map(|x| x as usize);
        (!is_whole(&self.block)).then_some(ShortBlocks { record_bytes, records, block })
    }

    /// Words of each of a query's vectors.
    pub fn words(&self) -> u64 {
        self.short_blocks().map_or_else(|| self.bucket_records(), |blocks| blocks.words() as u64)
    }

    /// Bodies of packing keys: of two keys if as many bytes are packed as the ring has coefficients.
    /// Short blocks need one, and none if a block selects one record.
    fn key_bodies(&self) -> u64 {
        let keys = match self.block {
            1 => 0,
            _ if !is_whole(&self.block) || self.samples() < N => 1,
            _ => 2,
        };
        PLAIN.packing().bodies() as u64 * keys
    }

    /// Numbers that are packed with one switch fewer.
    fn switched(&self) -> usize {
        if is_whole(&self.block) { self.samples() } else { self.block as usize }
    }

    /// The layout of a bucket's matrix.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.record_bytes as usize, self.bucket_records() as usize)
    }

    /// The bodies of some groups' packed ciphertexts.
    pub fn bodies(&self, groups: u64) -> Format {
        Format::default().and(groups, Field::words(self.samples, self.bits().body))
    }

    /// The packing groups of a record's numbers.
    pub fn packing(&self) -> Groups {
        Groups::of(PLAIN, self.samples(), self.record_bytes as usize, 1)
    }

    /// Bytes of the weights of all buckets.
    pub fn weight_bytes(&self) -> u64 {
        self.buckets() * self.packing().bytes(MaskLayout::ARTIFACT)
    }

    /// Bytes of a bucket: the matrix, rows padded to 64 and columns to 4, and the weights.
    pub fn bucket_bytes(&self) -> u64 {
        let matrix = self.record_bytes.next_multiple_of(64) * self.bucket_records().next_multiple_of(4);
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
    fn select(shape: &TableShape) -> Result<Self> {
        let too_large = "it needs more than 2^20 records of at most 2^20 bytes, or records of more than 2^24 bytes of \
                         all buckets, or their noise leaves no margin";
        let whole = cheapest(shape, too_large, || priced(shape, N as u64, |_| whole_blocks().to_vec()))?;
        // Each bucket has weights of its own, and blocks that are not short.
        if shape.buckets > 1 {
            return Ok(whole);
        }
        // A small table, whose records may be shorter than a packed ciphertext.
        Ok(of_small_image(shape, whole, Self::image_bytes, |most| {
            let packings = move |cut: &MatrixShape| {
                // The fewest words, or the fewest digits: more blocks than four are never worth it.
                let most_block = cut.records.next_power_of_two().min(MAX_BLOCK).ilog2();
                let short = (most_block.saturating_sub(2)..=most_block).map(|log| (N as u64, 1 << log));
                let all = whole_blocks().into_iter().chain(short);
                let fits = |literal: ParamsLiteral| {
                    let blocks = literal.short_blocks().map_or(1, |blocks| blocks.blocks() as u64);
                    blocks <= MAX_BLOCKS && literal.image_bytes() <= most
                };
                all.filter(|packing| fits(sized(shape, cut, *packing))).collect()
            };
            priced(shape, MIN_SMALL_RECORD, packings)
        }))
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
        within("query_bits", self.query_bits, QUERY_BITS)?;
        within("key_bits", self.key_bits, KEY_BITS)?;
        let [mask, body] = self.answer_bits;
        within("answer_bits", mask, ANSWER_BITS)?;
        within("answer_bits", body, *ANSWER_BITS.start()..=mask)?;
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
        let numbers = self.buckets() * self.record_bytes;
        bound::few_failure_log2(self.switched(), numbers, self.words(), PLAIN, self.bits())
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
            bound::few_variances_and_margin(self.switched(), self.words(), PLAIN, self.bits());
        let blocks = self.short_blocks();
        let packing = match &blocks {
            Some(blocks) => ("bytes of digits", blocks.groups() as u64 * blocks.digit_bytes()),
            None => ("bytes of weights", self.weight_bytes()),
        };
        let mut details = vec![
            ("l", self.record_bytes.to_string()),
            ("m", self.bucket_records().to_string()),
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

/// Shortest records of a small table, beside its rows.
const MIN_SMALL_RECORD: u64 = 256;

/// The bytes that may be packed together, with blocks that are not short.
fn whole_blocks() -> [(u64, u64); 2] {
    SAMPLES.map(|samples| (samples, whole()))
}

/// Literals with their prices: of divisions into records of at least some bytes, or of whole rows, and
/// for each the bytes that are packed together, and the records of a block.
fn priced(
    shape: &TableShape,
    record_bytes: u64,
    packings: impl Fn(&MatrixShape) -> Vec<(u64, u64)>,
) -> impl Iterator<Item = (f64, ParamsLiteral)> {
    // Buckets are alike: one is divided, and the others with it.
    let bucket = TableShape { rows: shape.rows / shape.buckets.max(1), ..shape.clone() };
    let fits = |cut: &MatrixShape| {
        cut.records.saturating_mul(shape.buckets) <= MAX_RECORDS
            && cut.record_bytes * shape.buckets <= MAX_ANSWERED_BYTES
    };
    let cuts: Vec<_> = cuts(&bucket, record_bytes, MAX_RECORD_BYTES).filter(fits).collect();
    let packed =
        cuts.into_iter().flat_map(move |cut| packings(&cut).into_iter().map(move |packing| (cut, packing)));
    packed.filter_map(|(cut, packing)| {
        let literal = word_sizes(shape, &cut, packing)?;
        Some((price(shape, &cut, &literal.costs()), literal))
    })
}

/// A literal of these sizes, whose words have no bits yet.
fn sized(shape: &TableShape, cut: &MatrixShape, (samples, block): (u64, u64)) -> ParamsLiteral {
    ParamsLiteral {
        set: SET.into(),
        record_bytes: cut.record_bytes,
        records: cut.records * shape.buckets,
        buckets: (shape.buckets > 1).then_some(shape.buckets),
        samples,
        block,
        query_bits: 0,
        key_bits: 0,
        answer_bits: [0; 2],
        seed: PUBLIC_SEED,
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

/// The word sizes with the fewest bytes of a lookup, which trade noise against each other: of query and
/// answer, and a share of the masks.
fn word_sizes(shape: &TableShape, cut: &MatrixShape, packing: (u64, u64)) -> Option<ParamsLiteral> {
    let required = cut.required_failure_log2(shape);
    let literal = |query_bits, key_bits, answer_bits| ParamsLiteral {
        query_bits,
        key_bits,
        answer_bits,
        ..sized(shape, cut, packing)
    };
    let reliable = |literal: &ParamsLiteral| literal.failure_log2() <= required;
    let widest = [*ANSWER_BITS.end(); 2];
    // A few more bits than the narrowest words and keys have may save more elsewhere.
    let least = QUERY_BITS.into_iter().find(|query| reliable(&literal(*query, *KEY_BITS.end(), widest)))?;
    let tried = (least..).take(TRIED).flat_map(|query| KEY_BITS.map(move |key| (query, key)));
    let fitting = tried.filter(|(query, _)| QUERY_BITS.contains(query)).flat_map(|(query, key)| {
        // The narrowest mask for each body.
        let mask_for = move |body| {
            let mut masks = (body..=*ANSWER_BITS.end()).map(|mask| literal(query, key, [mask, body]));
            masks.find(reliable)
        };
        let fits = reliable(&literal(query, key, widest));
        ANSWER_BITS.take(TRIED).filter(move |_| fits).filter_map(mask_for)
    });
    fitting.min_by_key(|literal| (literal.epoch_bytes(cut.queries(shape)), literal.query_bits))
}

/// Numbers of bits that are tried from the least on.
const TRIED: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::YpirSp;
    use sotto_core::Goal;
    use sotto_silent::MatrixScheme;
    use sotto_testkit::served::selects;

    #[test]
    fn what_is_selected_passes_the_check() {
        selects::<MatrixScheme<YpirSp>>(1 << 30, 1 << 22);
    }

    #[test]
    fn images_of_small_tables_are_small() {
        for goal in Goal::ALL {
            for [rows, row_bytes] in
                [[32, 32768], [33, 32768], [1, 1 << 20], [1000, 32], [1 << 20, 1], [700, 5000]]
            {
                let shape = TableShape { goal, ..TableShape::new(rows, row_bytes, 1) };
                let literal = ParamsLiteral::select(&shape).unwrap();
                assert!(literal.image_bytes() <= 8 * rows * row_bytes + (4 << 20), "{goal:?} {literal:?}");
            }
        }
    }

    #[test]
    fn goals_are_worth_asking_for() {
        let of =
            |goal| ParamsLiteral::select(&TableShape { goal, ..TableShape::new(1 << 15, 32768, 1) }).unwrap();
        let [time, total] = [Goal::ServerTime, Goal::TotalBytes].map(of);
        assert!(total.query_bytes() + total.answer_bytes() <= time.query_bytes() + time.answer_bytes());
        assert!(of(Goal::QueryBytes).query_bytes() <= total.query_bytes());
        // The reference table: 1 GiB as 32,768 x 32 KiB.
        assert!(time.query_bytes() + time.answer_bytes() < 523_000, "{time:?}");
    }
}
