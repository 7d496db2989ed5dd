//! Tables that read well without colour, in a hundred columns.

use comfy_table::{CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle};

/// No frame: one rule under the heading, and two blanks between columns.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction(' '))
    .header_separator(LineStyle::none().fill('-').junction(' '))
    .content_lines(ContentLineStyle::none().junction(' '));

/// A table with a heading and a rule under it. `columns`: heading, and whether it holds numbers (which
/// are set flush right).
pub(crate) fn grid(columns: &[(&str, bool)], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|(name, _)| *name));
    for row in rows {
        table.add_row(row);
    }
    for (i, (_, number)) in columns.iter().enumerate() {
        if let Some(column) = table.column_mut(i) {
            column.set_padding((1, 0));
            if *number {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table.trim_fmt()
}

/// Facts, one to a line: `  name    value`.
pub(crate) fn facts<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines: Vec<_> = rows.iter().map(|(name, value)| format!("  {name:<width$}  {value}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_flush_right() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["bb".to_owned(), "100".to_owned()]];
        let text = grid(&[("name", false), ("n", true)], rows);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[2].ends_with("  1") && lines[3].ends_with("100"), "{text}");
    }

    #[test]
    fn facts_line_up() {
        let text = facts([("a", "1".to_owned()), ("long", "2".to_owned())]);
        assert_eq!(text, "  a     1\n  long  2");
    }
}
