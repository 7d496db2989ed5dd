//! The grids of clients that prepare once and make many lookups.

use super::super::format::{bytes, decimal, time};
use super::super::{MeasuredCase, PublishedRow, SeriesReport, names};
use super::{LineName, add, grid, source, sources};
use comfy_table::Table;
use sotto_core::ExpectOrDefault;

/// The costs of preparing a client that makes many lookups.
pub(in crate::report) fn prepared(measured: &[MeasuredCase]) -> Table {
    let mut table = grid(&["case", "keeps", "travels", "client", "helper", "orders", "good for"], 1);
    for (named, series) in in_a_row(measured) {
        let supplied = series.supplied.as_ref();
        let cells = [
            bytes(series.state_bytes),
            bytes(series.prepare_bytes),
            time(series.prepare_ms),
            supplied.map_or_else(dash, |supplied| time(supplied.server_ms)),
            supplied.map_or_else(dash, |supplied| supplied.orders_count.to_string()),
            if series.budget_count > 0 { series.budget_count.to_string() } else { "unlimited".to_owned() },
        ];
        add(&mut table, named, cells);
    }
    table
}

/// Consecutive lookups, and their share of the preparation.
pub(in crate::report) fn series(measured: &[MeasuredCase]) -> Table {
    let mut table = grid(&["case", "query", "server", "recover", "online", "each", "bytes each"], 1);
    for (named, series) in in_a_row(measured) {
        let cells = [
            time(series.query_ms),
            time(series.server_ms),
            time(series.recover_ms),
            time(series.online_ms),
            series.amortized_ms.map_or_else(dash, time),
            series.amortized_bytes.map_or_else(dash, |each| bytes(each as u64)),
        ];
        add(&mut table, named, cells);
    }
    table
}

fn in_a_row(measured: &[MeasuredCase]) -> Vec<(LineName, &SeriesReport)> {
    let found: Vec<(&MeasuredCase, &SeriesReport)> =
        measured.iter().filter_map(|case| Some((case, case.series.as_ref()?))).collect();
    let names = names::of(found.iter().map(|(case, _)| names::line(case)).collect());
    names.into_iter().zip(found).map(|(named, (_, series))| (named, series)).collect()
}

fn dash() -> String {
    "-".to_owned()
}

/// Published figures of clients that prepare once.
pub(in crate::report) fn published_series(rows: &[PublishedRow]) -> Table {
    let header = ["scheme", "table", "keeps", "before", "prepare", "online", "travels", "each B", "source"];
    let mut table = grid(&header, 2);
    let sources = sources(rows);
    for row in rows.iter().filter(|row| row.online_ms.is_some()) {
        let size = |n: Option<u64>| n.map_or("-".to_owned(), decimal);
        let duration = |ms: Option<f64>| ms.map_or("-".to_owned(), time);
        let source = sources
            .iter()
            .position(|s| s.ends_with(&source(row)))
            .expect_or_default("every line has its source among them");
        table.add_row([
            row.scheme.clone(),
            row.shape.clone(),
            size(row.storage_bytes),
            size(row.once_bytes),
            duration(row.offline_s.map(|s| s * 1e3)),
            duration(row.online_ms),
            size(row.total_bytes),
            size(row.amortized_bytes),
            format!("[{}]", source + 1),
        ]);
    }
    table
}
