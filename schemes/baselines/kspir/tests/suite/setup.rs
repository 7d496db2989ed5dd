//! Tables of small literals, for tests that look inside messages.

use sotto_kspir::KsPir;
use sotto_kspir::literal::ParamsLiteral;
use sotto_kspir::ring::SET;
use sotto_silent::MatrixScheme;
use sotto_testkit::served::InProcessServer;
use sotto_testkit::vectors::bytes;

/// A literal of so many records and pages, columns, blocks and baby steps.
pub(crate) fn literal(records: u64, [pages, columns, blocks, babies]: [u32; 4]) -> ParamsLiteral {
    ParamsLiteral { set: SET.into(), records, pages, columns, blocks, babies, answer_bits: [26, 19] }
}

/// A table, and a server that has it.
pub(crate) type Table = InProcessServer<MatrixScheme<KsPir>>;

/// A table of bytes that any language can make.
pub(crate) fn table(literal: ParamsLiteral) -> Table {
    let count = literal.records as usize * literal.grid().record_bytes();
    Table::checked(literal, bytes(count))
}

/// Every shape of a grid: a page or two, blocks or none, giant steps or none, and records that are not there.
#[test]
fn records_come_back() {
    for (records, grid) in
        [(1, [1, 2, 1, 2]), (7, [1, 4, 2, 2]), (30, [2, 8, 4, 4]), (16, [1, 16, 1, 8]), (5, [1, 2, 8, 2])]
    {
        table(literal(records, grid)).come_back(&format!("{grid:?}"));
    }
}
