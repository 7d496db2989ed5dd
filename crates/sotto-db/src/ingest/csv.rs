//! Comma-separated values.

use super::error::{ColumnName, Problem};
use super::options::{Column, FileOptions};
use super::reader::{Cell, Lines, Opened};
use super::source::{Counts, Source};
use ::csv::{ByteRecord, ErrorKind, ReaderBuilder};
use std::path::Path;
use std::rc::Rc;

struct Csv {
    reader: ::csv::Reader<Source>,
    record: ByteRecord,
    /// Where the wanted columns are, from 0 on.
    columns: Vec<usize>,
    /// How many columns every line has.
    expected: usize,
    line: u64,
    counts: Rc<Counts>,
}

/// Opens a file; finds the columns in its first line.
pub(crate) fn open(
    path: &Path,
    options: &FileOptions,
    columns: &[&Column],
) -> Result<Opened, (Option<usize>, Problem)> {
    let header = options.header || columns.iter().any(|column| matches!(column, Column::Name(_)));
    let (source, counts) = Source::open(path).map_err(|e| (None, Problem::Read(e)))?;
    let mut reader = ReaderBuilder::new()
        .delimiter(options.delimiter)
        .has_headers(header)
        .flexible(true)
        .from_reader(source);
    let first = reader.byte_headers().map_err(|e| (None, problem(e)))?.clone();
    counts.line_ends();
    if first.is_empty() {
        return Err((None, Problem::Empty));
    }
    let names: Vec<_> = first.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let find = |column: &Column| match column {
        Column::Number(number) => number.checked_sub(1).filter(|&at| at < names.len()),
        Column::Name(name) => names.iter().position(|there| there == name),
    };
    let mut found = Vec::new();
    for (i, column) in columns.iter().enumerate() {
        let there = || {
            if header { names.join(", ") } else { format!("1 to {}, and no header", names.len()) }
        };
        found.push(find(column).ok_or_else(|| (Some(i), Problem::NoColumn { there: there() }))?);
    }
    let named = |&at: &usize| {
        let name = names.get(at).filter(|_| header).cloned();
        ColumnName { number: Some(at + 1), name }
    };
    let column_names = found.iter().map(named).collect();
    let expected = names.len();
    let lines = Csv { reader, record: ByteRecord::new(), columns: found, expected, line: 0, counts };
    Ok((Box::new(lines), column_names))
}

impl Lines for Csv {
    fn next(&mut self, cells: &mut [Cell]) -> Result<bool, Problem> {
        self.line = self.reader.position().line();
        let more = self.reader.read_byte_record(&mut self.record).map_err(problem)?;
        self.counts.line_ends();
        if let Some(position) = self.record.position().filter(|_| more) {
            self.line = position.line();
        }
        if more && self.record.len() != self.expected {
            return Err(Problem::Columns { expected: self.expected, found: self.record.len() });
        }
        if more {
            for (cell, &at) in cells.iter_mut().zip(&self.columns) {
                cell.set(self.record.get(at).unwrap_or_default());
            }
        }
        Ok(more)
    }

    fn line(&self) -> u64 {
        self.line
    }

    fn progress(&self) -> (u64, u64) {
        self.counts.progress()
    }
}

fn problem(error: ::csv::Error) -> Problem {
    let why = error.to_string();
    match error.into_kind() {
        ErrorKind::Io(e) => Problem::Read(e),
        _ => Problem::Format { format: "CSV", why },
    }
}
