//! The names of a table's lines. Lines about one table of rows are under its shape; a line on its
//! own includes it.

use super::{FetchMethod, MeasuredCase, ModeledCase, TableFacts};

/// The facts that name a line.
pub(super) struct LineFacts<'a> {
    method: &'a FetchMethod,
    table: &'a TableFacts,
    threads: usize,
}

/// A line's name, and the heading above it where one is due.
pub(super) struct LineName {
    pub(super) heading: Option<String>,
    pub(super) name: String,
}

/// The names of measured cases.
pub(super) fn measured(cases: &[MeasuredCase]) -> Vec<LineName> {
    of(cases.iter().map(line).collect())
}

/// The facts that name a measured line.
pub(super) fn line(case: &MeasuredCase) -> LineFacts<'_> {
    LineFacts { method: &case.method, table: &case.table, threads: case.threads_count }
}

/// The names of modeled cases.
pub(super) fn modeled(cases: &[ModeledCase]) -> Vec<LineName> {
    of(cases.iter().map(|case| LineFacts { method: &case.method, table: &case.table, threads: 1 }).collect())
}

/// Whether any table was measured with several methods.
pub(super) fn compares(cases: &[MeasuredCase]) -> bool {
    cases.windows(2).any(|pair| matches!(pair, [a, b] if a.table == b.table))
}

/// The names of lines, in their order.
pub(super) fn of(lines: Vec<LineFacts<'_>>) -> Vec<LineName> {
    let same = |a: Option<usize>, b: usize| {
        let table = |i: usize| lines.get(i).map(|line| line.table);
        a.is_some_and(|a| table(a).is_some() && table(a) == table(b))
    };
    let one = |(i, LineFacts { method, table, threads }): (usize, &LineFacts<'_>)| {
        let threads = if *threads > 1 { format!(", {threads} thr") } else { String::new() };
        let (above, below) = (same(i.checked_sub(1), i), same(Some(i + 1), i));
        if !above && !below {
            return LineName { heading: None, name: format!("{} {}{threads}", method.title, table.shape) };
        }
        let heading = (!above).then(|| format!("{}:", with_id(table)));
        LineName { heading, name: format!(" {}{threads}", method.title) }
    };
    lines.iter().enumerate().map(one).collect()
}

/// The shape, after its comparison id if it has one.
pub(super) fn with_id(table: &TableFacts) -> String {
    table.compare.as_ref().map_or(table.shape.clone(), |id| format!("{id}: {}", table.shape))
}
