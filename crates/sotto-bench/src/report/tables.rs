//! The grids of a report, one function per question.

use super::units::{bytes, decimal, digits, percent, time};
use super::{Measured, Modelled, PublishedRow, Table as Shape};
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// Most stages that get a column.
const STAGES: usize = 6;

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

/// The shape, after its comparison id if it has one.
fn with_id(table: &Shape) -> String {
    table.compare.as_ref().map_or(table.shape.clone(), |id| format!("{id}: {}", table.shape))
}

fn name(scheme: &str, table: &Shape, threads: usize) -> String {
    let scheme = scheme.split('/').next().unwrap_or(scheme);
    let threads = if threads > 1 { format!(", {threads} thr") } else { String::new() };
    format!("{scheme} {}{threads}", table.shape)
}

pub(super) fn online(measured: &[Measured]) -> Table {
    let header = ["case", "batch", "query", "server", "recover", "GB/s", "of map", "of mem", "vs 1"];
    let mut table = grid(&header, 1);
    for case in measured {
        for (i, batch) in case.batches.iter().enumerate() {
            // The client's work does not depend on who is answered along with it, so it is said once.
            let once = |text: String| if i == 0 { text } else { String::new() };
            table.add_row([
                once(name(&case.scheme, &case.table, case.threads_count)),
                batch.batch_count.to_string(),
                once(time(case.client_query_ms)),
                time(batch.server_ms),
                once(time(case.client_recover_ms)),
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
    let mut table = grid(&["table", "way", "server", "once", "up", "down", "1st", "100th"], 2);
    for case in measured {
        let server_ms = case.batches.first().map_or(f64::NAN, |b| b.server_ms);
        let threads =
            if case.threads_count > 1 { format!(", {} thr", case.threads_count) } else { String::new() };
        let own = (with_id(&case.table), format!("{}{threads}", case.scheme), server_ms, &case.traffic);
        let others =
            case.baselines.iter().map(|b| (String::new(), b.name.to_owned(), b.server_ms, &b.traffic));
        for (shape, way, server_ms, t) in std::iter::once(own).chain(others) {
            table.add_row([
                shape,
                way,
                time(server_ms),
                bytes(t.once_bytes + t.keys_bytes),
                bytes(t.up_bytes),
                bytes(t.down_bytes),
                bytes(t.total_1st_bytes),
                bytes(t.total_100th_bytes),
            ]);
        }
    }
    table
}

pub(super) fn offline(measured: &[Measured]) -> Table {
    // Stages are the scheme's own names, so the columns are those that came up.
    let mut stages: Vec<&str> = Vec::new();
    for stage in measured.iter().flat_map(|m| &m.offline.stages) {
        if !stages.contains(&stage.name.as_str()) && stages.len() < STAGES {
            stages.push(&stage.name);
        }
    }
    let header: Vec<&str> =
        ["case", "encode s"].into_iter().chain(stages.iter().copied()).chain(["rows"]).collect();
    let mut table = grid(&header, 1);
    for case in measured {
        let offline = &case.offline;
        let mut row =
            vec![name(case.scheme.as_str(), &case.table, case.threads_count), digits(offline.total_s)];
        row.extend(stages.iter().map(|name| {
            let found = offline.stages.iter().find(|stage| stage.name == *name);
            found.map_or_else(String::new, |stage| digits(stage.total_s))
        }));
        row.push(digits(offline.generating_s));
        table.add_row(row);
    }
    table
}

pub(super) fn memory(measured: &[Measured]) -> Table {
    let mut table = grid(&["case", "image", "encoding", "serving", "open ms", "ready ms"], 1);
    for case in measured {
        let offline = &case.offline;
        let over_image = |memory: Option<u64>| {
            memory
                .map_or("-".to_owned(), |m| format!("{:.2} x", m as f64 / offline.image_bytes.max(1) as f64))
        };
        table.add_row([
            name(&case.scheme, &case.table, case.threads_count),
            bytes(offline.image_bytes),
            over_image(offline.peak_memory_bytes),
            over_image(case.server_memory_bytes),
            digits(offline.open_ms),
            digits(case.prepare_ms),
        ]);
    }
    table
}

pub(super) fn updates(measured: &[Measured]) -> Table {
    let mut table = grid(&["case", "rows changed", "next s", "scheme s", "delta", "hint", "patch ms"], 1);
    for case in measured {
        let Some(update) = &case.update else { continue };
        table.add_row([
            name(&case.scheme, &case.table, case.threads_count),
            update.changed_rows_count.to_string(),
            digits(update.total_s),
            digits(update.revise_s),
            bytes(update.delta_bytes),
            bytes(update.held_bytes),
            digits(update.patch_ms),
        ]);
    }
    table
}

pub(super) fn modelled(modelled: &[Modelled]) -> Table {
    let header = ["case", "once", "up", "down", "resident", "floor ms", "fails", "security"];
    let mut table = grid(&header, 1);
    for case in modelled {
        let t = &case.traffic;
        table.add_row([
            name(&case.scheme, &case.table, 1),
            bytes(t.once_bytes.saturating_add(t.keys_bytes)),
            bytes(t.up_bytes),
            bytes(t.down_bytes),
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
        let size = |n: Option<u64>| n.map_or("-".to_owned(), decimal);
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

fn power(log2: f64) -> String {
    if log2.is_finite() { format!("2^{log2:.0}") } else { "never".to_owned() }
}

fn security(bits: f64) -> String {
    if bits.is_finite() { format!("{bits:.0} bits") } else { "perfect".to_owned() }
}
