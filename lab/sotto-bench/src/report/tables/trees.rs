//! Trees: a grid for each question, a column for each tree, ours above published ones.

use super::grid;
use crate::report::format::{decimal, time};
use crate::report::trees::{PublishedTree, QUESTIONS, Question, Tree, TreeFigures, TreeMeasured, Trees};
use comfy_table::Table;
use sotto_core::ExpectOrDefault;

/// Maximum number of trees side by side.
const COLUMNS: usize = 7;

/// A question with its answers.
pub(in crate::report) struct QuestionGrid {
    pub(in crate::report) title: String,
    pub(in crate::report) note: &'static str,
    pub(in crate::report) measured: Table,
    pub(in crate::report) published: Option<Table>,
}

/// A line's name, its tree and its figures.
type Cell<'a> = (String, &'a Tree, &'a TreeFigures);

/// All questions with answers.
pub(in crate::report) fn answered(trees: &Trees) -> Vec<QuestionGrid> {
    let sources = sources(&trees.published);
    let ours: Vec<Cell<'_>> = trees.measured.iter().map(|m| (name(m), &m.tree, &m.figures)).collect();
    let theirs: Vec<Cell<'_>> = trees
        .published
        .iter()
        .map(|p| {
            let number = sources
                .iter()
                .position(|text| text.ends_with(&source(p)))
                .expect_or_default("every line has its source among them");
            (format!("{} [T{}]", p.line, number + 1), &p.tree, &p.figures)
        })
        .collect();
    let mut all = Vec::new();
    for question in QUESTIONS {
        let mut columns: Vec<&Tree> = Vec::new();
        for (_, tree, figures) in &ours {
            if (question.of)(figures).is_some() && !columns.contains(tree) {
                columns.push(tree);
            }
        }
        columns.sort_by_key(|tree| (tree.arity_count, tree.height_count));
        // Binary trees are in grids of their own, and the others together.
        for kind in columns.chunk_by(|a, b| (a.arity_count == 2) == (b.arity_count == 2)) {
            for part in kind.chunks(COLUMNS) {
                let Some(measured) = table(question, part, &ours) else { continue };
                all.push(QuestionGrid {
                    title: question.title.to_owned(),
                    note: question.note,
                    measured,
                    published: table(question, part, &theirs),
                });
            }
        }
    }
    all
}

/// The grid of a question, one line for each name; unknown figures stay blank. None if all are.
fn table(question: &Question, columns: &[&Tree], cells: &[Cell<'_>]) -> Option<Table> {
    let header: Vec<&str> =
        std::iter::once("leaves").chain(columns.iter().map(|tree| tree.name.as_str())).collect();
    let mut table = grid(&header, 1);
    let mut names: Vec<&str> = Vec::new();
    for (name, tree, figures) in cells {
        if columns.contains(tree) && (question.of)(figures).is_some() && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in &names {
        let value = |column: &&Tree| {
            let found = cells.iter().filter(|(own, tree, _)| own == name && tree == column);
            found.filter_map(|(_, _, figures)| (question.of)(figures)).next()
        };
        let shown = |value: f64| if question.bytes { decimal(value as u64) } else { time(value) };
        let row = columns.iter().map(|column| value(column).map_or_else(String::new, shown));
        table.add_row(std::iter::once((*name).to_owned()).chain(row));
    }
    (!names.is_empty()).then_some(table)
}

fn name(measured: &TreeMeasured) -> String {
    match measured.threads_count {
        1 => measured.line.clone(),
        n => format!("{}, {n} thr", measured.line),
    }
}

/// The sources of published lines, numbered.
pub(in crate::report) fn sources(published: &[PublishedTree]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for row in published {
        if !found.contains(&source(row)) {
            found.push(source(row));
        }
    }
    found.iter().enumerate().map(|(i, text)| format!("[T{}] {text}", i + 1)).collect()
}

fn source(row: &PublishedTree) -> String {
    let threads = if row.threads_count == 1 {
        "one thread".to_owned()
    } else {
        format!("{} threads", row.threads_count)
    };
    format!("{}; {}, {threads}", row.source, row.machine)
}

/// The layout of each stack's tables: lookups, and rows read for one.
pub(in crate::report) fn stacks(measured: &[TreeMeasured]) -> Table {
    let header = ["leaves", "way", "tables", "lookups", "rows in all", "of the nodes"];
    let mut table = grid(&header, 2);
    let mut listed: Vec<(&str, &str)> = Vec::new();
    for m in measured.iter().filter(|m| m.tables_count > 0) {
        if listed.contains(&(&m.tree.name, m.method)) {
            continue;
        }
        listed.push((&m.tree.name, m.method));
        table.add_row([
            m.tree.name.clone(),
            m.method.to_owned(),
            m.tables_count.to_string(),
            m.lookups_count.to_string(),
            m.written_rows_count.to_string(),
            format!("{:.2} x", m.written_rows_count as f64 / m.tree.nodes_count.max(1) as f64),
        ]);
    }
    table
}
