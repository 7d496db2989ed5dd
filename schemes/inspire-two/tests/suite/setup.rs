//! Tables of small literals, for tests that look inside messages.

use sotto_inspire_two::InspireTwo;
use sotto_inspire_two::literal::ParamsLiteral;
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
pub(crate) type Table = InProcessServer<InspireTwo>;

/// Records of even and odd sizes, a grid that is not full, one and several packed ciphertexts of bodies.
#[test]
fn every_record_comes_back() {
    for (sizes, lookups) in [([5, 23, 4], 23), ([1, 3, 1], 3), ([1500, 9, 2], 3)] {
        let literal = literal(sizes, [45, 45], 46, [26, 20], [28, 19]);
        let table = Table::checked(literal, bytes((sizes[0] * sizes[1]) as usize));
        let mut client = table.client("prepare");
        for i in 0..lookups {
            let index = (sizes[1] - 1) * i / (lookups - 1).max(1);
            let (_, _, record) = table.lookup(&mut client, index, "setup");
            assert_eq!(record, table.row(index), "{sizes:?}: {index}");
        }
    }
}
