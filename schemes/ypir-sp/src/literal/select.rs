//! Choosing parameters for a table: tall records cost packing and answer bytes, many records cost query
//! bytes. Half as many numbers packed together save one of two keys in each query, and double the masks
//! that a client fetches once. Several records in a column save bytes of a query for nothing, and
//! numbers of four bits save more, for an image of twice the size.

use super::{
    MAX_ANSWER_BITS, MAX_ANSWERED_BYTES, MAX_BLOCKS, MAX_RECORD_BYTES, MAX_RECORDS, ParamsLiteral,
    QUERY_BITS, SAMPLES, byte, whole,
};
use sotto_core::{Result, TableShape};
use sotto_silent::MatrixLiteral as _;
use sotto_silent::lattice::{N, PUBLIC_SEED, SET};
use sotto_silent::limits::KEY_BITS;
use sotto_silent::matrix_shape::{MatrixShape, cheapest, cuts, of_small_image, price};
use sotto_silent::short_blocks::MAX_BLOCK;

/// The literal that costs least.
///
/// # Errors
/// [`sotto_core::ParamsError::NoFit`].
pub(super) fn select(shape: &TableShape) -> Result<ParamsLiteral> {
    let too_large = "it needs more than 2^20 records of at most 2^20 bytes, or records of more than 2^24 bytes of \
                         all buckets, or their noise leaves no margin";
    let whole = cheapest(shape, too_large, || priced(shape, N as u64, |cut| whole_blocks(shape, cut)))?;
    // Each bucket has weights of its own, and blocks that are not short.
    if shape.buckets > 1 {
        return Ok(whole);
    }
    // A small table, whose records may be shorter than a packed ciphertext.
    Ok(of_small_image(shape, whole, ParamsLiteral::image_bytes, |most| {
        let packings = move |cut: &MatrixShape| {
            // The fewest words, or the fewest digits: more blocks than four are never worth it.
            let most_block = cut.records.next_power_of_two().min(MAX_BLOCK).ilog2();
            let short =
                (most_block.saturating_sub(2)..=most_block).map(|log| (N as u64, 1 << log, (byte(), None)));
            let all = whole_blocks(shape, cut).into_iter().chain(short);
            let fits = |literal: ParamsLiteral| {
                let blocks = literal.short_blocks().map_or(1, |blocks| blocks.blocks() as u64);
                blocks <= MAX_BLOCKS && literal.image_bytes() <= most
            };
            all.filter(|packing| fits(sized(shape, cut, *packing))).collect()
        };
        priced(shape, MIN_SMALL_RECORD, packings)
    }))
}

/// Shortest records of a small table, beside its rows.
const MIN_SMALL_RECORD: u64 = 256;

/// Fewest records of a table at several scales: of fewer, words are few.
const MIN_SCALED: u64 = 1 << 10;

/// Bits of a number, and scales.
type Numbers = (u8, Option<[u8; 2]>);

/// The numbers and scales that are tried: of each row the first that leave a margin. Two bits more than
/// a number has leave three quarters of it.
const TRIED_NUMBERS: [&[Numbers]; 3] =
    [&[(8, None)], &[(8, Some([3, 10])), (8, Some([2, 10]))], &[(4, Some([5, 6])), (4, Some([4, 6]))]];

/// The numbers that are packed together, the records of a block, and what numbers are.
type Packing = (u64, u64, Numbers);

/// The numbers that may be packed together, with blocks that are not short, at one scale and at several.
fn whole_blocks(shape: &TableShape, cut: &MatrixShape) -> Vec<Packing> {
    let one = shape.sums || shape.set.is_some() || shape.buckets > 1 || cut.records < MIN_SCALED;
    let tried = TRIED_NUMBERS.into_iter().take(if one { 1 } else { TRIED_NUMBERS.len() });
    let pack = |samples| {
        let packed = move |numbers: &Numbers| (samples, whole(), *numbers);
        let required = cut.required_failure_log2(shape);
        let has_margin = move |packing: &Packing| widest(shape, cut, *packing).failure_log2() <= required;
        tried.clone().filter_map(move |numbers| numbers.iter().map(packed).find(has_margin))
    };
    SAMPLES.into_iter().flat_map(pack).collect()
}

/// Literals with their prices: of divisions into records of at least some bytes, or of whole rows, and
/// of each the packings.
fn priced(
    shape: &TableShape,
    record_bytes: u64,
    packings: impl Fn(&MatrixShape) -> Vec<Packing>,
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

/// A literal of these sizes, whose words have all their bits.
fn widest(shape: &TableShape, cut: &MatrixShape, packing: Packing) -> ParamsLiteral {
    ParamsLiteral {
        query_bits: *QUERY_BITS.end(),
        key_bits: *KEY_BITS.end(),
        answer_bits: [MAX_ANSWER_BITS; 2],
        ..sized(shape, cut, packing)
    }
}

/// A literal of these sizes, whose words have no bits yet.
fn sized(
    shape: &TableShape,
    cut: &MatrixShape,
    (samples, block, (number_bits, scales)): Packing,
) -> ParamsLiteral {
    ParamsLiteral {
        set: SET.into(),
        record_bytes: cut.record_bytes,
        records: cut.records * shape.buckets,
        buckets: (shape.buckets > 1).then_some(shape.buckets),
        samples,
        block,
        scales,
        number_bits,
        query_bits: 0,
        key_bits: 0,
        answer_bits: [0; 2],
        seed: PUBLIC_SEED,
    }
}

/// The word sizes with the fewest bytes of a lookup, which trade noise against each other: of query and
/// answer, and a share of the masks.
fn word_sizes(shape: &TableShape, cut: &MatrixShape, packing: Packing) -> Option<ParamsLiteral> {
    let required = cut.required_failure_log2(shape);
    let widest = widest(shape, cut, packing);
    let literal = |query_bits, key_bits, answer_bits| ParamsLiteral {
        query_bits,
        key_bits,
        answer_bits,
        ..widest.clone()
    };
    let reliable = |literal: &ParamsLiteral| literal.failure_log2() <= required;
    let (answer_bits, bodies) = (widest.answer_bits, widest.answer_range());
    // A few more bits than the narrowest words and keys have may save more elsewhere.
    let least =
        QUERY_BITS.into_iter().find(|query| reliable(&literal(*query, *KEY_BITS.end(), answer_bits)))?;
    let keys =
        |query: u8| KEY_BITS.filter(move |key| reliable(&literal(query, *key, answer_bits))).take(TRIED);
    let queries = (least..=*QUERY_BITS.end()).take(TRIED);
    let tried = queries.flat_map(|query| keys(query).map(move |key| (query, key)));
    let fitting = tried.flat_map(|(query, key)| {
        // The narrowest mask for each body.
        let mask_for = move |body| {
            let mut masks = (body..=MAX_ANSWER_BITS).map(|mask| literal(query, key, [mask, body]));
            masks.find(reliable)
        };
        bodies.clone().take(TRIED).filter_map(mask_for)
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
