//! Other people's figures, as they published them, from `bench/published.toml`.

pub(crate) mod tree;

use crate::error::BenchError;
use crate::report::{self, Step, TableFacts};
use serde::{Deserialize, Serialize};

const TEXT: &str = include_str!("../../../bench/published.toml");

/// One published row. Fields the source does not give are absent, never estimated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedRow {
    /// The scheme, by its paper's name.
    pub scheme: String,
    /// The shape in words: `2^20 x 256 B`.
    pub shape: String,
    /// Rows of the table.
    pub rows_count: u64,
    /// Bits in a row.
    pub row_bits: u64,
    /// Threads of the server.
    pub threads_count: u64,
    /// Time of the server for one lookup.
    pub server_ms: Option<f64>,
    /// Offline work of the server.
    pub offline_s: Option<f64>,
    /// Bytes that a client downloads once.
    pub once_bytes: Option<u64>,
    /// Bytes that a client uploads once.
    pub keys_bytes: Option<u64>,
    /// Bytes of queries, per lookup.
    pub up_bytes: Option<u64>,
    /// Bytes of answers, per lookup.
    pub down_bytes: Option<u64>,
    /// Bytes in both directions, where the source prints only their sum.
    pub total_bytes: Option<u64>,
    /// Bytes that a client stores which prepares once and makes many lookups.
    pub storage_bytes: Option<u64>,
    /// Time of client and server, for one lookup after a preparation.
    pub online_ms: Option<f64>,
    /// Bytes of a lookup with its share of the preparation.
    pub amortized_bytes: Option<u64>,
    /// Steps of the server's time, where they are given.
    pub steps: Vec<Step>,
    /// The machine of the measurement.
    pub machine: String,
    /// The publication that has the figures.
    pub source: String,
    /// Whether narrower rows are packed into its rows.
    pub packs: bool,
}

impl PublishedRow {
    /// Whether the row is comparable with a table: of the same rows, or of rows that would be
    /// packed into its own.
    fn beside(&self, table: &TableFacts) -> bool {
        let bits = |rows: u64, row_bits: u64| u128::from(rows) * u128::from(row_bits);
        let packed = self.packs
            && self.row_bits.is_multiple_of(table.row_bits.max(1))
            && bits(self.rows_count, self.row_bits) == bits(table.rows_count, table.row_bits);
        packed || (table.rows_count == self.rows_count && table.row_bits == self.row_bits)
    }
}

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
    rows.retain(|row| tables.iter().any(|table| row.beside(table)));
    sort(&mut rows);
    Ok(rows)
}

/// Small tables first, and within a shape as in the file.
pub(crate) fn sort(rows: &mut [PublishedRow]) {
    rows.sort_by_key(|row| (row.rows_count.saturating_mul(row.row_bits), row.row_bits));
}

fn parse(text: &str) -> Result<Vec<PublishedRow>, BenchError> {
    let refuse = |why| BenchError::Published { file: "bench/published.toml", why };
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
