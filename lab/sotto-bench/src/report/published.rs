//! The published tier: other people's figures, as they published them, from
//! `lab/sotto-bench/published.toml`.

use super::grid::shape;
use super::{Step, TableFacts, Tree, TreeFigures, TreeMeasured};
use crate::error::BenchError;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value, json};
use sotto_tree::PerfectTree;
use std::collections::BTreeMap;

const FILE: &str = include_str!("../../published.toml");

/// One published row. Fields the source does not give are absent, never estimated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// The scheme, by its paper's name.
    pub scheme: String,
    /// The shape in words: `2^20 x 256 B`.
    #[serde(skip_deserializing)]
    pub shape: String,
    /// Rows of the table.
    #[serde(rename(deserialize = "log2_rows"), deserialize_with = "power_of_two")]
    pub rows_count: u64,
    /// Bits in a row.
    pub row_bits: u64,
    /// Threads of the server.
    #[serde(skip_deserializing)]
    pub threads_count: u64,
    /// Time of the server for one lookup.
    pub server_ms: Option<f64>,
    /// Offline work of the server.
    pub offline_s: Option<f64>,
    /// Bytes that a client downloads once.
    #[serde(rename(deserialize = "once_kb"), deserialize_with = "kb", default)]
    pub once_bytes: Option<u64>,
    /// Bytes that a client uploads once.
    #[serde(rename(deserialize = "keys_kb"), deserialize_with = "kb", default)]
    pub keys_bytes: Option<u64>,
    /// Bytes of queries, per lookup.
    #[serde(rename(deserialize = "up_kb"), deserialize_with = "kb", default)]
    pub up_bytes: Option<u64>,
    /// Bytes of answers, per lookup.
    #[serde(rename(deserialize = "down_kb"), deserialize_with = "kb", default)]
    pub down_bytes: Option<u64>,
    /// Bytes in both directions, where the source prints only their sum.
    #[serde(rename(deserialize = "total_kb"), deserialize_with = "kb", default)]
    pub total_bytes: Option<u64>,
    /// Bytes that a client stores which prepares once and makes many lookups.
    #[serde(rename(deserialize = "storage_kb"), deserialize_with = "kb", default)]
    pub storage_bytes: Option<u64>,
    /// Time of client and server, for one lookup after a preparation.
    pub online_ms: Option<f64>,
    /// Bytes of a lookup with its share of the preparation.
    #[serde(rename(deserialize = "amortized_kb"), deserialize_with = "kb", default)]
    pub amortized_bytes: Option<u64>,
    /// Steps of the server's time, where they are given.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The machine of the measurement.
    #[serde(skip_deserializing)]
    pub machine: String,
    /// The publication that has the figures.
    #[serde(skip_deserializing)]
    pub source: String,
    /// Whether narrower rows are packed into its rows.
    #[serde(skip_deserializing)]
    pub packs: bool,
}

/// A published line about one tree.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct PublishedTree {
    /// The tree of the line.
    pub tree: Tree,
    /// The line's name in its source.
    pub line: String,
    /// The published figures; fields that the source does not give are absent, never estimated.
    pub figures: TreeFigures,
    /// The machine of the measurement.
    pub machine: String,
    /// Threads of the server.
    pub threads_count: u64,
    /// The publication that has the figures.
    pub source: String,
}

fn power_of_two<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let log2 = u32::deserialize(deserializer)?;
    let refuse = || D::Error::custom(format!("log2_rows is {log2}, at most 63 is allowed"));
    1u64.checked_shl(log2).ok_or_else(refuse)
}

fn kb<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.map(|kb| (kb * 1000.0) as u64))
}

/// The file of published figures: rows and lines about trees, by their sources.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
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
    #[serde(default)]
    row: Vec<PublishedRow>,
    #[serde(default)]
    tree: Vec<TreeText>,
}

/// A line of a published table: figures for each height, by their names.
#[derive(Deserialize)]
struct TreeText {
    line: String,
    arity: u16,
    heights: Vec<u8>,
    #[serde(flatten)]
    figures: BTreeMap<String, Vec<f64>>,
}

impl PublishedRow {
    /// The published rows that are comparable with any of `tables`, small tables first, and within
    /// a shape as in the file.
    pub(crate) fn beside(tables: &[TableFacts]) -> Result<Vec<Self>, BenchError> {
        let (mut rows, _) = parse(FILE)?;
        rows.retain(|row| tables.iter().any(|table| row.is_comparable(table)));
        PublishedRow::sort(&mut rows);
        Ok(rows)
    }

    /// Whether the row is comparable with a table: of the same rows, or of rows that would be
    /// packed into its own.
    fn is_comparable(&self, table: &TableFacts) -> bool {
        let bits = |rows: u64, row_bits: u64| u128::from(rows) * u128::from(row_bits);
        let packed = self.packs
            && self.row_bits.is_multiple_of(table.row_bits.max(1))
            && bits(self.rows_count, self.row_bits) == bits(table.rows_count, table.row_bits);
        packed || (table.rows_count == self.rows_count && table.row_bits == self.row_bits)
    }

    /// Small tables first.
    pub(super) fn sort(rows: &mut [Self]) {
        rows.sort_by_key(|row| (row.rows_count.saturating_mul(row.row_bits), row.row_bits));
    }

    /// Bytes in both directions.
    pub(super) fn moved_bytes(&self) -> Option<u64> {
        self.total_bytes.or_else(|| Some(self.up_bytes? + self.down_bytes?))
    }

    /// Publication and machine.
    pub(super) fn origin(&self) -> String {
        origin(&self.source, &self.machine, self.threads_count)
    }
}

impl PublishedTree {
    /// The published lines about trees of this run, with the figures that the run has too.
    pub(crate) fn beside(measured: &[TreeMeasured]) -> Result<Vec<Self>, BenchError> {
        let figures = |figures: &TreeFigures| match json!(figures) {
            Value::Object(figures) => figures.into_iter().filter(|(_, figure)| !figure.is_null()).collect(),
            _ => Map::new(),
        };
        let (_, trees) = parse(FILE)?;
        let kept = trees.into_iter().filter_map(|mut row| {
            let same = measured.iter().filter(|m| m.tree == row.tree).map(|m| figures(&m.figures));
            let ours: Vec<Map<String, Value>> = same.collect();
            let mut common = figures(&row.figures);
            common.retain(|name, _| ours.iter().any(|figures| figures.contains_key(name)));
            row.figures = serde_json::from_value(Value::Object(common)).ok()?;
            (row.figures != TreeFigures::default()).then_some(row)
        });
        Ok(kept.collect())
    }

    /// Publication and machine.
    pub(super) fn origin(&self) -> String {
        origin(&self.source, &self.machine, self.threads_count)
    }
}

fn origin(source: &str, machine: &str, threads: u64) -> String {
    let threads = if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") };
    format!("{source}; {machine}, {threads}")
}

/// All rows, and all lines about trees, one for each height.
fn parse(text: &str) -> Result<(Vec<PublishedRow>, Vec<PublishedTree>), BenchError> {
    let refuse = |why: String| BenchError::Published(why);
    let file: FileText = toml::from_str(text).map_err(|e| refuse(e.to_string()))?;
    let (mut rows, mut trees) = (Vec::new(), Vec::new());
    for SourceText { name, machine, threads, packs, row, tree } in file.source {
        rows.extend(row.into_iter().map(|row| PublishedRow {
            shape: shape(row.rows_count, row.row_bits),
            threads_count: threads,
            machine: machine.clone(),
            source: name.clone(),
            packs,
            ..row
        }));
        for TreeText { line, arity, heights, figures } in tree {
            if figures.values().any(|list| list.len() != heights.len()) {
                return Err(refuse(format!("{line}: expected a figure for each height")));
            }
            for (i, height) in heights.into_iter().enumerate() {
                let shape = PerfectTree::new(arity, height).map_err(|e| refuse(e.to_string()))?;
                let figure = |(name, list): (&String, &Vec<f64>)| {
                    let value = list.get(i).copied().unwrap_or_default();
                    match name.strip_suffix("_kb") {
                        Some(name) => (format!("{name}_bytes"), json!((value * 1000.0) as u64)),
                        None => (name.clone(), json!(value)),
                    }
                };
                let figures = Value::Object(figures.iter().map(figure).collect());
                trees.push(PublishedTree {
                    tree: Tree::of(shape),
                    line: line.clone(),
                    figures: serde_json::from_value(figures).map_err(|e| refuse(e.to_string()))?,
                    machine: machine.clone(),
                    threads_count: threads,
                    source: name.clone(),
                });
            }
        }
    }
    Ok((rows, trees))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_line_names_its_source_and_machine() {
        let (rows, trees) = parse(FILE).unwrap();
        assert!(rows.len() >= 30);
        for row in &rows {
            let origins = ["eprint", "USENIX", "CCS", "ESORICS", "run by this project"];
            assert!(origins.iter().any(|origin| row.source.contains(origin)), "{row:?}");
            assert!(!row.machine.is_empty() && row.threads_count == 1, "{row:?}");
            assert!(row.server_ms.or(row.online_ms).is_some_and(|ms| ms > 0.0), "{row:?}");
        }
        assert!(trees.len() > 100, "{}", trees.len());
        for row in &trees {
            assert!(row.source.contains("newPIR/TreePIR") || row.source.contains("qTreePIR"), "{row:?}");
            assert!(!row.machine.is_empty() && row.figures != TreeFigures::default(), "{row:?}");
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
        let beside = |table| PublishedRow::beside(&[table]).unwrap();
        let rows = beside(table(1 << 20, 2048));
        assert!(rows.iter().any(|r| r.scheme == "Spiral"));
        assert!(rows.iter().all(|r| r.packs || (r.rows_count == 1 << 20 && r.row_bits == 2048)));
        // Programs that were run on records of 8 KiB, into each of which 32 such rows are packed.
        assert!(rows.iter().any(|r| r.scheme == "spiral-rs" && r.row_bits == 65536));
        assert!(rows.iter().all(|r| r.rows_count * r.row_bits == 1 << 31));
        assert!(beside(table(1 << 21, 1024)).iter().all(|r| r.packs));
        assert!(!beside(table(1 << 14, 1 << 17)).iter().any(|r| r.packs), "wider rows");
        assert_eq!(beside(table(3, 8)), []);
    }

    #[test]
    fn only_figures_of_trees_and_kinds_that_were_measured_stand_beside_ours() {
        let tree = |height| Tree::of(PerfectTree::new(2, height).unwrap());
        let mut ours = TreeMeasured::new(tree(20), "colors", "colors".into(), 1);
        ours.figures.setup_ms = Some(1.0);
        let rows = PublishedTree::beside(&[ours]).unwrap();
        assert!(rows.iter().any(|row| row.line == "PBC" && row.figures.setup_ms == Some(9259.0)));
        assert!(rows.iter().all(|row| row.tree == tree(20) && row.figures.index_ms.is_none()));
        let nothing = TreeMeasured::new(tree(20), "colors", String::new(), 1);
        assert_eq!(PublishedTree::beside(&[nothing]).unwrap(), []);
    }

    #[test]
    fn damaged_files_are_refused() {
        let error = |text: String| {
            let source = "[[source]]\nname = \"x\"\nmachine = \"y\"\nthreads = 1\n";
            parse(&format!("{source}{text}")).unwrap_err().to_string()
        };
        for (bad, why) in
            [("log2_rows = 64", "at most 63"), ("log2_rows = 3\nserver_s = 1.0", "unknown field")]
        {
            let error = error(format!("[[source.row]]\nscheme = \"s\"\nrow_bits = 8\n{bad}"));
            assert!(error.contains(why), "{error}");
        }
        for (bad, why) in [
            ("heights = [3, 4]\nsetup_ms = [1]", "for each height"),
            ("heights = [60]\nsetup_ms = [1]", "2^40"),
            ("heights = [3]\nsetup_s = [1]", "unknown field"),
        ] {
            let error = error(format!("[[source.tree]]\nline = \"l\"\narity = 2\n{bad}"));
            assert!(error.contains(why) && error.contains("published.toml"), "{error}");
        }
    }
}
