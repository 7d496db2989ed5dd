//! Costs of a lookup: exact bytes, and time by a model of the machine that the benches run on.

use crate::family::{Method, RequiredKeys};
use crate::layout::Layout;
use crate::rings::{RingSet, RingTimes};
use sotto_core::work;
use sotto_math::bits::packed_len;
use sotto_math::tiles::WordPacking;

/// Bytes of the seed that replaces all masks of a message.
pub const SEED_BYTES: usize = 32;

/// Largest number of bytes of an image.
pub const MAX_BYTES: u64 = 1 << 46;

/// Bytes of one limb of a body on the wire.
fn limb_bytes(ring: &RingSet, prime: u64) -> usize {
    packed_len(64 - prime.leading_zeros(), ring.degree).unwrap_or(usize::MAX)
}

/// Bytes of a body modulo the first `primes` primes.
pub(crate) fn body_bytes(ring: &RingSet, primes: usize) -> usize {
    ring.primes.iter().take(primes).map(|prime| limb_bytes(ring, *prime)).sum()
}

/// Bytes of a query of `ciphers` ciphertexts.
pub(crate) fn query_bytes(ring: &RingSet, ciphers: usize) -> usize {
    SEED_BYTES + ciphers * body_bytes(ring, ring.query_primes())
}

/// Bytes of a client's keys: for each key one body for each prime, modulo all primes and the
/// special one.
pub(crate) fn keys_bytes(ring: &RingSet, keys: RequiredKeys) -> usize {
    SEED_BYTES + keys.count() * ring.query_primes() * body_bytes(ring, ring.primes.len())
}

/// Bytes of a ciphertext of an answer.
pub(crate) fn answer_bytes(ring: &RingSet, bits: [u8; 2]) -> usize {
    bits.iter().map(|bits| packed_len((*bits).into(), ring.degree).unwrap_or(usize::MAX)).sum()
}

/// Bytes that the server holds for a client: its keys with their masks.
pub(crate) fn session_bytes(ring: &RingSet, keys: RequiredKeys) -> usize {
    keys.count() * ring.query_primes() * ring.primes.len() * 2 * ring.degree * 8
}

/// Bytes of the image.
pub(crate) fn image_bytes(layout: &Layout) -> u64 {
    let lines = WordPacking::Residues.lines_of_table(layout.rows) as u64;
    let cells = (layout.tables() as u64).saturating_mul(lines).saturating_mul(layout.cols() as u64);
    cells.saturating_mul(8 * (layout.n * layout.primes) as u64)
}

/// Nanoseconds of a byte of the image, by which parameters are chosen: twice its time, since it takes
/// memory too.
const CHOICE_SCAN_BYTE: f64 = 1.0 / 15.0;

/// Price of an answer's work, by which parameters are chosen: nanoseconds on one thread, with bytes of
/// the image at a higher price.
pub(crate) fn nanoseconds<M: Method>(method: &M, layout: &Layout, ring: &RingSet) -> f64 {
    let times = RingTimes::of(ring);
    let scan = image_bytes(layout) as f64 * CHOICE_SCAN_BYTE;
    // Queries are stored in the layout that the pass reads, and answers are rounded.
    let stored = 2.0 * times.product * (layout.tables() * layout.rows * layout.primes) as f64;
    scan + stored + method.nanoseconds(layout, &times) + 4.0 * times.transform * method.answers(layout) as f64
}

/// Nanoseconds of a byte of the image, as measured.
const SCAN_BYTE: f64 = 1.0 / 33.0;

/// Nanoseconds of a byte of the sums of columns, which are written, and gathered into ciphertexts.
const COLUMN_BYTE: f64 = 0.15;

/// Bytes of the sums of columns beyond which their memory is new for each answer, and nanoseconds of
/// a byte of it.
const REUSED_BYTES: f64 = (32 << 20) as f64;
const NEW_BYTE: f64 = 0.75;

/// Work of an answer, in the unit of [`work`].
pub(crate) fn server_ops<M: Method>(method: &M, layout: &Layout, ring: &RingSet) -> u64 {
    let columns = (layout.tables() * layout.cols() * layout.primes * 2 * layout.n * 8) as f64;
    let time = nanoseconds(method, layout, ring)
        + image_bytes(layout) as f64 * (SCAN_BYTE - CHOICE_SCAN_BYTE)
        + columns * COLUMN_BYTE
        + (columns - REUSED_BYTES).max(0.0) * NEW_BYTE;
    (time * work::OPS_PER_NANOSECOND as f64) as u64
}

/// Work of one coefficient of a query for each prime: a mask and an error are drawn and
/// transformed.
const QUERY_WORD_OPS: u64 = 8_500;

/// Work of one coefficient of an answer.
const ANSWER_WORD_OPS: u64 = 4000;

/// Work of making a query and of reading its answer, in the unit of [`work`].
pub(crate) fn client_ops<M: Method>(method: &M, layout: &Layout, ring: &RingSet) -> u64 {
    let query = (layout.queries * ring.query_primes()) as u64 * QUERY_WORD_OPS;
    (query + method.answers(layout) as u64 * ANSWER_WORD_OPS) * ring.degree as u64
}
