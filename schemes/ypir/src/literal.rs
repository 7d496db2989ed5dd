//! Parameters as a catalog states them, the layout of the table in two matrices, and the bits of all
//! messages; and choosing them for a table: many blocks of rows make the second matrix and its query
//! large, few the first query.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, Result, Security, TableShape, work};
use sotto_prg::PublicSeed;
use sotto_silent::groups::{Groups, MaskLayout};
use sotto_silent::lattice::{self, N, P_LOG2, PACKED_OPS, Q_BITS};
use sotto_silent::limits::{KEY_BITS, MASK_BITS, QUERY_BITS, field, within};
use sotto_silent::lwe::{self, ring};
use sotto_silent::message::{Field, Format};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::two_pass::bound::{WordNoise, failure_log2, variances_and_margin};
use sotto_silent::two_pass::select::{LayoutCandidate, cheapest};
use sotto_silent::two_pass::{FRESH_BITS, HINT_BITS, TwoPassLayout};
use sotto_silent::unit_vector::{KEY_BODIES, KEYS_OPS, MessageBits, WORD_OPS};
use sotto_silent::{MatrixLiteral, bound};

/// The names of the sets of both passes.
pub const SETS: [&str; 2] = [ring::SET, lattice::SET];

/// The seeds of the public polynomials of both passes.
pub const PUBLIC_SEEDS: [PublicSeed; 2] = [ring::PUBLIC_SEED, lattice::PUBLIC_SEED];

/// Operations for one transform of fresh numbers.
const TRANSFORM_OPS: u64 = 3_000_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Names of the sets of both passes: [`SETS`].
    pub sets: [String; 2],
    /// Bytes in a record, `w`.
    pub record_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Blocks of rows, `B`: columns of the second matrix.
    pub blocks: u64,
    /// Bits of a word of the first query vector, and of the second.
    pub query_bits: [u8; 2],
    /// Bits of a key's coefficient that are sent.
    pub key_bits: u8,
    /// Bits of a coefficient of an answer: of masks, of bodies.
    pub answer_bits: [u8; 2],
    /// Seeds of the public polynomials of both passes: [`PUBLIC_SEEDS`].
    pub seeds: [PublicSeed; 2],
}

impl ParamsLiteral {
    /// The layout of the table in both matrices.
    pub fn cut(&self) -> TwoPassLayout {
        TwoPassLayout { record_bytes: self.record_bytes, records: self.records, blocks: self.blocks }
    }

    /// The bits of the second query, and of answers.
    pub fn bits(&self) -> MessageBits {
        let ([_, query], [mask, body]) = (self.query_bits, self.answer_bits.map(u32::from));
        MessageBits { query: query.into(), keys: self.key_bits.into(), mask, body }
    }

    /// Numbers of two bytes in a column of the second matrix.
    pub fn numbers(&self) -> u64 {
        self.cut().second_rows() / 2
    }

    /// Packed ciphertexts of these numbers.
    pub fn groups(&self) -> u64 {
        lattice::groups(self.cut().second_rows())
    }

    /// The packing groups of the second matrix's numbers.
    pub fn packing(&self) -> Groups {
        Groups::new(self.numbers() as usize, 1)
    }

    /// Bytes of weights in an image.
    pub fn weight_bytes(&self) -> u64 {
        self.packing().bytes(MaskLayout::ARTIFACT)
    }

    /// The sizes that determine the noise of the first pass.
    pub fn words(&self) -> WordNoise {
        let [query_bits, _] = self.query_bits;
        let (answer_bits, mask_bits) = (FRESH_BITS as u8, Some(HINT_BITS as u8));
        WordNoise { columns: self.cut().columns(), query_bits, answer_bits, mask_bits }
    }

    /// Bytes of the image: both matrices, and the weights.
    pub fn image_bytes(&self) -> u64 {
        self.cut().first_bytes() + self.cut().second_bytes() + self.weight_bytes()
    }

    /// The bodies of some groups' packed ciphertexts, without unused coefficients of the last.
    pub fn bodies(&self, groups: std::ops::Range<u64>) -> Format {
        let (last, body) = (self.groups() - 1, self.bits().body);
        let full = groups.end.min(last) - groups.start.min(last);
        let rest = groups.end > groups.start && groups.end > last;
        let full = Format::default().and(full, Field::words(N as u64, body));
        full.and(rest.into(), Field::words(self.numbers() - last * N as u64, body))
    }
}

impl MatrixLiteral for ParamsLiteral {
    fn select(shape: &TableShape) -> Result<Self> {
        cheapest(shape, |candidate| {
            let bits = [*lwe::bound::QUERY_BITS.end(), *QUERY_BITS.end()];
            let widest = literal(&candidate, bits, *KEY_BITS.end(), WIDEST);
            let chosen =
                if candidate.affords(widest.weight_bytes()) { word_sizes(shape, &candidate) } else { None };
            chosen.map(|literal| (literal.costs(), literal))
        })
    }

    fn check(&self) -> Result<Security> {
        if self.sets != SETS {
            return Err(field("sets", format!("must be {SETS:?}")));
        }
        // A server that chose the public polynomials could try until it found weak ones, so the
        // seeds are fixed for everyone.
        if self.seeds != PUBLIC_SEEDS {
            return Err(field("seeds", "must be the scheme's public seeds".into()));
        }
        if let Some((name, why)) = self.cut().refusal() {
            return Err(field(name, why));
        }
        let [first, second] = self.query_bits;
        within("query_bits", first, lwe::bound::QUERY_BITS)?;
        within("query_bits", second, QUERY_BITS)?;
        within("key_bits", self.key_bits, KEY_BITS)?;
        let [mask, body] = self.answer_bits;
        within("answer_bits", mask, MASK_BITS)?;
        within("answer_bits", body, *MASK_BITS.start()..=mask)?;
        let (first, second) = (ring::security()?, lattice::security()?);
        Ok(if first.bits <= second.bits { first } else { second })
    }

    fn shape(&self) -> [u64; 2] {
        [self.records, self.record_bytes]
    }

    /// Fields of a query: both vectors, and the keys of the second.
    fn query(&self) -> Format {
        let ([first, _], bits) = (self.query_bits, self.bits());
        Format::of(Field::words(self.cut().columns(), first.into()))
            .and(1, Field::residues(self.blocks, bits.query))
            .and(KEY_BODIES as u64, Field::residues(N as u64, bits.keys))
    }

    /// For each group of numbers of the second matrix the body of a packed ciphertext, without unused
    /// coefficients; for each of a record's bytes a sample of its fresh number.
    fn answer(&self) -> Format {
        self.bodies(0..self.groups()).and_packed(self.record_bytes, 1, self.bits())
    }

    fn masks(&self) -> Format {
        Format::default().and(self.groups(), Field::words(N as u64, self.bits().mask))
    }

    /// Failure probability over both passes.
    fn failure_log2(&self) -> f64 {
        let read = failure_log2(self.record_bytes, &self.words());
        let packed = bound::number_failure_log2(self.numbers(), self.blocks, PlainModulus::PAIR, self.bits());
        let fresh =
            bound::few_failure_log2(1, self.record_bytes, self.blocks, PlainModulus::PAIR, self.bits());
        sotto_silent::log2_sum([read, packed, fresh])
    }

    /// Work of an answer: both matrices and the weights are read once, coefficients are packed, and
    /// the fresh masks are made.
    fn work(&self) -> Costs {
        let transforms = self.record_bytes * (self.blocks.div_ceil(N as u64) + 1);
        let packed = self.groups() * N as u64 * PACKED_OPS;
        Costs {
            server_ops: self.image_bytes() * work::READ_BYTE + packed + transforms * TRANSFORM_OPS,
            client_ops: KEYS_OPS + self.cut().columns() * ring::SAMPLE_OPS + self.blocks * WORD_OPS,
            resident_bytes: self.image_bytes(),
            ..Costs::default()
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let cut = self.cut();
        let noise = |([errors, roundings], margin): ([f64; 2], f64)| {
            let [errors, roundings] = [errors, roundings].map(|variance| variance.log2() / 2.0);
            format!("errors 2^{errors:.1}, roundings 2^{roundings:.1}, of a margin of 2^{:.1}", margin.log2())
        };
        let packed = bound::variances_and_margin(self.blocks, PlainModulus::PAIR, 1, self.bits());
        vec![
            ("l", cut.rows().to_string()),
            ("m", cut.columns().to_string()),
            ("first pass", format!("n = {}, log2 Q = {:.3}, sigma {}", ring::N, ring::LOG2_Q, ring::SIGMA)),
            ("second pass", format!("d = {N}, log2 q = {Q_BITS}, p = 2^{P_LOG2}, sigma {}", lattice::SIGMA)),
            ("second matrix", format!("{} x {}", cut.second_rows(), cut.blocks)),
            ("packed ciphertexts", self.groups().to_string()),
            ("bytes of weights", self.weight_bytes().to_string()),
            ("noise of the first pass", noise(variances_and_margin(&self.words()))),
            ("noise of packed numbers", noise(packed)),
        ]
    }
}

/// The maximum bits of answers' words.
const WIDEST: [u8; 2] = [*MASK_BITS.end(); 2];

/// Number of widths of bodies and keys that are tried: above these, a wider one saves nothing
/// elsewhere.
const BODIES: usize = 4;
const KEYS: u8 = 43;

fn literal(
    candidate: &LayoutCandidate,
    query_bits: [u8; 2],
    key_bits: u8,
    answer_bits: [u8; 2],
) -> ParamsLiteral {
    let cut = candidate.cut;
    ParamsLiteral {
        sets: SETS.map(Into::into),
        record_bytes: cut.record_bytes,
        records: cut.records,
        blocks: cut.blocks,
        query_bits,
        key_bits,
        answer_bits,
        seeds: PUBLIC_SEEDS,
    }
}

/// The word sizes with the fewest bytes of query, answer and a share of the masks. The first pass may
/// use half of the required failure probability.
fn word_sizes(shape: &TableShape, candidate: &LayoutCandidate) -> Option<ParamsLiteral> {
    let lookups = shape.lookups_per_client.max(1).saturating_mul(candidate.lookups);
    let required = candidate.required;
    let first = lwe::bound::QUERY_BITS.into_iter().find(|first| {
        let words = literal(candidate, [*first, *QUERY_BITS.end()], *KEY_BITS.end(), WIDEST).words();
        failure_log2(candidate.cut.record_bytes, &words) <= required - 1.0
    })?;
    let reliable = |literal: &ParamsLiteral| literal.failure_log2() <= required;
    let keys = KEYS..=*KEY_BITS.end();
    let tried = keys.flat_map(|key| MASK_BITS.take(BODIES).map(move |body| (key, body)));
    let fitting = tried.flat_map(|(key, body)| {
        // The fewest bits of words that suffice with the widest masks, and two more; for each of
        // them the narrowest masks.
        let with = move |query, mask| literal(candidate, [first, query], key, [mask, body]);
        let widest = move |query: &u8| reliable(&with(*query, *MASK_BITS.end()));
        let least = QUERY_BITS.into_iter().find(widest);
        let queries = least.into_iter().flat_map(|least| least..=(least + 2).min(*QUERY_BITS.end()));
        queries
            .filter_map(move |query| (body..=*MASK_BITS.end()).map(|mask| with(query, mask)).find(reliable))
    });
    fitting.min_by_key(|literal| (literal.epoch_bytes(lookups), literal.query_bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ypir;
    use sotto_core::Goal;
    use sotto_silent::MatrixScheme;
    use sotto_testkit::served::selects;

    #[test]
    fn what_is_selected_passes_the_check() {
        selects::<MatrixScheme<Ypir>>(1 << 32, 300);
    }

    #[test]
    fn the_papers_tables_take_few_bytes() {
        // 2^31 and 2^33 rows of a bit.
        for (rows, up, down) in [(1u64 << 28, 230_000, 18_000), (1 << 30, 350_000, 18_000)] {
            let literal = ParamsLiteral::select(&TableShape::new(rows, 1, 1)).unwrap();
            let (query, answer) = (literal.query_bytes(), literal.answer_bytes());
            assert!(query < up && answer < down, "{query} {answer} {literal:?}");
        }
    }

    #[test]
    fn goals_are_worth_asking_for() {
        let shape = |goal| TableShape { goal, ..TableShape::new(1 << 28, 4, 1) };
        let costs = Goal::ALL.map(|goal| {
            let literal = ParamsLiteral::select(&shape(goal)).unwrap();
            let (costs, lookups) = (literal.costs(), 4 / literal.record_bytes);
            [costs.server_ops, costs.query_bytes, costs.answer_bytes].map(|cost| cost * lookups)
        });
        let [time, query, total, rate] = costs;
        assert!(time[0] <= total[0] && query[1] <= total[1] && rate[2] <= total[2]);
        assert!(total[1] + total[2] <= time[1] + time[2]);
    }
}
