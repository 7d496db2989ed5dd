//! Tables of small literals, for tests that look inside messages.

use sotto_doublepir::DoublePir;
use sotto_doublepir::literal::ParamsLiteral;
use sotto_silent::MatrixScheme;
use sotto_silent::lwe::ring::{PUBLIC_SEED, SET};
use sotto_testkit::served::InProcessServer;
pub(crate) use sotto_testkit::vectors::bytes;

/// Bits of the words of both queries, of an answer, and of masks.
pub(crate) type Bits = [u8; 4];

/// The maximum numbers of bits.
pub(crate) const WIDEST: Bits = [32, 32, 32, 32];

pub(crate) fn literal([record_bytes, records, blocks]: [u64; 3], bits: Bits) -> ParamsLiteral {
    let [first, second, answer_bits, mask_bits] = bits;
    ParamsLiteral {
        set: SET.into(),
        record_bytes,
        records,
        blocks,
        query_bits: [first, second],
        answer_bits,
        mask_bits,
        seed: PUBLIC_SEED,
    }
}

/// A table, and a server that has it.
pub(crate) type Table = InProcessServer<MatrixScheme<DoublePir>>;
