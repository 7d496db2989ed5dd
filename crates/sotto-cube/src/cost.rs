//! Costs of a lookup: exact bytes, and time by a model of the machine that the benches run on.

use crate::literal::{Literal, TableForm, Upload};
use crate::noise::{rounds_of, units};
use crate::rings::RingSet;
use sotto_core::work;

/// Bytes of the seed that replaces all masks of a message.
pub const SEED_BYTES: u64 = 32;

/// The costs of a literal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Bytes of a query.
    pub query_bytes: u64,
    /// Bytes of an answer.
    pub answer_bytes: u64,
    /// Bytes of a client's keys.
    pub keys_bytes: u64,
    /// Bytes that the server holds for a client's keys.
    pub session_bytes: u64,
    /// Work of an answer, in the unit of [`work`].
    pub server_ops: u64,
    /// Work of making a query and of reading its answer, in the unit of [`work`].
    pub client_ops: u64,
    /// Price of an answer's work, by which parameters are chosen: time on one thread, with bytes of the
    /// table at a higher price.
    pub nanoseconds: f64,
}

/// Work of one coefficient of a query for each prime, measured: a mask and an error are drawn and
/// transformed.
const QUERY_WORD_OPS: u64 = 17_500;

/// Work of one coefficient of an answer, measured.
const ANSWER_WORD_OPS: u64 = 4000;

/// Number of polynomials of a client's keys that are sent: modulo Q, and modulo q.
pub(crate) fn key_polynomials(literal: &Literal) -> [u64; 2] {
    let n = u64::from(literal.n);
    let [l, right, convert, pack] = [literal.expand, literal.expand_right, literal.convert, literal.pack]
        .map(|triple| u64::from(triple[0]));
    let [left_rounds, right_rounds] = rounds_of(literal).map(|rounds| rounds as u64);
    let trees = match literal.upload {
        Upload::Direct => 0,
        Upload::Expanded if literal.nu2 == 0 => l * left_rounds,
        // The round that separates the trees uses the finer gadget; where both gadgets are equal,
        // the keys are shared.
        Upload::Expanded if literal.expand == literal.expand_right => l * (1 + left_rounds.max(right_rounds)),
        Upload::Expanded => l * left_rounds + right * (1 + right_rounds),
    };
    match literal.form {
        TableForm::Plain => [trees + convert, 0],
        TableForm::Packed => [trees + convert, n * n * pack],
        TableForm::Matrix => [trees, n * n * pack + n * convert],
    }
}

/// Bytes of a polynomial with `bits` bits in each coefficient.
fn polynomial_bytes(n: usize, bits: u8) -> u64 {
    (n as u64 * u64::from(bits)).div_ceil(8)
}

/// Bytes of a query.
pub(crate) fn query_bytes(literal: &Literal, n: usize) -> u64 {
    SEED_BYTES + literal.query_polynomials() as u64 * polynomial_bytes(n, literal.query_bits)
}

/// Bytes of the answer for one unit.
pub(crate) fn unit_answer_bytes(literal: &Literal, n: usize) -> u64 {
    let [mask, body] = literal.answer_bits.map(|bits| polynomial_bytes(n, bits));
    let side = u64::from(literal.n);
    if literal.form == TableForm::Plain { mask + body } else { side * (mask + side * body) }
}

/// The costs of a literal on its ring.
pub(crate) fn of_literal(literal: &Literal, ring: &RingSet) -> Cost {
    let n = ring.n as u64;
    let [full, main] = key_polynomials(literal);
    let units = units(literal, ring.n);
    let side = u64::from(literal.n);
    let limbs = 1 + u64::from(ring.special.is_some());
    let polynomials = units * literal.unit_polynomials() * (u64::from(literal.rows) << literal.nu2);
    let [nanoseconds, measured] =
        [CHOICE_TIMES, MEASURED_TIMES].map(|times| nanoseconds(literal, ring, polynomials, &times));
    Cost {
        query_bytes: query_bytes(literal, ring.n),
        answer_bytes: units * unit_answer_bytes(literal, ring.n),
        keys_bytes: SEED_BYTES
            + full * polynomial_bytes(ring.n, literal.key_bits)
            + main * polynomial_bytes(ring.n, literal.pack_key_bits),
        session_bytes: 8 * n * (full * 2 * limbs + main.div_ceil(side) * (1 + side)),
        server_ops: (measured * work::OPS_PER_NANOSECOND as f64) as u64,
        client_ops: n
            * (limbs * literal.query_polynomials() as u64 * QUERY_WORD_OPS
                + units * literal.unit_polynomials() * ANSWER_WORD_OPS),
        nanoseconds,
    }
}

/// Times of the steps that depend on the size of the table.
struct PassTimes {
    /// Nanoseconds of a byte of an encoded table.
    scan_byte: f64,
    /// Time of an external product that folds, relative to its transforms and products alone.
    fold: f64,
    /// Nanoseconds of a byte of a column's sum, which is written, and gathered for the first fold.
    column_byte: f64,
}

/// Times by which parameters are chosen. A byte of the encoded table costs twice its time: it takes
/// memory too.
const CHOICE_TIMES: PassTimes = PassTimes { scan_byte: 1.0 / 20.0, fold: 1.0, column_byte: 0.0 };

/// Times as measured, for tables from 256 KiB to 128 MiB.
const MEASURED_TIMES: PassTimes = PassTimes { scan_byte: 1.0 / 42.0, fold: 1.5, column_byte: 0.22 };

/// Nanoseconds on one thread, from the costs of a transform, a product and the given steps.
fn nanoseconds(literal: &Literal, ring: &RingSet, polynomials: u64, times: &PassTimes) -> f64 {
    let n = ring.n as f64;
    // Moduli of two primes use the slow kernels.
    let slow = if ring.q.len() > 1 { 2.5 } else { 1.0 };
    let transform = 0.07 * n * n.log2() * slow;
    let product = 0.15 * n * slow;
    let limbs = 1.0 + f64::from(u8::from(ring.special.is_some()));
    let count = |triple: [u8; 3]| f64::from(triple[0]);
    let switch = |l: f64, comps: f64, limbs: f64| limbs * (transform * (1.0 + l) + product * comps * l);
    let rank = literal.rank() as f64;
    let units = units(literal, ring.n) as f64;
    let (rows, bits) = (f64::from(literal.rows), literal.bit_rows() as f64);
    let expansion = match literal.upload {
        Upload::Direct => 0.0,
        Upload::Expanded => {
            (rows + 8.0) * switch(count(literal.expand), 2.0, limbs)
                + (bits + 4.0)
                    * (switch(count(literal.expand_right), 2.0, limbs)
                        + switch(count(literal.convert), 2.0, limbs))
                + (rows + 2.0 * bits) * 4.0 * transform * (limbs - 1.0)
        }
    };
    let scan = polynomials as f64 * n * 8.0 * times.scan_byte * (rank + 1.0) / 2.0;
    let columns = units * literal.unit_polynomials() as f64 / rank * (1u64 << literal.nu2) as f64;
    let gathered = columns * (rank + 1.0) * n * 8.0 * times.column_byte;
    let folded = units * literal.unit_polynomials() as f64 / rank * ((1u64 << literal.nu2) - 1) as f64;
    let cmux = (rank + 1.0)
        * (transform * (1.0 + count(literal.fold)) + product * (rank + 1.0) * count(literal.fold));
    let packing = match literal.form {
        TableForm::Packed => {
            let n = f64::from(literal.n);
            units
                * n
                * n
                * (transform * (1.0 + count(literal.pack)) + product * (n + 1.0) * count(literal.pack))
        }
        TableForm::Plain | TableForm::Matrix => 0.0,
    };
    expansion + scan + gathered + folded * cmux * times.fold + packing + units * n * 20.0
}

/// Formats a number of bytes for a person.
pub(crate) fn bytes_text(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
