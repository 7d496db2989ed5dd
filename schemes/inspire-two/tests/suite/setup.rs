//! Tables of small literals, for tests that look inside messages.

use sotto_inspire_two::InspireTwo;
use sotto_inspire_two::literal::ParamsLiteral;
use sotto_silent::MatrixScheme;
use sotto_silent::lattice::{PUBLIC_SEED, SET};
use sotto_testkit::served::InProcessServer;
pub(crate) use sotto_testkit::vectors::bytes;

pub(crate) fn literal(
    [record_bytes, records, blocks]: [u64; 3],
    query_bits: [u8; 2],
    key_bits: u8,
    inner_bits: [u8; 2],
    answer_bits: [u8; 2],
) -> ParamsLiteral {
    ParamsLiteral {
        set: SET.into(),
        record_bytes,
        records,
        blocks,
        query_bits,
        key_bits,
        inner_bits,
        answer_bits,
        seed: PUBLIC_SEED,
    }
}

/// A table, and a server that has it.
pub(crate) type Table = InProcessServer<MatrixScheme<InspireTwo>>;
