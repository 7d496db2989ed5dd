//! Tables of small literals, for tests that look inside messages.

use sotto_silent::MatrixScheme;
use sotto_silent::lattice::{PUBLIC_SEED, SET};
use sotto_testkit::served::InProcessServer;
pub(crate) use sotto_testkit::vectors::bytes;
use sotto_ypir_sp::YpirSp;
use sotto_ypir_sp::literal::ParamsLiteral;

pub(crate) fn literal(
    record_bytes: u64,
    records: u64,
    [query_bits, key_bits]: [u8; 2],
    answer_bits: [u8; 2],
) -> ParamsLiteral {
    ParamsLiteral {
        set: SET.into(),
        record_bytes,
        records,
        query_bits,
        key_bits,
        answer_bits,
        seed: PUBLIC_SEED,
    }
}

/// A table, and a server that has it.
pub(crate) type Table = InProcessServer<MatrixScheme<YpirSp>>;
