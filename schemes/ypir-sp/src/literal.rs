//! Parameters as a catalog states them, `l` bytes in a record, `m` records, and the bits of all
//! messages; and choosing them for a table: tall records cost packing and answer bytes, many records
//! cost query bytes.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, Result, Security, TableShape, work};
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::groups::Groups;
use sotto_silent::lattice::{self, GROUP_BYTES, N, PACKED_OPS, PUBLIC_SEED, SET, SIGMA};
use sotto_silent::limits::{self, KEY_BITS, MASK_BITS, QUERY_BITS, in_range, within};
use sotto_silent::matrix_shape::{MatrixShape, cheapest, cuts, price};
use sotto_silent::message::{Field, Format};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{KEY_BODIES, KEYS_OPS, MessageBits, WORD_OPS};
use sotto_silent::{MatrixLiteral, bound};

/// Maximum bytes of a record: 256 packed ciphertexts.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Maximum number of records. Their noise alone ends a little above, depending on the bits of a
/// query's words.
pub const MAX_RECORDS: u64 = 1 << 20;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the ring: [`lattice::SET`].
    pub set: String,
    /// Bytes in a record: rows of the matrix, `l`.
    pub record_bytes: u64,
    /// Number of records: columns of the matrix, `m`.
    pub records: u64,
    /// Bits of a query's word that are sent.
    pub query_bits: u8,
    /// Bits of a key's coefficient that are sent.
    pub key_bits: u8,
    /// Bits of a coefficient of an answer: of masks, of bodies.
    pub answer_bits: [u8; 2],
    /// Seed of the public polynomials: [`lattice::PUBLIC_SEED`].
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// The bits of all messages.
    pub fn bits(&self) -> MessageBits {
        let [mask, body] = self.answer_bits.map(u32::from);
        MessageBits { query: self.query_bits.into(), keys: self.key_bits.into(), mask, body }
    }

    /// Packed ciphertexts of a record.
    pub fn groups(&self) -> u64 {
        lattice::groups(self.record_bytes)
    }

    /// The layout of the matrix.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.record_bytes as usize, self.records as usize)
    }

    /// The packing groups of a record's numbers.
    pub fn packing(&self) -> Groups {
        Groups::new(self.record_bytes.div_ceil(2) as usize, 1)
    }

    /// Bytes of the weights and masks after the matrix.
    pub fn weight_bytes(&self) -> u64 {
        self.packing().bytes(self.bits().mask)
    }

    /// Bytes of the image: the matrix, rows padded to 64 and columns to 4, and the weights.
    pub fn image_bytes(&self) -> u64 {
        self.record_bytes.next_multiple_of(64) * self.records.next_multiple_of(4) + self.weight_bytes()
    }
}

impl MatrixLiteral for ParamsLiteral {
    fn select(shape: &TableShape) -> Result<Self> {
        let too_large =
            "it needs more than 2^20 records of at most 2^20 bytes, or their noise leaves no margin";
        cheapest(shape, too_large, || {
            let cuts = cuts(shape, GROUP_BYTES as u64, MAX_RECORD_BYTES);
            cuts.filter(|cut| cut.records <= MAX_RECORDS).filter_map(|cut| {
                let literal = word_sizes(&cut, cut.required_failure_log2(shape))?;
                Some((price(shape, &cut, &literal.costs()), literal))
            })
        })
    }

    fn check(&self) -> Result<Security> {
        limits::public(&self.set, &self.seed)?;
        in_range("record_bytes", self.record_bytes, MAX_RECORD_BYTES)?;
        in_range("records", self.records, MAX_RECORDS)?;
        within("query_bits", self.query_bits, QUERY_BITS)?;
        within("key_bits", self.key_bits, KEY_BITS)?;
        let [mask, body] = self.answer_bits;
        within("answer_bits", mask, MASK_BITS)?;
        within("answer_bits", body, *MASK_BITS.start()..=mask)?;
        lattice::security()
    }

    fn shape(&self) -> [u64; 2] {
        [self.records, self.record_bytes]
    }

    /// The words of the vector, and the bodies of two keys.
    fn query(&self) -> Format {
        let bits = self.bits();
        Format::of(Field::residues(self.records, bits.query))
            .and(KEY_BODIES as u64, Field::residues(N as u64, bits.keys))
    }

    /// A packed ciphertext for each group.
    fn answer(&self) -> Format {
        Format::default().and_packed(self.groups(), N as u64, self.bits())
    }

    fn failure_log2(&self) -> f64 {
        let numbers = self.record_bytes.div_ceil(2);
        bound::number_failure_log2(numbers, self.records, PlainModulus::BYTES, self.bits())
    }

    /// Work of an answer: both passes read their tables once, and each coefficient is packed.
    fn work(&self) -> Costs {
        Costs {
            server_ops: self.image_bytes() * work::READ_BYTE + self.groups() * N as u64 * PACKED_OPS,
            client_ops: KEYS_OPS + self.records * WORD_OPS,
            resident_bytes: self.image_bytes(),
            ..Costs::default()
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let ([errors, roundings], margin) =
            bound::variances_and_margin(self.records, PlainModulus::BYTES, 1, self.bits());
        vec![
            ("l", self.record_bytes.to_string()),
            ("m", self.records.to_string()),
            ("d", N.to_string()),
            ("log2 q", format!("{:.3}", (lattice::Q as f64).log2())),
            ("sigma", SIGMA.to_string()),
            ("packed ciphertexts", self.groups().to_string()),
            ("byte planes", self.query_bits.div_ceil(8).to_string()),
            ("bytes of weights", self.weight_bytes().to_string()),
            ("errors", format!("2^{:.1} of a margin of 2^{:.1}", errors.log2() / 2.0, margin.log2())),
            ("roundings", format!("2^{:.1}", roundings.log2() / 2.0)),
        ]
    }
}

/// The word sizes with the fewest bytes in query and answer together, which trade noise against
/// each other.
fn word_sizes(cut: &MatrixShape, required: f64) -> Option<ParamsLiteral> {
    let MatrixShape { record_bytes, records, .. } = *cut;
    let literal = |query_bits, key_bits, answer_bits| ParamsLiteral {
        set: SET.into(),
        record_bytes,
        records,
        query_bits,
        key_bits,
        answer_bits,
        seed: PUBLIC_SEED,
    };
    let reliable = |literal: &ParamsLiteral| literal.failure_log2() <= required;
    let tried = QUERY_BITS.flat_map(|query| KEY_BITS.map(move |key| (query, key)));
    let fitting = tried.flat_map(|(query, key)| {
        // The narrowest mask for each body: a bit of either costs the same.
        let mask_for = move |body| {
            let mut masks = (body..=*MASK_BITS.end()).map(|mask| literal(query, key, [mask, body]));
            masks.find(reliable)
        };
        // Nothing more is tried if not even the widest suffices.
        let widest = literal(query, key, [*MASK_BITS.end(); 2]);
        MASK_BITS.take(8).filter(move |_| reliable(&widest)).filter_map(mask_for)
    });
    fitting.min_by_key(|literal| (literal.query_bytes() + literal.answer_bytes(), literal.query_bits))
}

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
