//! The grid of the yardstick.

use super::super::Residues;
use super::super::units::{bytes, digits, power, time};
use super::grid;
use comfy_table::Table;

/// A line for each table.
pub(in super::super) fn foretold(found: &Residues) -> Table {
    let mut table = grid(&["table, bits", "server", "up", "down"], 1);
    for row in &found.tables {
        table.add_row([
            power(row.table_bits),
            time(row.server_s * 1e3),
            bytes(row.up_bytes),
            bytes(row.down_bytes),
        ]);
    }
    table
}

/// What it rests on, in a sentence.
pub(in super::super) fn basis(found: &Residues) -> String {
    format!(
        "One multiplication modulo a number of {} bits takes {} us. A table of {} bits took {} ms where that \
        foretells {} ms, and \
        all {} bits of its answer are right.",
        found.modulus_bits,
        digits(found.multiplication_ns / 1e3),
        found.small_table_bits,
        digits(found.small_server_ms),
        digits(found.small_foretold_ms),
        found.checked_answers_count,
    )
}
