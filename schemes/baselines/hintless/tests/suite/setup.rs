//! Tables of small literals, for tests that look inside messages.

use sotto_hintless::Hintless;
use sotto_hintless::literal::{PUBLIC_SEED, ParamsLiteral};
use sotto_silent::MatrixScheme;
use sotto_silent::lwe::dense::HINTLESS;
use sotto_testkit::served::InProcessServer;
pub(crate) use sotto_testkit::vectors::bytes;

pub(crate) fn literal(record_bytes: u64, records: u64, block_rows: u64) -> ParamsLiteral {
    ParamsLiteral { set: HINTLESS.name.into(), record_bytes, records, block_rows, seed: PUBLIC_SEED }
}

/// A table, and a server that has it.
pub(crate) type Table = InProcessServer<MatrixScheme<Hintless>>;
