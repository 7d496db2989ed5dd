//! Other people's figures, as they published them, from `lab/sotto-bench/published.toml`.

use crate::error::BenchError;
use crate::report::{self, PublishedRow, Step, TableFacts};
use serde::Deserialize;

const TEXT: &str = include_str!("../published.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    source: Vec<SourceText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceText {
    name: String,
    machine: String,
    threads: u64,
    #[serde(default)]
    packs: bool,
    row: Vec<RowText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowText {
    scheme: String,
    log2_rows: u32,
    row_bits: u64,
    server_ms: Option<f64>,
    offline_s: Option<f64>,
    once_kb: Option<f64>,
    keys_kb: Option<f64>,
    up_kb: Option<f64>,
    down_kb: Option<f64>,
    total_kb: Option<f64>,
    storage_kb: Option<f64>,
    online_ms: Option<f64>,
    amortized_kb: Option<f64>,
    #[serde(default)]
    steps: Vec<Step>,
}

/// Every published row.
pub(crate) fn all() -> Result<Vec<PublishedRow>, BenchError> {
    parse(TEXT)
}

/// The published rows that are comparable with any of `tables`.
pub(crate) fn for_tables(tables: &[TableFacts]) -> Result<Vec<PublishedRow>, BenchError> {
    let mut rows = all()?;
    rows.retain(|row| tables.iter().any(|table| row.is_comparable(table)));
    PublishedRow::sort(&mut rows);
    Ok(rows)
}

fn parse(text: &str) -> Result<Vec<PublishedRow>, BenchError> {
    let refuse = |why| BenchError::Published { file: "lab/sotto-bench/published.toml", why };
    let text: Text = toml::from_str(text).map_err(|e| refuse(e.to_string()))?;
    let mut rows = Vec::new();
    for source in text.source {
        for row in source.row {
            let rows_count = 1u64.checked_shl(row.log2_rows).ok_or_else(|| {
                refuse(format!("{}: log2_rows is {}, at most 63 is allowed", row.scheme, row.log2_rows))
            })?;
            let bytes = |kb: Option<f64>| kb.map(|kb| (kb * 1000.0) as u64);
            rows.push(PublishedRow {
                shape: report::shape(rows_count, row.row_bits),
                scheme: row.scheme,
                rows_count,
                row_bits: row.row_bits,
                threads_count: source.threads,
                server_ms: row.server_ms,
                offline_s: row.offline_s,
                once_bytes: bytes(row.once_kb),
                keys_bytes: bytes(row.keys_kb),
                up_bytes: bytes(row.up_kb),
                down_bytes: bytes(row.down_kb),
                total_bytes: bytes(row.total_kb),
                storage_bytes: bytes(row.storage_kb),
                online_ms: row.online_ms,
                amortized_bytes: bytes(row.amortized_kb),
                steps: row.steps,
                machine: source.machine.clone(),
                source: source.name.clone(),
                packs: source.packs,
            });
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_row_names_its_source_and_machine() {
        let rows = all().unwrap();
        assert!(rows.len() >= 30);
        for row in &rows {
            let origins = ["eprint", "USENIX", "CCS", "ESORICS", "run by this project"];
            assert!(origins.iter().any(|origin| row.source.contains(origin)), "{row:?}");
            assert!(!row.machine.is_empty() && row.threads_count == 1, "{row:?}");
            assert!(row.server_ms.or(row.online_ms).is_some_and(|ms| ms > 0.0), "{row:?}");
        }
    }

    #[test]
    fn only_rows_of_the_same_shape_stand_beside_ours() {
        let table = |rows_count, row_bits| TableFacts {
            shape: String::new(),
            compare: None,
            rows_count,
            row_bits,
            table_bytes: 0,
        };
        let tables = [table(1 << 20, 2048)];
        let rows = for_tables(&tables).unwrap();
        assert!(rows.iter().any(|r| r.scheme == "Spiral"));
        assert!(rows.iter().all(|r| r.packs || (r.rows_count == 1 << 20 && r.row_bits == 2048)));
        // Programs that were run on records of 8 KiB, into each of which 32 such rows are packed.
        assert!(rows.iter().any(|r| r.scheme == "spiral-rs" && r.row_bits == 65536));
        assert!(rows.iter().all(|r| r.rows_count * r.row_bits == 1 << 31));
        assert!(for_tables(&[table(1 << 21, 1024)]).unwrap().iter().all(|r| r.packs));
        assert!(!for_tables(&[table(1 << 14, 1 << 17)]).unwrap().iter().any(|r| r.packs), "wider rows");
        assert_eq!(for_tables(&[table(3, 8)]).unwrap(), []);
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let text = "[[source]]\nname = \"x\"\nmachine = \"y\"\nthreads = 1\n[[source.row]]\nscheme = \"s\"\nrow_bits = 8\n";
        for (bad, why) in
            [("log2_rows = 64", "at most 63"), ("log2_rows = 3\nserver_s = 1.0", "unknown field")]
        {
            let error = parse(&format!("{text}{bad}")).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
