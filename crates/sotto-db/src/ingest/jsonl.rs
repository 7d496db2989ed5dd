//! One JSON object or array per line.

use super::error::ColumnSelector;
use super::error::{ColumnName, IngestProblem};
use super::line_reader::{
    Cell, ColumnChooser, ColumnFault, HeaderLine, LineReader, OpenedReader, ReadCounts, SourceFile, Text,
};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::rc::Rc;

struct Jsonl {
    reader: BufReader<Text<SourceFile>>,
    text: Vec<u8>,
    /// Whether `text` is still to be returned as a line.
    held: bool,
    columns: Vec<ColumnSelector>,
    line: u64,
    /// The first empty line so far.
    blank: Option<u64>,
    counts: Rc<ReadCounts>,
}

/// A line with every field that was written. Of two fields with one name, the reader cannot know
/// which is meant.
enum JsonLine {
    Fields(Vec<(String, Value)>),
    Items(Vec<Value>),
    Other,
}

impl<'de> Deserialize<'de> for JsonLine {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(LineVisitor)
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = JsonLine;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonLine, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(JsonLine::Fields(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<JsonLine, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(JsonLine::Items(items))
    }

    fn visit_bool<E>(self, _: bool) -> Result<JsonLine, E> {
        Ok(JsonLine::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<JsonLine, E> {
        Ok(JsonLine::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<JsonLine, E> {
        Ok(JsonLine::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<JsonLine, E> {
        Ok(JsonLine::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<JsonLine, E> {
        Ok(JsonLine::Other)
    }

    fn visit_unit<E>(self) -> Result<JsonLine, E> {
        Ok(JsonLine::Other)
    }
}

/// Opens a file of JSON lines. Columns requested by name are fields of objects; columns requested
/// by number are elements of arrays.
pub(crate) fn open(path: &Path, choose: ColumnChooser<'_>) -> Result<OpenedReader, ColumnFault> {
    let (source, counts) = SourceFile::open_text(path).map_err(|e| (None, IngestProblem::Read(e)))?;
    let reader = BufReader::with_capacity(1 << 16, source);
    let (text, columns) = (Vec::new(), Vec::new());
    let mut lines = Jsonl { reader, text, held: false, columns, line: 0, blank: None, counts };
    lines.held = lines.read_line().map_err(|problem| (None, problem))?;
    let first = serde_json::from_slice(&lines.text);
    if let Some(why) = document(&lines.text, &first) {
        return Err((None, IngestProblem::Format { format: "JSON lines", why: why.to_owned() }));
    }
    // A line that does not parse is reported when it is read.
    let choice = match first {
        Ok(JsonLine::Fields(fields)) => {
            choose(HeaderLine::Names(&fields.into_iter().map(|(name, _)| name).collect::<Vec<_>>()))?
        }
        Ok(JsonLine::Items(_)) => choose(HeaderLine::Numbers)?,
        _ => choose(HeaderLine::Names(&[]))?,
    };
    lines.columns = choice.columns;
    let names = lines.columns.iter().map(ColumnName::requested).collect();
    Ok((Box::new(lines), names))
}

/// Explains why the first line is not a JSON line: it begins a document over several lines, or
/// holds all rows in one array.
fn document(text: &[u8], first: &serde_json::Result<JsonLine>) -> Option<&'static str> {
    let is_nested = |item: &Value| matches!(item, Value::Object(_) | Value::Array(_));
    match (first, text.trim_ascii().first()) {
        (Ok(JsonLine::Items(items)), _) if !items.is_empty() && items.iter().all(is_nested) => {}
        (Err(error), Some(b'[')) if error.is_eof() => {}
        (Err(error), Some(b'{')) if error.is_eof() => {
            return Some(
                "the file is one JSON document over several lines: write one object to a line (jq -c .)",
            );
        }
        _ => return None,
    }
    Some("the file is one JSON document: write one object to a line (jq -c '.[]')")
}

impl Jsonl {
    /// Reads the next line that is not empty; `false` at the end.
    fn read_line(&mut self) -> Result<bool, IngestProblem> {
        loop {
            self.text.clear();
            self.line += 1;
            let count = self.reader.read_until(b'\n', &mut self.text).map_err(IngestProblem::Read)?;
            self.counts.line_ends();
            if count == 0 || !self.text.trim_ascii().is_empty() {
                return Ok(count > 0);
            }
            self.blank.get_or_insert(self.line);
        }
    }
}

impl LineReader for Jsonl {
    fn next(&mut self, cells: &mut [Cell]) -> Result<bool, IngestProblem> {
        if !std::mem::take(&mut self.held) && !self.read_line()? {
            return Ok(false);
        }
        let line: JsonLine = serde_json::from_slice(&self.text).map_err(|e| problem(&e))?;
        for (cell, column) in cells.iter_mut().zip(&self.columns) {
            let found = match (&line, column) {
                (JsonLine::Fields(fields), ColumnSelector::Name(name)) => {
                    let mut named = fields.iter().filter(|(there, _)| there == name).map(|(_, value)| value);
                    let (first, second) = (named.next(), named.next());
                    if second.is_some() {
                        return Err(IngestProblem::FieldTwice(name.clone()));
                    }
                    first
                }
                (JsonLine::Items(items), ColumnSelector::Number(number)) => {
                    number.checked_sub(1).and_then(|at| items.get(at))
                }
                (JsonLine::Fields(_), ColumnSelector::Number(_)) => {
                    return Err(IngestProblem::Options("lines are objects: give columns by name"));
                }
                (JsonLine::Items(_), ColumnSelector::Name(_)) => {
                    return Err(IngestProblem::Options("lines are arrays: give columns by number"));
                }
                _ => return Err(IngestProblem::Options("expected an object or an array on each line")),
            };
            match found {
                None => *cell = Cell::Missing,
                Some(Value::Null) => *cell = Cell::Null,
                Some(Value::String(text)) => cell.set(text.as_bytes()),
                Some(Value::Number(number)) => {
                    let negative = number.as_i64().map(Cell::Negative);
                    let number = number.as_u64().map(Cell::Unsigned).or(negative);
                    *cell = number.unwrap_or(Cell::Other("a number that is not an integer of 64 bits"));
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

    fn blank(&self) -> Option<u64> {
        self.blank
    }

    fn progress(&self) -> (u64, u64) {
        self.counts.progress()
    }
}

/// Error for a line that is not JSON. The line number of the parser is not used, since it saw only
/// this line.
fn problem(error: &serde_json::Error) -> IngestProblem {
    let text = error.to_string();
    let what = text.split_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    IngestProblem::Format { format: "JSON", why: format!("{what}, at byte {} of the line", error.column()) }
}
