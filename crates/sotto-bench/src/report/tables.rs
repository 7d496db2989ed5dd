//! The grids of a report, one function per question.

use super::table::WIDTH;
use super::units::{bytes, digits, percent};
use super::{Measured, Modelled, PublishedRow, Table as Shape};
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};

/// Width of the column that may wrap, so that no table is wider than 110 columns.
const WRAPPED: u16 = 30;

/// A table whose columns after the first `names` hold numbers.
fn grid(header: &[&str], names: usize) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for column in table.column_iter_mut().skip(names) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn name(scheme: &str, table: &Shape, threads: usize) -> String {
    let scheme = scheme.split('/').next().unwrap_or(scheme);
    let threads = if threads > 1 { format!(", {threads} thr") } else { String::new() };
    format!("{scheme} {}{threads}", table.shape)
}

pub(super) fn online(measured: &[Measured]) -> Table {
    let header = ["case", "batch", "query ms", "server ms", "recover ms", "GB/s", "of map", "of mem", "vs 1"];
    let mut table = grid(&header, 1);
    for case in measured {
        for (i, batch) in case.batches.iter().enumerate() {
            // The client's work does not depend on who is answered along with it, so it is said once.
            let once = |text: String| if i == 0 { text } else { String::new() };
            table.add_row([
                once(name(&case.scheme, &case.table, case.threads_count)),
                batch.batch_count.to_string(),
                once(digits(case.client_query_ms)),
                digits(batch.server_ms),
                once(digits(case.client_recover_ms)),
                digits(batch.aggregate_gb_per_s),
                percent(batch.of_read_mapped_ratio),
                percent(batch.of_read_memory_ratio),
                digits(batch.batching_ratio),
            ]);
        }
    }
    table
}

pub(super) fn traffic(measured: &[Measured]) -> Table {
    let header = ["table", "way", "once", "up", "down", "1st", "100th", "server memory", "fails", "security"];
    let mut table = grid(&header, 2);
    for case in measured {
        let t = &case.traffic;
        table.add_row([
            case.table.shape.clone(),
            case.scheme.clone(),
            bytes(t.once_bytes + t.keys_bytes),
            bytes(t.up_bytes),
            bytes(t.down_bytes),
            bytes(t.total_1st_bytes),
            bytes(t.total_100th_bytes),
            case.server_memory_bytes.map_or("-".to_owned(), bytes),
            power(case.failure_log2),
            security(case.security_bits),
        ]);
        for baseline in &case.baselines {
            let t = &baseline.traffic;
            table.add_row([
                String::new(),
                baseline.name.to_owned(),
                bytes(t.once_bytes),
                bytes(t.up_bytes),
                bytes(t.down_bytes),
                bytes(t.total_1st_bytes),
                bytes(t.total_100th_bytes),
                format!("{} ms", digits(baseline.server_ms)),
                "-".to_owned(),
                if baseline.private { "all" } else { "NONE" }.to_owned(),
            ]);
        }
    }
    table
}

pub(super) fn offline(measured: &[Measured]) -> Table {
    let header = ["case", "encode s", "stages s", "generating s", "image", "peak", "open ms", "ready ms"];
    let mut table = grid(&header, 1);
    for case in measured {
        let offline = &case.offline;
        let stages: Vec<String> =
            offline.stages.iter().map(|s| format!("{} {}", s.name, digits(s.total_s))).collect();
        let peak = offline.peak_memory_bytes.map(|peak| peak as f64 / offline.image_bytes.max(1) as f64);
        table.add_row([
            name(&case.scheme, &case.table, case.threads_count),
            digits(offline.total_s),
            stages.join(", "),
            digits(offline.generating_s),
            bytes(offline.image_bytes),
            peak.map_or("-".to_owned(), |peak| format!("{peak:.2} x")),
            digits(offline.open_ms),
            digits(case.prepare_ms),
        ]);
    }
    wrap(&mut table, 2);
    table
}

pub(super) fn modelled(modelled: &[Modelled]) -> Table {
    let header = ["case", "once", "up", "down", "1st", "100th", "resident", "floor ms", "fails", "security"];
    let mut table = grid(&header, 1);
    for case in modelled {
        let t = &case.traffic;
        table.add_row([
            name(&case.scheme, &case.table, 1),
            bytes(t.once_bytes.saturating_add(t.keys_bytes)),
            bytes(t.up_bytes),
            bytes(t.down_bytes),
            bytes(t.total_1st_bytes),
            bytes(t.total_100th_bytes),
            bytes(case.resident_bytes),
            case.read_floor_ms.map_or("-".to_owned(), digits),
            power(case.failure_log2),
            security(case.security_bits),
        ]);
    }
    table
}

pub(super) fn published(rows: &[PublishedRow]) -> Table {
    let header = ["scheme", "table", "server ms", "offline s", "once", "up", "down", "total", "source"];
    let mut table = grid(&header, 2);
    let sources = sources(rows);
    for row in rows {
        let size = |n: Option<u64>| n.map_or("-".to_owned(), bytes);
        let once = row.once_bytes.or(row.keys_bytes);
        let source = sources.iter().position(|s| s.ends_with(&source(row))).unwrap_or_default();
        table.add_row([
            row.scheme.clone(),
            row.shape.clone(),
            row.server_ms.map_or("-".to_owned(), digits),
            row.offline_s.map_or("-".to_owned(), digits),
            size(once),
            size(row.up_bytes),
            size(row.down_bytes),
            size(row.total_bytes),
            format!("[{}]", source + 1),
        ]);
    }
    table
}

/// The sources of published rows, numbered.
pub(super) fn sources(rows: &[PublishedRow]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for row in rows {
        if !found.contains(&source(row)) {
            found.push(source(row));
        }
    }
    found.iter().enumerate().map(|(i, text)| format!("[{}] {text}", i + 1)).collect()
}

fn source(row: &PublishedRow) -> String {
    let threads = if row.threads_count == 1 {
        "one thread".to_owned()
    } else {
        format!("{} threads", row.threads_count)
    };
    format!("{}; {}, {threads}", row.source, row.machine)
}

fn wrap(table: &mut Table, column: usize) {
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH as u16);
    if let Some(column) = table.column_mut(column) {
        column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(WRAPPED)));
    }
}

fn power(log2: f64) -> String {
    if log2.is_finite() { format!("2^{log2:.0}") } else { "never".to_owned() }
}

fn security(bits: f64) -> String {
    if bits.is_finite() { format!("{bits:.0} bits") } else { "perfect".to_owned() }
}
