//! The grids of steps, and of links on which a lookup pays.

use super::super::format::{bytes, decimal, digits, time};
use super::super::steps::break_even;
use super::super::{MeasuredCase, PublishedRow, Step, names};
use super::{add, grid, source, sources};
use comfy_table::Table;
use sotto_core::ExpectOrDefault;

/// Every name of a step, in the order in which they came up.
fn steps<'a>(lines: impl Iterator<Item = &'a [Step]>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for step in lines.flatten() {
        if !found.contains(&step.name.as_str()) {
            found.push(&step.name);
        }
    }
    found
}

fn cells<'a>(names: &'a [&str], steps: &'a [Step]) -> impl Iterator<Item = String> + 'a {
    names.iter().map(|name| {
        let step = steps.iter().find(|step| step.name == **name);
        step.map_or_else(|| "-".to_owned(), |step| time(step.server_ms))
    })
}

/// A line for each order and number of threads.
pub(in crate::report) fn stepped(measured: &[MeasuredCase]) -> Table {
    let cases: Vec<&MeasuredCase> = measured.iter().filter(|case| !case.steps.is_empty()).collect();
    let columns = steps(cases.iter().flat_map(|case| &case.steps).map(|line| line.steps.as_slice()));
    let header: Vec<&str> = ["order"].into_iter().chain(columns.iter().copied()).chain(["answer"]).collect();
    let mut table = grid(&header, 1);
    for case in cases {
        table.add_row([format!("{}, {}:", case.method.title, case.table.shape)]);
        for line in &case.steps {
            let threads =
                if line.threads_count > 1 { format!(", {} thr", line.threads_count) } else { String::new() };
            let mut row = vec![format!(" {}{threads}", line.order)];
            row.extend(cells(&columns, &line.steps));
            row.push(time(line.server_ms));
            table.add_row(row);
        }
    }
    table
}

/// Published steps.
pub(in crate::report) fn published_steps(rows: &[PublishedRow]) -> Table {
    let rows: Vec<&PublishedRow> = rows.iter().filter(|row| !row.steps.is_empty()).collect();
    let columns = steps(rows.iter().map(|row| row.steps.as_slice()));
    let header: Vec<&str> =
        ["scheme", "table"].into_iter().chain(columns.iter().copied()).chain(["answer"]).collect();
    let mut table = grid(&header, 2);
    for row in rows {
        let mut line = vec![row.scheme.clone(), row.shape.clone()];
        line.extend(cells(&columns, &row.steps));
        line.push(row.server_ms.map_or("-".to_owned(), time));
        table.add_row(line);
    }
    table
}

/// The links on which a lookup pays.
pub(in crate::report) fn break_evens(measured: &[MeasuredCase]) -> Table {
    let mut table = grid(&["case", "table", "moved", "work", "Mbit/s", "Mbit/s with keys"], 1);
    let cases: Vec<_> = measured.iter().filter_map(|case| Some((case, case.break_even.as_ref()?))).collect();
    let names = names::of(cases.iter().map(|(case, _)| names::line(case)).collect());
    for (named, (case, found)) in names.into_iter().zip(cases) {
        let cells = [
            bytes(case.table.table_bytes),
            bytes(found.moved_bytes),
            time(found.work_ms),
            digits(found.below_mbit_per_s),
            digits(found.first_below_mbit_per_s),
        ];
        add(&mut table, named, cells);
    }
    table
}

/// The links on which a lookup pays by published times and bytes, where a publication has both.
pub(in crate::report) fn published_break_evens(rows: &[PublishedRow]) -> Option<Table> {
    let mut table = grid(&["scheme", "table", "moved", "server", "Mbit/s", "source"], 2);
    let (sources, mut some) = (sources(rows), false);
    for row in rows {
        let moved = row.total_bytes.or_else(|| Some(row.up_bytes? + row.down_bytes?));
        let (Some(moved), Some(server_ms)) = (moved, row.server_ms) else { continue };
        let table_bytes = row.rows_count.saturating_mul(row.row_bits) / 8;
        let from = sources
            .iter()
            .position(|s| s.ends_with(&source(row)))
            .expect_or_default("every line has its source among them");
        table.add_row([
            row.scheme.clone(),
            row.shape.clone(),
            decimal(moved),
            time(server_ms),
            digits(break_even(table_bytes, moved, server_ms)),
            format!("[{}]", from + 1),
        ]);
        some = true;
    }
    some.then_some(table)
}
