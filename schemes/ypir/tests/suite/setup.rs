//! Tables of small literals, for tests that look inside messages.

use sotto_silent::MatrixScheme;
use sotto_testkit::served::InProcessServer;
pub(crate) use sotto_testkit::vectors::bytes;
use sotto_ypir::Ypir;
use sotto_ypir::literal::{PUBLIC_SEEDS, ParamsLiteral, SETS};

/// Bits of the words of both queries, of keys, and of masks and bodies.
pub(crate) type Bits = [u8; 5];

/// The maximum numbers of bits.
pub(crate) const WIDEST: Bits = [32, 50, 50, 37, 37];

pub(crate) fn literal([record_bytes, records, blocks]: [u64; 3], bits: Bits) -> ParamsLiteral {
    let [first, second, key_bits, mask, body] = bits;
    ParamsLiteral {
        sets: SETS.map(Into::into),
        record_bytes,
        records,
        blocks,
        query_bits: [first, second],
        key_bits,
        answer_bits: [mask, body],
        seeds: PUBLIC_SEEDS,
    }
}

/// A table, and a server that has it.
pub(crate) type Table = InProcessServer<MatrixScheme<Ypir>>;
