//! Parameters as a catalog states them, `l` bytes in a record, `m` records, and R rows in a block of
//! LinPIR; and choosing them for a table: tall records cost diagonals and ciphertexts of answers, many
//! records cost words of queries.
//!
//! # Noise
//!
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

use crate::linpir::{self, BLOCK_ROWS, N, PLAIN, RINGS, SIGMA, rings};
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, Result, Security, TableShape, work};
use sotto_lattice::bgv::noise::Noise;
use sotto_lattice::bgv::{Pow2, RnsRing, SlotRing as _};
use sotto_lattice::noise::{failure_log2, log2_sum};
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::MatrixLiteral;
use sotto_silent::limits::{field, in_range};
use sotto_silent::lwe::dense::HINTLESS;
use sotto_silent::matrix_shape::{MatrixShape, cheapest, cuts, price};
use sotto_silent::message::{Field, Format};

/// Maximum bytes of a record: the diagonals of as many rows are 56 GB.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Maximum number of records. The noise bound alone would end a little above.
pub const MAX_RECORDS: u64 = 1 << 20;

/// Seed of all public polynomials and matrices: BLAKE3 of [`PUBLIC_SENTENCE`]. No server can choose
/// it.
pub const PUBLIC_SEED: PublicSeed = PublicSeed([
    0xe9, 0x8f, 0x6d, 0x4d, 0x9e, 0x89, 0x1c, 0xaa, //
    0x88, 0xc3, 0xd6, 0xb9, 0x2f, 0xfc, 0x56, 0xe4, //
    0x34, 0x37, 0xb0, 0xb4, 0xe9, 0xfa, 0xaf, 0x4f, //
    0x02, 0x1f, 0xf0, 0x6f, 0x0c, 0x81, 0xd0, 0x9a, //
]);

/// The sentence whose digest is [`PUBLIC_SEED`].
pub const PUBLIC_SENTENCE: &str = "sotto hintless/1: the public matrix and masks are the same for everyone";

/// Operations for a word of a query: n words of A are made for each; measured.
const WORD_OPS: u64 = 1_000_000;

/// Operations for encrypting s with its keys, and for reading a block, measured.
const SECRET_OPS: u64 = 500_000_000;
const BLOCK_OPS: u64 = 30_000_000;

/// Operations for a rotation after the passes, measured.
const ROTATION_OPS: u64 = 25_000_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the LWE set: that of [`HINTLESS`].
    pub set: String,
    /// Bytes in a record: rows of the matrix, `l`.
    pub record_bytes: u64,
    /// Number of records: columns of the matrix, `m`.
    pub records: u64,
    /// Rows of the hint in a block, R: a power of two.
    pub block_rows: u64,
    /// Seed of the public matrix and masks: [`PUBLIC_SEED`].
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// Blocks of a record's rows.
    pub fn blocks(&self) -> u64 {
        self.record_bytes.div_ceil(self.block_rows)
    }

    /// Bytes of the matrix in an image: rows padded to 64, columns to 4.
    pub fn matrix_bytes(&self) -> u64 {
        self.record_bytes.next_multiple_of(64) * self.records.next_multiple_of(4)
    }

    /// Bytes of the precomputed data beside the matrix.
    pub fn linpir_bytes(&self) -> u64 {
        linpir::image_bytes(self.blocks(), self.block_rows)
    }

    /// Operations for an answer in each ring.
    pub fn ring_ops(&self) -> [u64; RINGS] {
        let bytes = linpir::ring_bytes(self.blocks(), self.block_rows);
        bytes.map(|bytes| bytes * work::READ_BYTE + self.block_rows / 2 * ROTATION_OPS)
    }

    /// Bytes of the image.
    pub fn image_bytes(&self) -> u64 {
        self.matrix_bytes() + self.linpir_bytes()
    }

    /// The layout of the matrix.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.record_bytes as usize, self.records as usize)
    }

    /// Rows of the matrix, and of a block.
    pub fn rows(&self) -> [usize; 2] {
        [self.record_bytes as usize, self.block_rows as usize]
    }
}

impl MatrixLiteral for ParamsLiteral {
    fn select(shape: &TableShape) -> Result<Self> {
        let too_large =
            "it needs more than 2^20 records of at most 2^20 bytes, or their noise leaves no margin";
        cheapest(shape, too_large, || {
            let cuts = cuts(shape, *BLOCK_ROWS.start(), MAX_RECORD_BYTES);
            let cuts = cuts.filter(|cut| cut.records <= MAX_RECORDS);
            let blocks =
                || (0..).map(|i| BLOCK_ROWS.start() << i).take_while(|rows| BLOCK_ROWS.contains(rows));
            cuts.flat_map(move |cut| blocks().map(move |block_rows| (cut, block_rows))).filter_map(
                |(cut, block_rows)| {
                    let MatrixShape { record_bytes, records, .. } = cut;
                    let set = HINTLESS.name.into();
                    let literal = ParamsLiteral { set, record_bytes, records, block_rows, seed: PUBLIC_SEED };
                    let reliable = literal.failure_log2() <= cut.required_failure_log2(shape);
                    reliable.then(|| (price(shape, &cut, &literal.costs()), literal))
                },
            )
        })
    }

    fn check(&self) -> Result<Security> {
        if self.set != HINTLESS.name {
            return Err(field("set", format!("must be \"{}\"", HINTLESS.name)));
        }
        // A server that chose A could choose one with a trapdoor, so the seed is fixed for
        // everyone.
        if self.seed != PUBLIC_SEED {
            return Err(field("seed", format!("must be the scheme's public seed {PUBLIC_SEED}")));
        }
        in_range("record_bytes", self.record_bytes, MAX_RECORD_BYTES)?;
        in_range("records", self.records, MAX_RECORDS)?;
        if !BLOCK_ROWS.contains(&self.block_rows) || !self.block_rows.is_power_of_two() {
            return Err(field("block_rows", format!("must be a power of two in {BLOCK_ROWS:?}")));
        }
        let [words, secret] = [HINTLESS.security()?, linpir::security(rings()?)?];
        Ok(if words.bits < secret.bits { words } else { secret })
    }

    fn shape(&self) -> [u64; 2] {
        [self.records, self.record_bytes]
    }

    /// A word for each record, and its secret under encryption.
    fn query(&self) -> Format {
        linpir::and_secret(Format::of(Field::words(self.records, u32::BITS)))
    }

    /// A word for each byte, and the ciphertexts of all blocks.
    fn answer(&self) -> Format {
        let words = Format::of(Field::words(self.record_bytes, u32::BITS));
        (0..RINGS).fold(words, |format, ring| linpir::and_products(format, ring, self.blocks()))
    }

    fn failure_log2(&self) -> f64 {
        let ParamsLiteral { record_bytes, records, block_rows, .. } = *self;
        rings().map_or(0.0, |rings| {
            let words = HINTLESS.failure_log2(record_bytes, records, 32);
            log2_sum(words, products_failure_log2(rings, record_bytes, block_rows)).min(0.0)
        })
    }

    /// The passes read their tables once, and each rotation takes transforms.
    fn work(&self) -> Costs {
        Costs {
            server_ops: self.matrix_bytes() * work::READ_BYTE + self.ring_ops().iter().sum::<u64>(),
            client_ops: self.records * WORD_OPS + SECRET_OPS + self.blocks() * BLOCK_OPS,
            resident_bytes: self.image_bytes(),
            ..Costs::default()
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let (deviation, margin) = HINTLESS.deviation_and_margin(self.records, 32);
        let products = |rings: &_| products_failure_log2(rings, self.record_bytes, self.block_rows);
        let products = rings().map_or(0.0, |rings| products(rings.as_slice()));
        vec![
            ("l", self.record_bytes.to_string()),
            ("m", self.records.to_string()),
            ("n", HINTLESS.n.to_string()),
            ("N", N.to_string()),
            ("plain primes", format!("{PLAIN:?}")),
            ("rows in a block", self.block_rows.to_string()),
            ("blocks", self.blocks().to_string()),
            ("bytes of LinPIR", self.linpir_bytes().to_string()),
            ("noise sigma", format!("{deviation:.0} of a margin of {margin:.0}")),
            ("H s is read wrong", format!("with at most 2^{products:.0}")),
        ]
    }
}

/// log2 of the probability that a norm exceeds its bound, for each polynomial.
const SLACK_LOG2: f64 = -80.0;

/// The variance of a sum over diagonals whose coefficients have mean square `square`, by a model of
/// averages or of bounds.
pub fn sum_noise(model: &Noise, ring: &RnsRing<Pow2>, diagonals: u64, square: f64) -> f64 {
    let (count, switch) = (diagonals as f64, model.key_switch(ring.top()));
    let each = model.fresh() + 0.25 + (count - 1.0) / 2.0 * switch;
    count * N as f64 * square * each
}

/// Bounds on the variance of an answer's ciphertext in a ring, and the model behind them.
pub fn answer_noise(ring: &RnsRing<Pow2>, diagonals: u64) -> (Noise, f64) {
    let model = Noise::bound(ring, SIGMA, SLACK_LOG2);
    let half = ring.ring().plain() as f64 / 2.0;
    let variance = model.lowered(sum_noise(&model, ring, diagonals, half * half), ring.top());
    (model, variance)
}

/// Bound on log2 of the probability that any of `rows` numbers of `H s` is read wrong.
pub fn products_failure_log2(rings: &[RnsRing<Pow2>], rows: u64, block_rows: u64) -> f64 {
    let half = (PLAIN[0] * PLAIN[1]) as f64 / 2.0;
    let blocks = (rows.div_ceil(block_rows) as f64).log2();
    // Digits of all switches, diagonals, and the secret have norms.
    let norms = SLACK_LOG2 + ((4 * block_rows) as f64).log2() + blocks;
    let decrypted = rings.iter().filter_map(|ring| {
        let (model, variance) = answer_noise(ring, block_rows / 2);
        Some(log2_sum(model.failure_log2(variance, 0.0, ring.level(1)?) + blocks, norms))
    });
    decrypted.fold(failure_log2(half, HINTLESS.product_proxy(), rows as f64), log2_sum).min(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hintless;
    use sotto_core::Goal;
    use sotto_silent::MatrixScheme;
    use sotto_testkit::served::selects;

    #[test]
    fn the_seed_is_the_digest_of_a_sentence() {
        assert_eq!(PUBLIC_SEED.0, *blake3::hash(PUBLIC_SENTENCE.as_bytes()).as_bytes());
    }

    #[test]
    fn what_is_selected_passes_the_check() {
        selects::<MatrixScheme<Hintless>>(1 << 30, 1 << 22);
    }

    #[test]
    fn the_papers_tables() {
        // 2^20 x 256 B, 2^30 x 1 B, 2^18 x 32 KiB; the paper's bytes up and down, in thousands.
        for (rows, row_bytes, paper) in
            [(1 << 20, 256, 388 + 1540), (1 << 30, 1, 453 + 3080), (1 << 18, 1 << 15, 1502 + 3080)]
        {
            for goal in [Goal::ServerTime, Goal::TotalBytes] {
                let shape = TableShape { goal, ..TableShape::new(rows, row_bytes, 1) };
                let literal = ParamsLiteral::select(&shape).unwrap();
                assert!(literal.query_bytes() + literal.answer_bytes() <= paper * 1000, "{literal:?}");
            }
        }
    }

    #[test]
    fn bounds_by_hand() {
        let rings = rings().unwrap().as_slice();
        // The range: 2^31 sqrt(1408 2/3) = 2^35.94, against 2^40.38.
        let range = 16.0 - (2f64.powf(40.377 - 35.937)).powi(2) / 2.0 * std::f64::consts::LOG2_E;
        let whole = products_failure_log2(rings, 1 << 15, 1024);
        assert!(whole > range && whole < -55.0, "{whole} {range}");
        for ring in rings {
            let (_, variance) = answer_noise(ring, 512);
            let deviation = variance.sqrt();
            let q = ring.log2_q(ring.level(1).unwrap());
            println!("2^{:.1} of 2^{:.1}", deviation.log2(), q - 1.0 - (ring.ring().plain() as f64).log2());
            assert!(deviation.log2() < q - 5.0 - (ring.ring().plain() as f64).log2());
        }
    }

    #[test]
    fn more_of_anything_fails_no_less() {
        let at = |record_bytes, records, block_rows| {
            let set = HINTLESS.name.into();
            ParamsLiteral { set, record_bytes, records, block_rows, seed: PUBLIC_SEED }.failure_log2()
        };
        assert!(at(64, 10, 64) <= at(65, 10, 64) && at(64, 10, 64) <= at(64, 11, 64));
        assert!(at(2048, 10, 64) <= at(2048, 10, 2048));
        assert!(at(1 << 20, 1 << 20, 2048) <= -40.0);
    }
}
