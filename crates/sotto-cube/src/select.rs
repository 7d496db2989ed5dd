//! Selection of parameters for a table: every set with every number of dimensions is tried, and the
//! cheapest reliable one wins.

use crate::cost;
use crate::literal::{Literal, MAX_MASK_BITS, MAX_ROWS, Template, WhenTried};
use crate::noise::{Noise, units};
use crate::rings::{self, RingSet};
use sotto_core::work::SENT_BYTE_NANOSECONDS;
use sotto_core::{Goal, ParamsError, Result, TableShape};
use sotto_lattice::noise::max_writes;

/// Bits of an answer's body above log2 p that are tried. One more bit halves the rounding error,
/// and three are plenty.
const BODY_BITS: std::ops::RangeInclusive<u8> = 1..=3;

/// Bits of an answer's mask above log2 p that are tried.
const MASK_BITS: std::ops::RangeInclusive<u8> = 3..=20;

/// Selects the cheapest literal for a table.
///
/// # Errors
/// [`ParamsError::NoFit`] if no set can hold the table, or none of those that can is reliable.
pub fn select(templates: &[Template], shape: &TableShape) -> Result<Literal> {
    let tried = |set: &&Template| match &shape.set {
        Some(name) => set.name == name,
        None => {
            set.tried == WhenTried::Always
                || (set.tried == WhenTried::ForRateGoal && shape.goal == Goal::Rate)
        }
    };
    let mut best: Option<(f64, Literal)> = None;
    for set in templates.iter().filter(tried) {
        for candidate in candidates(set, shape)? {
            let ring = rings::find(&candidate.ring)?;
            let price = price(&candidate, ring, shape);
            if best.as_ref().is_none_or(|(lowest, _)| price < *lowest) {
                best = Some((price, candidate));
            }
        }
    }
    if let Some((_, literal)) = best {
        return written(literal, shape.required_failure_log2());
    }
    let why = match shape.set {
        Some(_) => "the named set has too few dimensions or too much noise for it",
        None => "it is empty, its image exceeds 2^46 bytes, or every set has too much noise",
    };
    Err(ParamsError::NoFit { rows: shape.rows, row_bytes: shape.row_bytes, why: why.into() }.into())
}

/// Sets the number of rows of a column that may be written in place to the largest that the noise
/// allows: nothing else is enlarged for them.
fn written(literal: Literal, required: f64) -> Result<Literal> {
    let ring = rings::find(&literal.ring)?;
    let noise = Noise::of(&literal, ring);
    let with = |written: u64| Literal { written: written as u32, ..literal.clone() };
    let reliable = |written| noise.failure_log2(&with(written), ring) <= required - RESERVE;
    Ok(with(max_writes(literal.rows.into(), reliable)))
}

/// The literals of a set with every number of further dimensions that makes sense for the table.
fn candidates(set: &Template, shape: &TableShape) -> Result<Vec<Literal>, ParamsError> {
    let ring = rings::find(set.ring)?;
    let unit_bytes = set.unit_bytes()?;
    if shape.rows == 0 || shape.row_bytes == 0 {
        return Ok(Vec::new());
    }
    // As many whole rows in a record as fit one unit; a wider row takes several whole units.
    let rows_per_record = (unit_bytes / shape.row_bytes).clamp(1, shape.rows);
    let record_bytes = match shape.row_bytes.div_ceil(unit_bytes) {
        1 => rows_per_record.saturating_mul(shape.row_bytes),
        units => units.saturating_mul(unit_bytes),
    };
    let records = shape.rows.div_ceil(rows_per_record);
    // With fewer records than columns, some columns would be empty.
    let max = *set.nu2.end().min(&((64 - (records - 1).leading_zeros()) as u8));
    let min = *set.nu2.start().min(&max);
    let made = (min..=max).filter_map(|nu2| {
        let draft = set.literal(records, record_bytes, nu2, [0; 2])?;
        let leaves = 2 * draft.bit_rows().max(draft.rows as usize);
        let query_fits = set.upload == crate::literal::Upload::Direct || leaves <= ring.n;
        let polynomials = units(&draft, ring.n).saturating_mul(draft.unit_polynomials());
        let bytes =
            polynomials.saturating_mul(u64::from(draft.rows) << nu2).saturating_mul(ring.n as u64 * 8);
        (draft.rows <= MAX_ROWS && query_fits && bytes <= 1 << 46).then_some(())?;
        let answer_bits = answer_bits(&draft, ring, shape.required_failure_log2())?;
        Some(Literal { answer_bits, ..draft })
    });
    Ok(made.collect())
}

/// Bits of failure probability kept in reserve for what the bound averages over: with digits of few
/// bits, the noise of key switches differs between clients' keys.
const RESERVE: f64 = 1.0;

/// The smallest widths of an answer that are reliable.
fn answer_bits(draft: &Literal, ring: &RingSet, required: f64) -> Option<[u8; 2]> {
    let noise = Noise::of(draft, ring);
    let p = draft.p_log2;
    let reliable = |mask: u8, body: u8| {
        let literal = Literal { answer_bits: [mask, body], ..draft.clone() };
        noise.failure_log2(&literal, ring) <= required - RESERVE
    };
    let max = ring.main_bits().min(MAX_MASK_BITS) as u8;
    BODY_BITS
        .map(|more| p + more)
        .filter_map(|body| {
            let masks = MASK_BITS.map(|more| p + more).filter(|mask| (body..=max).contains(mask));
            masks.into_iter().find(|mask| reliable(*mask, body)).map(|mask| [mask, body])
        })
        .min_by_key(|[mask, body]| u32::from(*mask) + u32::from(*body) * u32::from(draft.n))
}

/// Nanoseconds that a byte on the wire is worth when the goal is server time.
const BYTE_NANOSECONDS: f64 = SENT_BYTE_NANOSECONDS as f64;

/// The value that a goal minimizes. Small terms of the other goals break ties.
fn price(literal: &Literal, ring: &RingSet, shape: &TableShape) -> f64 {
    let cost = cost::of_literal(literal, ring);
    let lookups = shape.lookups_per_client.max(1) as f64;
    let (query, answer) = (cost.query_bytes as f64, cost.answer_bytes as f64);
    let keys = cost.keys_bytes as f64 / lookups;
    let time = cost.nanoseconds;
    match shape.goal {
        Goal::ServerTime => time + BYTE_NANOSECONDS * (query + answer + keys),
        Goal::QueryBytes => query + (answer + keys) * 1e-3 + time * 1e-6,
        Goal::TotalBytes => query + answer + keys * 1e-3 + time * 1e-6,
        Goal::Rate => {
            (answer + keys * 1e-3) * 1e3 / shape.row_bytes as f64 + (query * BYTE_NANOSECONDS + time) * 1e-9
        }
    }
}
