//! One JSON object or array per line.

use super::error::{ColumnName, Problem};
use super::options::Column;
use super::reader::{Cell, Lines, Opened};
use super::source::{Counts, Source};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::rc::Rc;

struct Jsonl {
    reader: BufReader<Source>,
    text: Vec<u8>,
    columns: Vec<Column>,
    line: u64,
    counts: Rc<Counts>,
}

/// Opens a file. Columns by name are those of objects, columns by number those of arrays.
pub(crate) fn open(path: &Path, columns: &[&Column]) -> Result<Opened, (Option<usize>, Problem)> {
    let (source, counts) = Source::open(path).map_err(|e| (None, Problem::Read(e)))?;
    let names = columns.iter().map(|column| match column {
        Column::Number(number) => ColumnName { number: Some(*number), name: None },
        Column::Name(name) => ColumnName { number: None, name: Some(name.clone()) },
    });
    let names = names.collect();
    let columns = columns.iter().map(|&column| column.clone()).collect();
    let reader = BufReader::with_capacity(1 << 16, source);
    Ok((Box::new(Jsonl { reader, text: Vec::new(), columns, line: 0, counts }), names))
}

impl Lines for Jsonl {
    fn next(&mut self, cells: &mut [Cell]) -> Result<bool, Problem> {
        loop {
            self.text.clear();
            self.line += 1;
            let count = self.reader.read_until(b'\n', &mut self.text).map_err(Problem::Read)?;
            self.counts.line_ends();
            if count == 0 {
                return Ok(false);
            }
            if !self.text.trim_ascii().is_empty() {
                break;
            }
        }
        let line: Value = serde_json::from_slice(&self.text).map_err(|e| problem(&e))?;
        for (cell, column) in cells.iter_mut().zip(&self.columns) {
            let found = match (&line, column) {
                (Value::Object(fields), Column::Name(name)) => fields.get(name),
                (Value::Array(items), Column::Number(number)) => {
                    number.checked_sub(1).and_then(|at| items.get(at))
                }
                (Value::Object(_), Column::Number(_)) => {
                    return Err(Problem::Options("lines are objects: ask for columns by name"));
                }
                (Value::Array(_), Column::Name(_)) => {
                    return Err(Problem::Options("lines are arrays: ask for columns by number"));
                }
                _ => return Err(Problem::Options("a line is an object or an array")),
            };
            match found {
                None => *cell = Cell::Missing,
                Some(Value::Null) => *cell = Cell::Null,
                Some(Value::String(text)) => cell.set(text.as_bytes()),
                Some(Value::Number(number)) => {
                    let negative = number.as_i64().map(Cell::Negative);
                    let number = number.as_u64().map(Cell::Unsigned).or(negative);
                    *cell = number.unwrap_or(Cell::Other("a number that is no integer"));
                }
                Some(Value::Bool(value)) => *cell = Cell::Bool(*value),
                Some(Value::Array(_)) => *cell = Cell::Other("an array"),
                Some(Value::Object(_)) => *cell = Cell::Other("an object"),
            }
        }
        Ok(true)
    }

    fn line(&self) -> u64 {
        self.line
    }

    fn progress(&self) -> (u64, u64) {
        self.counts.progress()
    }
}

/// The parser saw only this line, so its line number is of no use.
fn problem(error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    Problem::Format { format: "JSON", why: format!("{what}, at byte {} of the line", error.column()) }
}
