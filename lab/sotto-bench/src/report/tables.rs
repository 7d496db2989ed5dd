//! The grids of a report, one function per question; those of clients that prepare once have a file of their own.

mod series;
mod steps;
pub(super) mod trees;

use super::format::{bytes, decimal, digits, percent, time};
use super::names::{self, LineName};
use super::{MeasuredCase, ModeledCase, PublishedRow, TablePlacement, Traffic, UpdateCost};
pub(super) use series::{prepared, published_series, series};
use sotto_core::ExpectOrDefault;
pub(super) use steps::{break_evens, published_break_evens, published_steps, stepped};

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// Maximum number of stages that get a column.
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

/// Adds a line, preceded by its heading if one is due.
fn add(table: &mut Table, named: LineName, cells: impl IntoIterator<Item = String>) {
    if let Some(heading) = named.heading {
        table.add_row([heading]);
    }
    table.add_row(std::iter::once(named.name).chain(cells));
}

/// The comparison of schemes, one line to a scheme, as in the papers' own tables.
pub(super) fn compared(measured: &[MeasuredCase]) -> Table {
    let header = ["case", "s/GiB", "keys", "up", "down", "rate", "client", "server", "GB/s"];
    let mut table = grid(&header, 1);
    for (named, case) in names::measured(measured).into_iter().zip(measured) {
        let t = &case.traffic;
        let first = case.batches.first();
        let cells = [
            digits(case.offline.scheme_per_gib_s),
            bytes(t.once_bytes.saturating_add(t.keys_bytes)),
            bytes(t.up_bytes),
            bytes(t.down_bytes),
            digits(case.rate_ratio),
            time(case.client_query_ms + case.client_recover_ms),
            first.map_or("-".to_owned(), |batch| time(batch.server_ms)),
            first.map_or("-".to_owned(), |batch| digits(batch.aggregate_gb_per_s)),
        ];
        add(&mut table, named, cells);
    }
    table
}

/// The work and the data of a client, and the server's data about it.
pub(super) fn client(measured: &[MeasuredCase]) -> Table {
    let header = ["case", "keygen", "keys", "admit", "held", "query", "recover", "rate"];
    let mut table = grid(&header, 1);
    for (named, case) in names::measured(measured).into_iter().zip(measured) {
        let (joining, t) = (&case.joining, &case.traffic);
        let keyed = |text: String| if t.keys_bytes > 0 { text } else { "-".to_owned() };
        let cells = [
            keyed(time(joining.keygen_ms)),
            keyed(bytes(t.keys_bytes)),
            keyed(time(joining.admit_ms)),
            keyed(bytes(joining.session_bytes)),
            time(case.client_query_ms),
            time(case.client_recover_ms),
            digits(case.rate_ratio),
        ];
        add(&mut table, named, cells);
    }
    table
}

pub(super) fn online(measured: &[MeasuredCase]) -> Table {
    let header = ["case", "batch", "server", "best", "each", "GB/s", "pages", "of read", "vs 1"];
    let mut table = grid(&header, 1);
    for (named, case) in names::measured(measured).into_iter().zip(measured) {
        let mut named = Some(named);
        // Pages, like the name, are written once.
        let mut pages = case.held.as_ref().map(TablePlacement::word);
        for batch in &case.batches {
            let cells = [
                batch.batch_count.to_string(),
                time(batch.server_ms),
                time(batch.server_least_ms),
                time(batch.per_lookup_ms),
                digits(batch.aggregate_gb_per_s),
                pages.take().unwrap_or_default(),
                percent(batch.of_read_memory_ratio),
                digits(batch.batching_ratio),
            ];
            // The name is written once, before the first batch size.
            let blank = || LineName { heading: None, name: String::new() };
            add(&mut table, named.take().unwrap_or_else(blank), cells);
        }
    }
    table
}

pub(super) fn traffic(measured: &[MeasuredCase]) -> Table {
    let mut table = grid(&["way", "server", "once", "up", "down", "1st", "100th"], 1);
    let line = |title: &str, server_ms: f64, t: &Traffic| {
        let totals = [
            t.once_bytes.saturating_add(t.keys_bytes),
            t.up_bytes,
            t.down_bytes,
            t.total_1st_bytes,
            t.total_100th_bytes,
        ];
        let mut row = vec![format!(" {title}"), time(server_ms)];
        row.extend(totals.map(bytes));
        row
    };
    for cases in measured.chunk_by(|a, b| a.table == b.table) {
        let Some(last) = cases.last() else { continue };
        table.add_row([format!("{}:", names::with_id(&last.table))]);
        for case in cases {
            let server_ms = case.batches.first().map_or(f64::NAN, |b| b.server_ms);
            let threads =
                if case.threads_count > 1 { format!(", {} thr", case.threads_count) } else { String::new() };
            table.add_row(line(&format!("{}{threads}", case.method.title), server_ms, &case.traffic));
        }
        // Costs that do not depend on the scheme are written once.
        for baseline in &last.baselines {
            table.add_row(line(baseline.name, baseline.server_ms, &baseline.traffic));
        }
    }
    table
}

pub(super) fn offline(measured: &[MeasuredCase]) -> Table {
    // Stages have the scheme's own names, so the columns are the stages that occur.
    let mut stages: Vec<&str> = Vec::new();
    for stage in measured.iter().flat_map(|m| &m.offline.stages) {
        if !stages.contains(&stage.name.as_str()) && stages.len() < STAGES {
            stages.push(&stage.name);
        }
    }
    let header: Vec<&str> =
        ["case", "encode s", "s/GiB"].into_iter().chain(stages.iter().copied()).chain(["rows"]).collect();
    let mut table = grid(&header, 1);
    for (named, case) in names::measured(measured).into_iter().zip(measured) {
        let offline = &case.offline;
        let mut row = vec![digits(offline.total_s), digits(offline.scheme_per_gib_s)];
        row.extend(stages.iter().map(|name| {
            let found = offline.stages.iter().find(|stage| stage.name == *name);
            found.map_or_else(String::new, |stage| digits(stage.total_s))
        }));
        row.push(digits(offline.generating_s));
        add(&mut table, named, row);
    }
    table
}

pub(super) fn memory(measured: &[MeasuredCase]) -> Table {
    let mut table = grid(&["case", "image", "encoding", "serving", "open ms", "ready ms"], 1);
    for (named, case) in names::measured(measured).into_iter().zip(measured) {
        let offline = &case.offline;
        let over_image = |memory: Option<u64>| {
            memory
                .map_or("-".to_owned(), |m| format!("{:.2} x", m as f64 / offline.image_bytes.max(1) as f64))
        };
        let cells = [
            bytes(offline.image_bytes),
            over_image(offline.peak_memory_bytes),
            over_image(case.server_memory_bytes),
            digits(offline.open_ms),
            digits(case.joining.prepare_ms),
        ];
        add(&mut table, named, cells);
    }
    table
}

pub(super) fn updates(measured: &[MeasuredCase]) -> Table {
    let mut table = grid(&["case", "rows changed", "next s", "scheme s", "delta", "hint", "patch ms"], 1);
    let updated: Vec<(&MeasuredCase, &UpdateCost)> =
        measured.iter().filter_map(|case| Some((case, case.update.as_ref()?))).collect();
    let names = names::of(updated.iter().map(|(case, _)| names::line(case)).collect());
    for (named, (_, update)) in names.into_iter().zip(&updated) {
        // Where clients hold nothing, nothing moves to the next epoch.
        let held = |text: String| if update.held_bytes > 0 { text } else { "-".to_owned() };
        let cells = [
            update.changed_rows_count.to_string(),
            digits(update.total_s),
            digits(update.revise_s),
            held(bytes(update.delta_bytes)),
            held(bytes(update.held_bytes)),
            held(digits(update.patch_ms)),
        ];
        add(&mut table, named, cells);
    }
    table
}

pub(super) fn modeled(modeled: &[ModeledCase]) -> Table {
    let header = ["case", "once", "up", "down", "resident", "floor ms", "fails", "security"];
    let mut table = grid(&header, 1);
    for (named, case) in names::modeled(modeled).into_iter().zip(modeled) {
        let t = &case.traffic;
        let cells = [
            bytes(t.once_bytes.saturating_add(t.keys_bytes)),
            bytes(t.up_bytes),
            bytes(t.down_bytes),
            bytes(case.resident_bytes),
            case.read_floor_ms.map_or("-".to_owned(), digits),
            power(case.failure_log2),
            security(case.security_bits),
        ];
        add(&mut table, named, cells);
    }
    table
}

pub(super) fn published(rows: &[PublishedRow]) -> Table {
    let header = ["scheme", "table", "server ms", "offline s", "once", "up", "down", "total", "source"];
    let mut table = grid(&header, 2);
    let sources = sources(rows);
    for row in rows.iter().filter(|row| row.online_ms.is_none()) {
        let size = |n: Option<u64>| n.map_or("-".to_owned(), decimal);
        let once = row.once_bytes.or(row.keys_bytes);
        let source = sources
            .iter()
            .position(|s| s.ends_with(&source(row)))
            .expect_or_default("every line has its source among them");
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
