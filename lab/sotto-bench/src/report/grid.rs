//! Tables drawn from rows of JSON: a column names a field, and the unit in the field's name says
//! how its values are shown. GiB is 2^30 bytes and GB 10^9, and both are spelled out.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

/// Maximum width of a report's lines.
pub(crate) const TABLE_WIDTH: usize = 110;

/// A table for people: a title, columns, and what they mean.
///
/// Columns are separated by ` | `. A column is `head = field`, and fields of objects within a row
/// are reached by dots. It may be a sum (`a + b`), a product or quotient (`a * b`, `a / b`), or a dash unless another
/// field is positive (`a if b`). Its form is that of the unit, or another one (`a as digits`).
pub(crate) struct Sheet {
    pub(crate) title: &'static str,
    pub(crate) columns: &'static str,
    pub(crate) note: &'static str,
}

impl Sheet {
    /// The table of some rows, each after the cells of its names, and preceded by its heading if
    /// there is one. `names` are the heads of these cells.
    pub(crate) fn table(&self, names: &[&str], rows: Vec<NamedRow>) -> Table {
        let columns: Vec<Column> = self.columns.split(" | ").map(Column::parse).collect();
        let heads = names.iter().copied().chain(columns.iter().map(|column| column.head));
        let mut table = blank(names.len(), heads);
        for NamedRow { heading, names, row } in rows {
            if let Some(heading) = heading {
                table.add_row([heading]);
            }
            table.add_row(names.into_iter().chain(columns.iter().map(|column| column.cell(&row))));
        }
        table
    }

    /// The table of rows whose first `names` columns hold names.
    pub(crate) fn plain<T: Serialize>(&self, names: usize, rows: &[T]) -> Table {
        let mut table = self.table(&[], rows.iter().map(|row| NamedRow::new([], row)).collect());
        align(&mut table, names);
        table
    }
}

/// A row with its names.
pub(crate) struct NamedRow {
    /// A line above it.
    pub(super) heading: Option<String>,
    pub(super) names: Vec<String>,
    pub(super) row: Value,
}

impl NamedRow {
    /// A row without a heading.
    pub(crate) fn new(names: impl IntoIterator<Item = String>, row: &impl Serialize) -> Self {
        NamedRow { heading: None, names: names.into_iter().collect(), row: value(row) }
    }
}

/// A row of a table. Types of a report hold nothing that has no JSON.
pub(super) fn value(row: &impl Serialize) -> Value {
    serde_json::to_value(row).unwrap_or_default()
}

/// A table without rows, whose columns after the first `names` hold numbers.
pub(crate) fn blank<'a>(names: usize, heads: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heads);
    align(&mut table, names);
    table
}

fn align(table: &mut Table, names: usize) {
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if i < names { CellAlignment::Left } else { CellAlignment::Right });
    }
}

/// Text in lines of a report.
pub(crate) fn paragraph(text: &str) -> String {
    wrapped(text, TABLE_WIDTH).join("\n")
}

struct Column {
    head: &'static str,
    sum: Vec<&'static str>,
    factor: Option<&'static str>,
    over: Option<&'static str>,
    condition: Option<&'static str>,
    /// The form that is named, or the field whose unit names it.
    form: &'static str,
}

impl Column {
    fn parse(text: &'static str) -> Self {
        let (head, text) = text.split_once(" = ").unwrap_or((text, text));
        let (text, form) = text.split_once(" as ").map_or((text, None), |(text, form)| (text, Some(form)));
        let (text, condition) = text.split_once(" if ").map_or((text, None), |(text, of)| (text, Some(of)));
        let (text, over) = text.split_once(" / ").map_or((text, None), |(text, over)| (text, Some(over)));
        let (text, factor) = text.split_once(" * ").map_or((text, None), |(text, by)| (text, Some(by)));
        let sum: Vec<&str> = text.split(" + ").collect();
        let form = form.or(sum.first().copied()).unwrap_or_default();
        Column { head, sum, factor, over, condition, form }
    }

    fn cell(&self, row: &Value) -> String {
        if self.condition.is_some_and(|field| number(row, field).is_none_or(|value| value <= 0.0)) {
            return "-".to_owned();
        }
        if let [field] = self.sum.as_slice()
            && let Some(text) = field_of(row, field).and_then(Value::as_str)
        {
            return text.to_owned();
        }
        let sum: Option<f64> = self.sum.iter().map(|field| number(row, field)).sum();
        let of = |field: Option<&str>| field.map_or(Some(1.0), |field| number(row, field));
        let product = sum.zip(of(self.factor)).map(|(sum, factor)| sum * factor);
        show(self.form, product.zip(of(self.over)).map(|(product, over)| product / over.max(1.0)))
    }
}

/// A value in the form that is named, or that the last unit of a field's name asks for.
pub(super) fn show(form: &str, value: Option<f64>) -> String {
    let ends = |unit: &str| form.ends_with(unit);
    let Some(value) = value else {
        let word = if ends("_log2") {
            "never"
        } else if ends("security_bits") {
            "perfect"
        } else {
            "-"
        };
        return word.to_owned();
    };
    match form {
        "percent" => percent(value),
        "decimal" => decimal(value as u64),
        "times" => format!("{value:.2} x"),
        "seconds" => time(value * 1e3),
        "budget" if value == 0.0 => "unlimited".to_owned(),
        _ if ends("_ms") => time(value),
        _ if ends("_bytes") => bytes(value as u64),
        _ if ends("_count") || form == "budget" => format!("{value:.0}"),
        _ if ends("_log2") => format!("2^{value:.0}"),
        _ if ends("security_bits") => format!("{value:.0} bits"),
        _ => digits(value),
    }
}

fn field_of<'a>(row: &'a Value, path: &str) -> Option<&'a Value> {
    let field = path.split('.').try_fold(row, |value, name| match value {
        // What a row does not have, its fields do not have either.
        Value::Null => Some(value),
        value => value.get(name),
    });
    debug_assert!(field.is_some(), "no field {path} in {row}");
    field
}

fn number(row: &Value, path: &str) -> Option<f64> {
    field_of(row, path)?.as_f64()
}

/// The values without repetition, in their order.
pub(super) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// The text of a report.
#[derive(Default)]
pub(super) struct Text(pub(super) String);

impl Text {
    pub(super) fn line(&mut self, text: &str) {
        // Writing into a `String` cannot fail.
        let _ = writeln!(self.0, "{text}");
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.line(&paragraph(text));
    }

    pub(super) fn section(&mut self, title: &str, table: Table, note: &str) {
        self.line(&format!("\n{title}\n\n{table}\n\n{note}"));
    }

    pub(super) fn sheet(&mut self, sheet: &Sheet, table: Table) {
        self.section(sheet.title, table, sheet.note);
    }
}

/// `121 MiB`, with three digits.
pub(crate) fn bytes(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if value < 1023.5 || unit == "TiB" {
            return if unit == "B" { format!("{n} B") } else { format!("{} {unit}", digits(value)) };
        }
        value /= 1024.0;
    }
    format!("{n} B")
}

/// `14 KB`, with three digits: multiples of 1000, as most papers count.
pub(crate) fn decimal(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if value < 999.5 || unit == "GB" {
            // Papers print "14 KB", not "14.0 KB".
            let shown = digits(value);
            let trimmed =
                if shown.contains('.') { shown.trim_end_matches('0').trim_end_matches('.') } else { &shown };
            return format!("{trimmed} {unit}");
        }
        value /= 1000.0;
    }
    format!("{n} B")
}

/// `43.2 ms` or `21.0 ns`, from milliseconds.
pub(crate) fn time(ms: f64) -> String {
    match ms.abs() {
        v if !v.is_finite() => "-".to_owned(),
        v if v >= 1000.0 => format!("{} s", digits(ms / 1e3)),
        v if v >= 0.1 || v == 0.0 => format!("{} ms", digits(ms)),
        v if v >= 1e-4 => format!("{} us", digits(ms * 1e3)),
        _ => format!("{} ns", digits(ms * 1e6)),
    }
}

/// Three significant digits, without an exponent.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "-".to_owned(),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.9995 || v == 0.0 => format!("{value:.2}"),
        v if v >= 0.00995 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}

/// `94 %`.
pub(crate) fn percent(ratio: f64) -> String {
    if ratio.is_finite() { format!("{:.0} %", ratio * 100.0) } else { "-".to_owned() }
}

/// `2^20` where the number is a power of two, otherwise its digits.
pub(crate) fn power(n: u64) -> String {
    if n.is_power_of_two() && n > 512 { format!("2^{}", n.trailing_zeros()) } else { n.to_string() }
}

/// `2^20 x 256 B`, or `2^33 x 1 bit`.
pub(crate) fn shape(rows: u64, row_bits: u64) -> String {
    let row = match row_bits {
        1 => "1 bit".to_owned(),
        bits if bits < 8 => format!("{bits} bits"),
        bits if bits >= 8 * 10_240 && (bits / 8).is_multiple_of(1024) => format!("{} KiB", bits / 8192),
        bits if bits >= 8 * 10_000 && (bits / 8).is_multiple_of(1000) => format!("{} KB", bits / 8000),
        bits => format!("{} B", bits / 8),
    };
    format!("{} x {row}", power(rows))
}

/// Lines of at most `width` characters, except where a single word is longer; all but the first indented.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, "   ".to_owned()));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_three_digits() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes(1 << 30), "1.00 GiB");
        assert_eq!(bytes((1 << 30) - 1), "1.00 GiB");
        assert_eq!(bytes(126_877_696), "121 MiB");
        assert_eq!(bytes(u64::MAX), "16777216 TiB");
        assert_eq!([14_000, 3_900_000, 128, 1_500].map(decimal), ["14 KB", "3.9 MB", "128 B", "1.5 KB"]);
        assert_eq!(
            [43.21, 0.0000213, 0.0021, 0.5, 2100.0].map(time),
            ["43.2 ms", "21.3 ns", "2.10 us", "0.500 ms", "2.10 s"]
        );
        assert_eq!(digits(0.0), "0.00");
        assert_eq!(digits(0.1234), "0.123");
        assert_eq!(digits(43.21), "43.2");
        assert_eq!(digits(f64::INFINITY), "-");
        assert_eq!(percent(0.936), "94 %");
    }

    #[test]
    fn shapes_as_papers_write_them() {
        assert_eq!(shape(1 << 20, 2048), "2^20 x 256 B");
        assert_eq!(shape(1 << 33, 1), "2^33 x 1 bit");
        assert_eq!(shape(1 << 15, 32768 * 8), "2^15 x 32 KiB");
        assert_eq!(shape(1 << 18, 30_000 * 8), "2^18 x 30 KB");
        assert_eq!(shape(5003, 56), "5003 x 7 B");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("a line", 20), ["a line"]);
        assert_eq!(wrapped("one two three four", 10), ["one two", "    three", "    four"]);
        assert_eq!(wrapped("unbreakablyLong x", 5), ["unbreakablyLong", "    x"]);
    }
}
