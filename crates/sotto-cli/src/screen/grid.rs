//! Tables in a hundred columns that read well without color.

use comfy_table::{CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle};

/// Style of a table: no frame, one rule under the heading, and two spaces between columns.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction(' '))
    .header_separator(LineStyle::none().fill('-').junction(' '))
    .content_lines(ContentLineStyle::none().junction(' '));

/// A table with a heading and a rule under it. `columns` has the headings, with bars between them;
/// those of numbers, which are aligned right, begin with `>`: `name | >bytes`.
pub(crate) fn grid(columns: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let columns = columns.split(" | ").map(|name| match name.strip_prefix('>') {
        Some(name) => (name, CellAlignment::Right),
        None => (name, CellAlignment::Left),
    });
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.clone().map(|(name, _)| name));
    for row in rows {
        table.add_row(row);
    }
    for (i, (_, alignment)) in columns.enumerate() {
        if let Some(column) = table.column_mut(i) {
            column.set_padding((1, 0));
            column.set_cell_alignment(alignment);
        }
    }
    table.trim_fmt()
}

/// Column at which lines of facts are wrapped.
const WIDTH: usize = 100;

/// Formats facts, one per line: `  name    value`. A long value is wrapped below itself; an empty
/// line separates groups, which share the part of their names before a colon.
pub(crate) fn facts<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let group = |name: &'a str| name.split_once(": ").map(|(group, _)| group);
    let mut lines = Vec::with_capacity(rows.len());
    for (i, (name, value)) in rows.iter().enumerate() {
        let above = i.checked_sub(1).and_then(|above| rows.get(above));
        if above.is_some_and(|(above, _)| group(above) != group(name)) {
            lines.push(String::new());
        }
        let mut value = broken(value, WIDTH.saturating_sub(width + 4)).into_iter();
        lines.push(format!("  {name:<width$}  {}", value.next().unwrap_or_default()));
        lines.extend(value.map(|more| format!("  {:<width$}  {more}", "")));
    }
    lines.join("\n")
}

/// Wraps text into lines of at most `width` characters, except for longer words.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_flush_right() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["bb".to_owned(), "100".to_owned()]];
        let text = grid("name | >n", rows);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[2].ends_with("  1") && lines[3].ends_with("100"), "{text}");
    }

    #[test]
    fn facts_line_up() {
        let text = facts([("a", "1".to_owned()), ("long", "2".to_owned())]);
        assert_eq!(text, "  a     1\n  long  2");
    }
    #[test]
    fn long_facts_go_on_below_themselves_and_groups_stand_apart() {
        let long = "word ".repeat(30);
        let text = facts([("a", long.clone()), ("b: c", "1".to_owned()), ("b: d", "2".to_owned())]);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(lines[1].starts_with("        word"), "{text}");
        assert_eq!(lines[2..], ["", "  b: c  1", "  b: d  2"]);
        assert_eq!(broken(&long, 9).concat().matches("word").count(), 30);
        assert_eq!(broken("unbreakably long", 5), ["unbreakably", "long"]);
    }
}
