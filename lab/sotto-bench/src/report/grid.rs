//! Tables drawn from rows of JSON: a column names a field, and the unit in the field's name says
//! how its values are shown.

use super::format::{bytes, decimal, digits, percent, time, wrapped};
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
    pub(super) fn table(&self, names: &[&str], rows: Vec<NamedRow>) -> Table {
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
pub(super) struct NamedRow {
    /// A line above it.
    pub(super) heading: Option<String>,
    pub(super) names: Vec<String>,
    pub(super) row: Value,
}

impl NamedRow {
    /// A row without a heading.
    pub(super) fn new(names: impl IntoIterator<Item = String>, row: &impl Serialize) -> Self {
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
