//! Choosing parameters for a table: every reliable period, tree and number of primes, and the
//! cheapest of them.

use crate::cost;
use crate::folding_tree::{FoldingTree, Side};
use crate::literal::{MAX_BYTES, MAX_LAYERS, MAX_LEVELS, NO_TABLES_MASK, ParamsLiteral, RowFormat};
use crate::noise::Noise;
use crate::rings::{self, MAX_PRIMES, Pruning, RingSet, SETS, Set, on_ring};
use sotto_core::{Goal, ParamsError, Result, TableShape};
use sotto_lattice::bgv::AnswerBits;
use sotto_lattice::bgv::rotation_grid::Rotations;
use sotto_lattice::noise::max_writes;

/// Numbers of leaves on a side that are tried. More would cost more products than they save
/// rotations.
const LEAVES: std::ops::RangeInclusive<u32> = 1..=4;

/// Numbers of bits of an answer's body above log2 t that are tried.
const BODY_BITS: std::ops::RangeInclusive<u8> = 1..=3;

/// Maximum bits of an answer's mask.
const MASK_BITS: u8 = 32;

/// Bits of failure probability in reserve, for quantities that the bound averages over.
const RESERVE: f64 = 1.0;

/// The cheapest literal for a table: of the named set, or of those whose trees are chosen by cost.
///
/// # Errors
/// [`ParamsError::NoFit`] if no ring can hold the table, or none is reliable.
pub(crate) fn select(shape: &TableShape) -> Result<ParamsLiteral> {
    let is_requested = |set: &&Set| match &shape.set {
        Some(name) => set.name == name,
        None => set.pruning == Pruning::ByCost && !set.guard && !set.streamed,
    };
    let mut search = Search { shape, best: None };
    if shape.rows > 0 && shape.row_bytes > 0 {
        for set in SETS.iter().filter(is_requested) {
            let ring = rings::find(set.ring)?;
            ring.periods.iter().for_each(|period| search.period(set, ring, *period));
        }
    }
    let why =
        "it is empty, its image is larger than 2^46 bytes, a row takes more than 4096 ciphertexts, or the \
               lookups of a request fail too often"
            .into();
    let no_fit = ParamsError::NoFit { rows: shape.rows, row_bytes: shape.row_bytes, why };
    let (_, literal) = search.best.ok_or(no_fit)?;
    written(literal, shape.required_failure_log2())
}

/// The literal with as many rewritable rows as the noise margin allows; no other number grows for
/// them.
fn written(literal: ParamsLiteral, required: f64) -> Result<ParamsLiteral> {
    let (ring, tree) = (rings::ring(&literal.ring, literal.primes)?, literal.tree()?);
    let with =
        |written: u64| ParamsLiteral { written: written.try_into().unwrap_or(u32::MAX), ..literal.clone() };
    let [body, mask] = literal.answer_bits.map(u32::from);
    let bits = on_ring!(&*ring, rns => AnswerBits::new(rns, body, mask));
    let reliable = |written| {
        let literal = with(written);
        let failure = |bits| Noise::of(&literal, &ring, &tree).failure_log2(&literal, &ring, bits);
        bits.is_some_and(|bits| failure(bits) <= required - RESERVE)
    };
    let rows = literal.layout(rings::find(&literal.ring)?).rows(literal.records);
    Ok(with(max_writes(rows, reliable)))
}

/// The state of the search.
struct Search<'a> {
    shape: &'a TableShape,
    /// The cheapest literal so far, with its price.
    best: Option<(f64, ParamsLiteral)>,
}

impl Search<'_> {
    /// Tries every tree of a set at one period.
    fn period(&mut self, set: &Set, ring: &RingSet, period: u32) {
        let shape = self.shape;
        let slots = u64::from(ring.cycle / period * ring.cycles);
        // As many layers as a row needs: the whole row comes with one query.
        let layers = shape.row_bytes.saturating_mul(8).div_ceil(slots * u64::from(ring.slot_bits)).max(1);
        if layers > u64::from(MAX_LAYERS) {
            return;
        }
        let draft = ParamsLiteral {
            ring: ring.name.into(),
            primes: 1,
            scan_primes: 1,
            levels: 1,
            left: vec![1],
            right: vec![1],
            period,
            layers: layers as u32,
            records: 1,
            answer_bits: [0; 2],
            stride: 1,
            form: RowFormat::Values,
            written: 0,
            mask: NO_TABLES_MASK,
        };
        let layout = draft.layout(ring);
        // Two layers' slots can hold a whole byte more than a row needs, never one less.
        let rows_per_record = layout.record_bytes() as u64 / shape.row_bytes;
        if rows_per_record == 0 {
            return;
        }
        let records = shape.rows.div_ceil(rows_per_record);
        let rows = layout.rows(records);
        let trees = match set.pruning {
            Pruning::ByCost => trees(rows, period),
            _ => set.tree(rows, ring.cycle).into_iter().collect(),
        };
        let enough = trees.into_iter().filter(|tree| tree.rows() >= rows);
        for tree in enough.filter_map(|tree| set.within(tree, period)) {
            let [left, right] = [Side::Left, Side::Right].map(|side| tree.leaves(side).to_vec());
            let draft = ParamsLiteral { left, right, records, ..draft.clone() };
            self.primes(set, ring, &draft, &tree);
        }
    }

    /// Tries every number of primes, and all levels at which products drop them, for one tree.
    fn primes(&mut self, set: &Set, ring: &RingSet, draft: &ParamsLiteral, tree: &FoldingTree) {
        // Where few leaves are multiplied, dropping a prime at each level is as good as any choice.
        let levels = if set.pruning == Pruning::ByCost { 1 } else { MAX_LEVELS };
        for primes in 1..=MAX_PRIMES {
            let strides = strides(&ParamsLiteral { primes, ..draft.clone() }, ring, tree);
            let levels = (1..=primes).flat_map(|scan| (1..=levels).map(move |each| (scan, each)));
            for ((scan_primes, levels), stride) in
                levels.flat_map(|levels| strides.iter().map(move |stride| (levels, *stride)))
            {
                let draft = ParamsLiteral { primes, scan_primes, levels, stride, ..draft.clone() };
                let form = form(&draft, set, ring, tree, self.shape.goal);
                let draft = ParamsLiteral { form, ..draft };
                if cost::image_bytes(&draft, ring, tree) > MAX_BYTES {
                    continue;
                }
                // No answer has fewer bits than this, and computing noise takes longer than
                // computing a price.
                let least = ParamsLiteral { answer_bits: [1; 2], ..draft.clone() };
                let dearer = |best: &(f64, ParamsLiteral)| price(&least, ring, tree, self.shape) >= best.0;
                if self.best.as_ref().is_some_and(dearer) {
                    continue;
                }
                let required = self.shape.required_failure_log2();
                let Some(answer_bits) = answer_bits(&draft, ring, tree, required) else { continue };
                let literal = ParamsLiteral { answer_bits, ..draft };
                let price = price(&literal, ring, tree, self.shape);
                if self.best.as_ref().is_none_or(|(least, _)| price < *least) {
                    self.best = Some((price, literal));
                }
            }
        }
    }
}

/// Maximum bytes of a client's keys with a second one of rotation.
const MAX_KEYS: usize = 1_000_000;

/// Strides that are tried: the one that reaches the last rotation soonest, and none.
fn strides(draft: &ParamsLiteral, ring: &RingSet, tree: &FoldingTree) -> Vec<u32> {
    let best = Rotations::best_stride(tree.folded());
    let small = |stride: u32| {
        let keys = cost::keys_bytes(&ParamsLiteral { stride, ..draft.clone() }, ring);
        (2..tree.folded()).contains(&(stride as usize)) && keys <= MAX_KEYS
    };
    Some(best).filter(|stride| small(*stride)).into_iter().chain([1]).collect()
}

/// Maximum bytes of values where server time is the goal: they fit into a machine of 32 GB besides
/// everything else.
const MAX_VALUES: u64 = 16 << 30;

/// Maximum bytes of values for other goals, which need no machine with much memory.
const MAX_VALUES_OF_OTHERS: u64 = 1 << 30;

/// The form of rows in the image: values, unless the set says otherwise or they are too large for
/// the goal.
fn form(draft: &ParamsLiteral, set: &Set, ring: &RingSet, tree: &FoldingTree, goal: Goal) -> RowFormat {
    let most = if goal == Goal::ServerTime { MAX_VALUES } else { MAX_VALUES_OF_OTHERS };
    let many =
        cost::image_bytes(&ParamsLiteral { form: RowFormat::Values, ..draft.clone() }, ring, tree) > most;
    if set.streamed || many { RowFormat::Coefficients } else { RowFormat::Values }
}

/// Trees for `rows` rows: lengths of v from a few to many, each side divided into a few nearly
/// equal leaves.
fn trees(rows: u64, period: u32) -> Vec<FoldingTree> {
    let mut out: Vec<[Vec<u32>; 2]> = Vec::new();
    let root = (rows as f64).sqrt();
    for step in -8..=8 {
        let columns = (root * f64::from(step).mul_add(0.5, 0.0).exp2()).ceil().clamp(1.0, rows as f64) as u64;
        for right in LEAVES.filter_map(|count| cut(columns, count, period)) {
            let length: u64 = right.iter().map(|length| u64::from(*length)).product();
            let rest = rows.div_ceil(length);
            out.extend(LEAVES.filter_map(|count| cut(rest, count, period)).map(|left| [left, right.clone()]));
        }
    }
    out.sort();
    out.dedup();
    out.iter().filter_map(|[left, right]| FoldingTree::new(left, right)).collect()
}

/// Nearly equal lengths whose product is at least `length`, none longer than a period; fewer
/// lengths where some would be 1.
fn cut(length: u64, count: u32, period: u32) -> Option<Vec<u32>> {
    let mut rest = length;
    let mut out = Vec::new();
    for left in (1..=count).rev() {
        // The least integer whose power suffices, which floating point may miss by one.
        let mut each = (rest as f64).powf(1.0 / f64::from(left)).floor().max(1.0) as u64;
        while each.checked_pow(left).is_some_and(|power| power < rest) {
            each += 1;
        }
        out.push(u32::try_from(each).ok().filter(|each| *each <= period)?);
        rest = rest.div_ceil(each);
    }
    (count == 1 || !out.contains(&1)).then_some(out)
}

/// The fewest bits of an answer that are reliable.
fn answer_bits(draft: &ParamsLiteral, ring: &RingSet, tree: &FoldingTree, required: f64) -> Option<[u8; 2]> {
    let transforms = rings::ring(ring.name, draft.primes).ok()?;
    let noise = Noise::of(draft, &transforms, tree);
    let t = (64 - (ring.plain - 1).leading_zeros()) as u8;
    let reliable = |body: u8, mask: u8| {
        let bits = on_ring!(&*transforms, rns => AnswerBits::new(rns, body.into(), mask.into()));
        let failure = bits.map_or(0.0, |bits| noise.failure_log2(draft, &transforms, bits));
        failure <= required - RESERVE
    };
    BODY_BITS
        .map(|more| t + more)
        .filter_map(|body| {
            // With each bit more of the mask the answer is more reliable.
            let masks: Vec<u8> = (body..=MASK_BITS).collect();
            let first = masks.partition_point(|mask| !reliable(body, *mask));
            masks.get(first).map(|mask| [body, *mask])
        })
        .min_by_key(|[body, mask]| body + mask)
}

/// Nanoseconds that a byte on the wire is worth when server time is what matters: a link of 100 Mbit/s.
const BYTE_NANOSECONDS: f64 = 80.0;

/// The price that a goal minimizes. Small terms of the other goals break ties.
fn price(literal: &ParamsLiteral, ring: &RingSet, tree: &FoldingTree, shape: &TableShape) -> f64 {
    let lookups = shape.lookups_per_client.max(1) as f64;
    let (query, answer) = (cost::query_bytes(literal, ring) as f64, cost::answer_bytes(literal, ring) as f64);
    let keys = cost::keys_bytes(literal, ring) as f64 / lookups;
    let time = cost::nanoseconds(literal, ring, tree);
    // The table's memory at the server has a price too: as much as reading it once more.
    let memory = cost::image_bytes(literal, ring, tree) as f64 / 20.0;
    match shape.goal {
        Goal::ServerTime => time + memory + BYTE_NANOSECONDS * (query + answer + keys),
        Goal::QueryBytes => query + (answer + keys) * 1e-3 + time * 1e-6,
        Goal::TotalBytes => query + answer + keys * 1e-3 + time * 1e-6,
        Goal::Rate => {
            (answer + keys * 1e-3) * 1e3 / shape.row_bytes as f64 + (query * BYTE_NANOSECONDS + time) * 1e-9
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_enough_and_not_much_more() {
        for length in [1, 2, 3, 5, 64, 65, 100, 4096, 131_105] {
            for count in LEAVES {
                let Some(leaves) = cut(length, count, 4096) else { continue };
                let product: u64 = leaves.iter().map(|length| u64::from(*length)).product();
                assert_eq!(leaves.len(), count as usize);
                assert!(
                    product >= length && product as f64 <= length as f64 * 2.0 + 4.0,
                    "{length} by {count}: {leaves:?}"
                );
            }
        }
        assert_eq!(cut(4096, 1, 630), None);
        assert_eq!(cut(64, 2, 4096), Some(vec![8, 8]));
        assert_eq!(cut(65, 2, 4096), Some(vec![9, 8]));
    }
}
