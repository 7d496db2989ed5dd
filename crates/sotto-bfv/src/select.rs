//! Selection of parameters for a table: every set with every number of rows is tried, and the
//! cheapest reliable one wins.

use crate::candidates::CandidateTable;
use crate::cost;
use crate::family::{Family, Method, ParamsSet, lay_out};
use crate::layout::{MAX_WORDS, PlaintextForm};
use crate::literal::{Literal, NO_TABLES_MASK};
use crate::noise::Noise;
use crate::rings::{self, Ring, RingSet};
use sotto_core::work::SENT_BYTE_NANOSECONDS;
use sotto_core::{Goal, ParamsError, Result, TableShape};
use sotto_lattice::bgv::AnswerBits;
use sotto_lattice::noise::max_writes;

/// Bits of an answer's body above those of a number that are tried.
const BODY_BITS: std::ops::RangeInclusive<u8> = 1..=3;

/// Largest number of bits of an answer's mask.
const MASK_BITS: u8 = 34;

/// Bits of failure probability kept in reserve for what the bound averages over.
const RESERVE: f64 = 1.0;

/// Selects the cheapest literal for a table: of the named set, or of the sets that are tried.
///
/// # Errors
/// [`ParamsError::NoFit`] if no set can hold the table, or none is reliable.
pub(crate) fn select<F: Family>(shape: &TableShape) -> Result<Literal> {
    let is_tried = |set: &&ParamsSet| shape.set.as_ref().map_or(set.tried, |name| set.name == name);
    let mut best: Option<(f64, Literal)> = None;
    for set in F::sets().iter().filter(is_tried) {
        for (price, literal) in candidates::<F>(set, shape)? {
            if best.as_ref().is_none_or(|(lowest, _)| price < *lowest) {
                best = Some((price, literal));
            }
        }
    }
    let why = "it is empty, its image exceeds 2^46 bytes, a query does not select its rows or buckets, \
               or a lookup fails too often";
    let no_fit = || ParamsError::NoFit { rows: shape.rows, row_bytes: shape.row_bytes, why: why.into() };
    let (_, literal) = best.ok_or_else(no_fit)?;
    written::<F>(literal, shape.required_failure_log2())
}

/// Number of splits of a record that are tried. Each doubles the rows, and halves the columns.
const SPLITS: u32 = 14;

/// The literals of a set with all the numbers that its method tries, each with its price.
fn candidates<F: Family>(set: &ParamsSet, shape: &TableShape) -> Result<Vec<(f64, Literal)>, ParamsError> {
    let ring = rings::find(set.ring)?;
    let Some(draft) = draft::<F::Method>(ring, shape) else { return Ok(Vec::new()) };
    let splits = if F::Method::FORM == PlaintextForm::Slots { SPLITS } else { 1 };
    let drafts =
        (0..splits).map(|doubled| Literal { split: 1 << doubled, ..draft.clone() }).flat_map(|draft| {
            let table = CandidateTable::of(F::Method::FORM, ring, &draft);
            let numbers = table.map_or_else(Vec::new, |table| F::Method::candidates(&table));
            numbers.into_iter().filter_map(move |numbers| numbers.of(&draft))
        });
    let priced = drafts.filter_map(|draft| {
        let (_, layout) = lay_out::<F>(&draft).ok()?;
        let method = F::Method::new(&layout, ring).ok()?;
        let bytes = cost::image_bytes(&layout);
        let noise = method.noise(ring.ring()?, &layout, 0.0);
        let answer_bits =
            answer_bits(&noise, ring, shape.required_failure_log2()).filter(|_| bytes <= cost::MAX_BYTES)?;
        let nanoseconds = cost::nanoseconds(&method, &layout, ring);
        let answer = method.answers(&layout) * cost::answer_bytes(ring, answer_bits);
        let sizes = [cost::query_bytes(ring, layout.queries), answer, cost::keys_bytes(ring, method.keys())];
        Some((price(shape, nanoseconds, sizes), Literal { answer_bits, ..draft }))
    });
    Ok(priced.collect())
}

/// The literal before the candidate numbers are set; `None` for a table that is empty or too large.
fn draft<M: Method>(ring: &RingSet, shape: &TableShape) -> Option<Literal> {
    let buckets = shape.buckets.max(1);
    if shape.rows == 0 || shape.row_bytes == 0 {
        return None;
    }
    let bits = u64::from(ring.bits);
    let words = shape.row_bytes.checked_mul(8)?.div_ceil(bits);
    // Whole plaintexts hold as many rows as fit.
    let words =
        if M::FORM == PlaintextForm::Whole { words.next_multiple_of(ring.degree as u64) } else { words };
    let rows_per_record = (words * bits / 8 / shape.row_bytes).max(1);
    let records = (shape.rows / buckets).div_ceil(rows_per_record).checked_mul(buckets)?;
    Some(Literal {
        ring: ring.name.into(),
        records,
        buckets: u32::try_from(buckets).ok()?,
        record_words: u32::try_from(words).ok().filter(|words| *words <= MAX_WORDS)?,
        split: 1,
        rows: 1,
        merged: 1,
        primes: 1,
        queries: 1,
        stride: 1,
        answer_bits: [0; 2],
        written: 0,
        mask: NO_TABLES_MASK,
    })
}

/// The smallest widths of an answer that are reliable.
fn answer_bits(noise: &Noise, ring: &RingSet, required: f64) -> Option<[u8; 2]> {
    let transforms: &Ring = ring.ring()?;
    let step = (64 - (ring.plain - 1).leading_zeros()) as u8;
    let reliable = |body: u8, mask: u8| {
        let bits = AnswerBits::new(transforms, body.into(), mask.into());
        bits.is_some_and(|bits| noise.failure_log2(transforms, bits) <= required - RESERVE)
    };
    BODY_BITS
        .map(|more| step + more)
        .filter_map(|body| (body..=MASK_BITS).find(|mask| reliable(body, *mask)).map(|mask| [body, mask]))
        .min_by_key(|[body, mask]| body + mask)
}

/// Sets the number of rows that may be written in place to the largest that the noise allows:
/// nothing else is enlarged for them.
fn written<F: Family>(literal: Literal, required: f64) -> Result<Literal> {
    let (ring, layout) = lay_out::<F>(&literal)?;
    let method = F::Method::new(&layout, ring)?;
    let [body, mask] = literal.answer_bits.map(u32::from);
    let transforms = ring.ring().map(|ring| (ring, AnswerBits::new(ring, body, mask)));
    let reliable = |written: u64| {
        let Some((ring, Some(bits))) = transforms else { return false };
        method.noise(ring, &layout, written as f64).failure_log2(ring, bits) <= required - RESERVE
    };
    let written = max_writes(layout.rows as u64, reliable);
    Ok(Literal { written: u32::try_from(written).unwrap_or(u32::MAX), ..literal })
}

/// The value that a goal minimizes. Small terms of the other goals break ties.
fn price(shape: &TableShape, nanoseconds: f64, [query, answer, keys]: [usize; 3]) -> f64 {
    let (query, answer) = (query as f64, answer as f64);
    let keys = keys as f64 / shape.lookups_per_client.max(1) as f64;
    match shape.goal {
        Goal::ServerTime => nanoseconds + SENT_BYTE_NANOSECONDS as f64 * (query + answer + keys),
        Goal::QueryBytes => query + (answer + keys) * 1e-3 + nanoseconds * 1e-6,
        Goal::TotalBytes => query + answer + keys * 1e-3 + nanoseconds * 1e-6,
        Goal::Rate => {
            let sent = (answer + keys * 1e-3) * 1e3 / shape.row_bytes as f64;
            sent + (query * SENT_BYTE_NANOSECONDS as f64 + nanoseconds) * 1e-9
        }
    }
}
