//! One JSON object or array per line.

use super::error::{ColumnName, Problem};
use super::options::Column;
use super::reader::{Cell, Choose, Fault, First, Lines, Opened};
use super::source::{Counts, Source};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::rc::Rc;

struct Jsonl {
    reader: BufReader<Source>,
    text: Vec<u8>,
    /// Whether `text` is still to be given out.
    held: bool,
    columns: Vec<Column>,
    line: u64,
    counts: Rc<Counts>,
}

/// Opens a file. Columns by name are those of objects, columns by number those of arrays.
pub(crate) fn open(path: &Path, choose: Choose<'_>) -> Result<Opened, Fault> {
    let (source, counts) = Source::open(path).map_err(|e| (None, Problem::Read(e)))?;
    let reader = BufReader::with_capacity(1 << 16, source);
    let mut lines = Jsonl { reader, text: Vec::new(), held: false, columns: Vec::new(), line: 0, counts };
    lines.held = lines.read_line().map_err(|problem| (None, problem))?;
    // A line that does not parse is named when it is read.
    let choice = match serde_json::from_slice(&lines.text) {
        Ok(Value::Object(fields)) => choose(First::Names(&fields.keys().cloned().collect::<Vec<_>>()))?,
        Ok(Value::Array(_)) => choose(First::Numbers)?,
        _ => choose(First::Names(&[]))?,
    };
    lines.columns = choice.columns;
    let names = lines.columns.iter().map(ColumnName::asked).collect();
    Ok((Box::new(lines), names))
}

impl Jsonl {
    /// Reads a line that is not empty; `false` at the end.
    fn read_line(&mut self) -> Result<bool, Problem> {
        loop {
            self.text.clear();
            self.line += 1;
            let count = self.reader.read_until(b'\n', &mut self.text).map_err(Problem::Read)?;
            self.counts.line_ends();
            if count == 0 || !self.text.trim_ascii().is_empty() {
                return Ok(count > 0);
            }
        }
    }
}

impl Lines for Jsonl {
    fn next(&mut self, cells: &mut [Cell]) -> Result<bool, Problem> {
        if !std::mem::take(&mut self.held) && !self.read_line()? {
            return Ok(false);
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
    let what = text.split_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    Problem::Format { format: "JSON", why: format!("{what}, at byte {} of the line", error.column()) }
}
