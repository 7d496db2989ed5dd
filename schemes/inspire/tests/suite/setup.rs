//! Tables of small literals, for tests that look inside messages.

use sotto_inspire::Inspire;
use sotto_inspire::literal::ParamsLiteral;
use sotto_silent::MatrixScheme;
use sotto_silent::lattice::{PUBLIC_SEED, SET};
use sotto_testkit::served::InProcessServer;
pub(crate) use sotto_testkit::vectors::bytes;

/// Bytes in a record, records, and places in a column; bits of words and keys, of the selector, and of answers.
pub(crate) fn literal(
    [record_bytes, records, places]: [u64; 3],
    [query_bits, key_bits]: [u8; 2],
    selector_bits: [u8; 2],
    answer_bits: [u8; 2],
) -> ParamsLiteral {
    ParamsLiteral {
        set: SET.into(),
        record_bytes,
        records,
        places,
        query_bits,
        key_bits,
        selector_bits,
        answer_bits,
        seed: PUBLIC_SEED,
    }
}

/// A table, and a server that has it.
pub(crate) type Table = InProcessServer<MatrixScheme<Inspire>>;
