//! The costs of a lookup: bytes exactly, time by a model of the machine that the benchmarks run on.

use crate::folding_tree::{FoldingTree, Side};
use crate::layout::ProductOrder;
use crate::literal::{ParamsLiteral, RowFormat};
use crate::rings::{LIMB, RingSet};
use sotto_core::work;
use sotto_lattice::bgv::CoefficientFormat;
use sotto_math::bits::packed_len;
use sotto_math::tiles::WordPacking;

/// Bytes of a ciphertext of two parts modulo `primes` primes.
#[cfg(feature = "server")]
pub(crate) fn cipher_bytes(primes: u64) -> u64 {
    primes * 2 * 8 * LIMB as u64
}

/// Bytes of the seed that stands for all masks of a message.
pub(crate) const SEED_BYTES: usize = 32;

/// Bits of a word modulo a prime, as it is sent.
pub(crate) const WORD_BITS: u32 = 50;

/// Keys of a client: of the rotation by one, of relinearization, and of the rotation by a stride if there is one.
pub(crate) fn keys(literal: &ParamsLiteral) -> usize {
    2 + usize::from(literal.stride > 1)
}

/// Bytes of one limb of a body on the wire.
pub(crate) fn limb_bytes(ring: &RingSet) -> usize {
    packed_len(WORD_BITS, ring.degree).unwrap_or(usize::MAX)
}

/// Bytes of a query: one body.
pub(crate) fn query_bytes(literal: &ParamsLiteral, ring: &RingSet) -> usize {
    SEED_BYTES + usize::from(literal.primes) * limb_bytes(ring)
}

/// Bytes of a client's keys: for each key one body a prime, modulo all primes and the special one.
pub(crate) fn keys_bytes(literal: &ParamsLiteral, ring: &RingSet) -> usize {
    let primes = usize::from(literal.primes);
    SEED_BYTES + keys(literal) * primes * (primes + 1) * limb_bytes(ring)
}

/// Bytes of an answer: two polynomials a layer.
pub(crate) fn answer_bytes(literal: &ParamsLiteral, ring: &RingSet) -> usize {
    let polynomial = |bits: u8| packed_len(bits.into(), ring.degree).unwrap_or(usize::MAX);
    literal.layers as usize * literal.answer_bits.iter().map(|bits| polynomial(*bits)).sum::<usize>()
}

/// Bytes that the server holds for a client: its keys with their masks.
pub(crate) fn session_bytes(literal: &ParamsLiteral) -> usize {
    let primes = usize::from(literal.primes);
    keys(literal) * primes * (primes + 1) * 2 * LIMB * 8
}

/// Number of entries of u that the table needs, without those for rows past its end.
pub(crate) fn columns(literal: &ParamsLiteral, ring: &RingSet, tree: &FoldingTree) -> u64 {
    literal.layout(ring).rows(literal.records).div_ceil(tree.length(Side::Right))
}

/// Plaintexts of `rows` rows of every column of every layer, including missing rows of its last
/// column.
fn cells(literal: &ParamsLiteral, ring: &RingSet, tree: &FoldingTree, rows: u64) -> u64 {
    columns(literal, ring, tree).saturating_mul(rows).saturating_mul(literal.layers.into())
}

/// Bytes of a plaintext as values modulo the primes of the scan, with cache lines of its own.
fn values_bytes(literal: &ParamsLiteral) -> u64 {
    u64::from(literal.scan_primes) * 8 * LIMB as u64
}

/// Bytes of a plaintext as coefficients.
pub(crate) fn stored_bytes(ring: &RingSet) -> u64 {
    CoefficientFormat::of(LIMB, ring.plain).bytes() as u64
}

/// Bytes of the image.
pub(crate) fn image_bytes(literal: &ParamsLiteral, ring: &RingSet, tree: &FoldingTree) -> u64 {
    let rows = tree.length(Side::Right);
    let (rows, each) = match literal.form {
        RowFormat::Values => {
            (WordPacking::Residues.lines_of_table(rows as usize) as u64, values_bytes(literal))
        }
        RowFormat::Coefficients => (rows, stored_bytes(ring)),
    };
    cells(literal, ring, tree, rows).saturating_mul(each)
}

/// Products of polynomials, modulo all primes of the table, from u, v and the table to the sum, in
/// the given order.
pub(crate) fn products(
    literal: &ParamsLiteral,
    ring: &RingSet,
    tree: &FoldingTree,
    order: ProductOrder,
) -> u64 {
    let (rows, columns) = (literal.layout(ring).rows(literal.records), columns(literal, ring, tree));
    let once = order.products(rows, columns).saturating_mul(literal.scan_primes.into());
    once.saturating_mul(literal.layers.into())
}

/// Nanoseconds of a byte of an image, by which parameters are chosen: more than its time, since it
/// takes memory too.
const CHOICE_SCAN_BYTE: f64 = 1.0 / 20.0;

/// Nanoseconds of a byte of an image, as measured.
const SCAN_BYTE: f64 = 1.0 / 33.0;

/// Nanoseconds of reading a limb's coefficients and writing its values where they are multiplied.
const READING: f64 = 3_000.0;

/// Nanoseconds of a product of two limbs.
const PRODUCT: f64 = 4_000.0;

/// Price of an answer's work, by which parameters are chosen: nanoseconds on one thread, with bytes of
/// the image at a higher price.
pub(crate) fn nanoseconds(literal: &ParamsLiteral, ring: &RingSet, tree: &FoldingTree) -> f64 {
    answer_nanoseconds(literal, ring, tree, CHOICE_SCAN_BYTE)
}

/// Nanoseconds of an answer on one thread, if a byte of the image takes `scan_byte`.
fn answer_nanoseconds(literal: &ParamsLiteral, ring: &RingSet, tree: &FoldingTree, scan_byte: f64) -> f64 {
    let transform = ring.transform;
    // Digits modulo the other primes and the special one; their products with a key, and division of both parts by the latter.
    let split = |primes: f64| transform * (primes + primes * primes);
    let apply = |primes: f64| transform * (2.0 + 2.0 * primes) + PRODUCT * 2.0 * primes * (primes + 1.0);
    let switch = |primes: f64| split(primes) + apply(primes);
    let lower = |primes: f64| 2.0 * transform * primes;
    let (primes, scan) = (f64::from(literal.primes), f64::from(literal.scan_primes));
    let rotations = literal.rotations(tree);
    let rotations =
        rotations.splits() as f64 * split(primes) + rotations.places.saturating_sub(1) as f64 * apply(primes);
    let mut unfolding = 0.0;
    for side in [Side::Left, Side::Right] {
        // The multiplication of half a side: its length, and the primes that it still has.
        let mut down = |entries: u64, from: usize, to: usize| {
            unfolding += (to..from).map(|left| lower(left as f64 + 1.0)).sum::<f64>() * entries as f64;
        };
        let mut products = 0.0;
        let leaf = |length: u32| (u64::from(length), usize::from(literal.primes));
        let all = tree.walk(side, &leaf, &mut |left: (u64, usize), right: (u64, usize), node| {
            let primes = left.1.min(right.1);
            [left, right].into_iter().for_each(|half| down(half.0, half.1, primes));
            let each = primes as f64;
            products += node.length as f64 * (switch(each) + 7.0 * PRODUCT * each);
            let kept = literal.left_with(primes, node.depth);
            down(node.length, primes, kept);
            (node.length, kept)
        });
        down(all.0, all.1, literal.scan_primes.into());
        unfolding += products;
    }
    let cells = cells(literal, ring, tree, tree.length(Side::Right)) as f64;
    let values = cells * values_bytes(literal) as f64 * scan_byte;
    let scanned = values
        + match literal.form {
            RowFormat::Values => 0.0,
            RowFormat::Coefficients => cells * scan * (transform + READING),
        };
    let columns = columns(literal, ring, tree) as f64;
    let last = f64::from(literal.layers)
        * (columns * 4.0 * PRODUCT * scan + switch(scan) + lower(scan) + 4.0 * transform);
    rotations + unfolding + scanned + last
}

/// Work of an answer, in the unit of [`work`].
pub(crate) fn server_ops(literal: &ParamsLiteral, ring: &RingSet, tree: &FoldingTree) -> u64 {
    (answer_nanoseconds(literal, ring, tree, SCAN_BYTE) * work::OPS_PER_NANOSECOND as f64) as u64
}

/// Operations for a coefficient of a query: a mask and an error are drawn, and transformed, for
/// each prime.
const QUERY_WORD_OPS: u64 = 17_500;

/// Operations for a coefficient of an answer.
const ANSWER_WORD_OPS: u64 = 4000;

/// Operations for a query and for reading its answer, by the times of the same steps in
/// `sotto-cube`.
pub(crate) fn client_ops(literal: &ParamsLiteral) -> u64 {
    let words = u64::from(literal.primes) * QUERY_WORD_OPS + u64::from(literal.layers) * ANSWER_WORD_OPS;
    words * LIMB as u64
}
