//! Other people's figures for proofs in trees, from `lab/sotto-bench/published-trees.toml`.

use crate::error::BenchError;
use crate::report::{PublishedTree, Tree, TreeFigures, TreeMeasured};
use serde::Deserialize;
use sotto_tree::PerfectTree;

const TEXT: &str = include_str!("../published-trees.toml");

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
    row: Vec<RowText>,
}

/// A line of a published table: a figure for each height.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowText {
    line: String,
    arity: u16,
    heights: Vec<u8>,
    setup_ms: Option<Vec<f64>>,
    index_ms: Option<Vec<f64>>,
    query_ms: Option<Vec<f64>>,
    extract_ms: Option<Vec<f64>>,
    max_server_ms: Option<Vec<f64>>,
    total_server_ms: Option<Vec<f64>>,
    up_kb: Option<Vec<f64>>,
    down_kb: Option<Vec<f64>>,
}

/// The published lines about trees of this run, with the figures that the run has too.
pub(crate) fn beside(measured: &[TreeMeasured]) -> Result<Vec<PublishedTree>, BenchError> {
    let all = parse(TEXT)?;
    let kept = all.into_iter().filter_map(|mut row| {
        let ours =
            |of: fn(&TreeFigures) -> bool| measured.iter().any(|m| m.tree == row.tree && of(&m.figures));
        let given = row.figures;
        let keep = |some: bool, value: Option<f64>| value.filter(|_| some);
        row.figures = TreeFigures {
            setup_ms: keep(ours(|f| f.setup_ms.is_some()), given.setup_ms),
            index_ms: keep(ours(|f| f.index_ms.is_some()), given.index_ms),
            query_ms: keep(ours(|f| f.query_ms.is_some()), given.query_ms),
            extract_ms: keep(ours(|f| f.extract_ms.is_some()), given.extract_ms),
            max_server_ms: keep(ours(|f| f.max_server_ms.is_some()), given.max_server_ms),
            total_server_ms: keep(ours(|f| f.total_server_ms.is_some()), given.total_server_ms),
            up_bytes: given.up_bytes.filter(|_| ours(|f| f.up_bytes.is_some())),
            down_bytes: given.down_bytes.filter(|_| ours(|f| f.down_bytes.is_some())),
            ..TreeFigures::default()
        };
        (row.figures != TreeFigures::default()).then_some(row)
    });
    Ok(kept.collect())
}

fn parse(text: &str) -> Result<Vec<PublishedTree>, BenchError> {
    let refuse = |why: String| BenchError::Published { file: "lab/sotto-bench/published-trees.toml", why };
    let text: Text = toml::from_str(text).map_err(|e| refuse(e.to_string()))?;
    let mut rows = Vec::new();
    for source in &text.source {
        for row in &source.row {
            let lists = [
                &row.setup_ms,
                &row.index_ms,
                &row.query_ms,
                &row.extract_ms,
                &row.max_server_ms,
                &row.total_server_ms,
                &row.up_kb,
                &row.down_kb,
            ];
            if lists.into_iter().flatten().any(|list| list.len() != row.heights.len()) {
                return Err(refuse(format!("{}: expected a figure for each height", row.line)));
            }
            for (i, height) in row.heights.iter().enumerate() {
                let shape = PerfectTree::new(row.arity, *height).map_err(|e| refuse(e.to_string()))?;
                let at = |list: &Option<Vec<f64>>| list.as_ref().and_then(|list| list.get(i)).copied();
                let bytes = |list| at(list).map(|kb| (kb * 1000.0) as u64);
                rows.push(PublishedTree {
                    tree: Tree::of(shape),
                    line: row.line.clone(),
                    figures: TreeFigures {
                        setup_ms: at(&row.setup_ms),
                        index_ms: at(&row.index_ms),
                        query_ms: at(&row.query_ms),
                        extract_ms: at(&row.extract_ms),
                        max_server_ms: at(&row.max_server_ms),
                        total_server_ms: at(&row.total_server_ms),
                        up_bytes: bytes(&row.up_kb),
                        down_bytes: bytes(&row.down_kb),
                        ..TreeFigures::default()
                    },
                    machine: source.machine.clone(),
                    threads_count: source.threads,
                    source: source.name.clone(),
                });
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_line_names_its_source_and_says_something() {
        let rows = parse(TEXT).unwrap();
        assert!(rows.len() > 100, "{}", rows.len());
        for row in &rows {
            assert!(row.source.contains("newPIR/TreePIR") || row.source.contains("qTreePIR"), "{row:?}");
            assert!(!row.machine.is_empty() && row.figures != TreeFigures::default(), "{row:?}");
        }
    }

    #[test]
    fn only_figures_of_trees_and_kinds_that_were_measured_stand_beside_ours() {
        let tree = |height| Tree::of(PerfectTree::new(2, height).unwrap());
        let mut ours = TreeMeasured::new(tree(20), "colors", "colors".into(), 1);
        ours.figures.setup_ms = Some(1.0);
        let rows = beside(&[ours]).unwrap();
        assert!(rows.iter().any(|row| row.line == "PBC" && row.figures.setup_ms == Some(9259.0)));
        assert!(rows.iter().all(|row| row.tree == tree(20) && row.figures.index_ms.is_none()));
        assert_eq!(beside(&[TreeMeasured::new(tree(20), "colors", String::new(), 1)]).unwrap(), []);
    }

    #[test]
    fn a_line_with_a_figure_too_few_is_refused() {
        let text = "[[source]]\nname = \"x\"\nmachine = \"y\"\nthreads = 1\n[[source.row]]\nline = \"l\"\narity = 2\n";
        for (bad, why) in [
            ("heights = [3, 4]\nsetup_ms = [1]", "for each height"),
            ("heights = [60]\nsetup_ms = [1]", "2^40"),
            ("heights = [3]\nsetup_s = [1]", "unknown field"),
        ] {
            let error = parse(&format!("{text}{bad}")).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("published-trees"), "{error}");
        }
    }
}
