//! Reads comma-separated values, and files with another delimiter: tabs in files whose names end in
//! `.tsv`.
//!
//! Built on `csv-core`, the parser of the `csv` crate, because the line numbers of that crate are
//! wrong after empty lines, and a wrong line number is worse than none.

use super::error::{ColumnName, IngestProblem};
use super::line_reader::{
    Cell, ColumnChoice, ColumnChooser, ColumnFault, HeaderLine, LineNotes, LineReader, OpenedReader,
    ReadCounts, SourceFile, Text, only,
};
use super::options::{ColumnSelector, FileOptions};
use csv_core::{ReadRecordResult, ReaderBuilder};
use sotto_core::ExpectOrDefault;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::rc::Rc;

/// Characters that may be the delimiter of a file whose lines have one column.
const OTHER_DELIMITERS: [char; 3] = [';', '\t', '|'];

/// Opens a file, and finds the columns in its first line.
pub(crate) fn open(
    path: &Path,
    options: &FileOptions,
    choose: ColumnChooser<'_>,
) -> Result<OpenedReader, ColumnFault> {
    let (source, counts) = SourceFile::open_text(path).map_err(|e| (None, IngestProblem::Read(e)))?;
    let mut records = Records::new(source, options.delimiter_of(path), counts);
    if !records.next().map_err(|problem| (None, problem))? {
        return Err((None, IngestProblem::Empty));
    }
    let names: Vec<_> = records.fields().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let undivided = match names.as_slice() {
        [only] => OTHER_DELIMITERS.into_iter().find(|delimiter| only.contains(*delimiter)),
        _ => None,
    };
    // If the first line was not split, a missing column is the delimiter's fault and not the
    // name's.
    let choice = choose(HeaderLine::Line(&names)).map_err(|(column, problem)| match (problem, undivided) {
        (IngestProblem::NoPart { .. }, Some(delimiter)) => (column, IngestProblem::OneColumn { delimiter }),
        (problem, _) => (column, problem),
    });
    let ColumnChoice { columns, header } = choice?;
    let mut found = Vec::new();
    for column in &columns {
        let there = || {
            if header { names.join(", ") } else { format!("1 to {}, and no header", names.len()) }
        };
        let missing = || {
            undivided.map_or_else(
                || IngestProblem::NoColumn(there()),
                |delimiter| IngestProblem::OneColumn { delimiter },
            )
        };
        let at = match column {
            ColumnSelector::Number(number) => Ok(number.checked_sub(1).filter(|&at| at < names.len())),
            ColumnSelector::Name(name) => only(&names, name),
        };
        let at = at.and_then(|at| at.ok_or_else(missing));
        found.push(at.map_err(|problem| (Some(ColumnName::requested(column)), problem))?);
    }
    let named = |&at: &usize| {
        let name = names.get(at).filter(|_| header).cloned();
        ColumnName { number: Some(at + 1), name }
    };
    let column_names = found.iter().map(named).collect();
    let notes = LineNotes { undivided, ..LineNotes::default() };
    let lines = Csv { records, columns: found, expected: names.len(), first_is_a_row: !header, notes };
    Ok((Box::new(lines), column_names))
}

struct Csv {
    records: Records,
    /// Indexes of the requested columns, from 0.
    columns: Vec<usize>,
    /// Number of columns that every line must have.
    expected: usize,
    /// Whether the line that was read to find the columns is still to be returned as a row.
    first_is_a_row: bool,
    notes: LineNotes,
}

impl Csv {
    /// Notes a line that may be meant as something else.
    fn note(&mut self) {
        let first = self.records.field(0);
        self.notes.comments += u64::from(first.starts_with(b"#"));
        let is_in = |delimiter: &char| first.contains(&(*delimiter as u8));
        self.notes.undivided = self.notes.undivided.filter(is_in);
    }
}

impl LineReader for Csv {
    fn next(&mut self, cells: &mut [Cell]) -> Result<bool, IngestProblem> {
        let held = std::mem::take(&mut self.first_is_a_row);
        if !held && !self.records.next()? {
            return Ok(false);
        }
        let found = self.records.fields().count();
        if found != self.expected {
            return Err(IngestProblem::Columns { expected: self.expected, found });
        }
        self.note();
        for (cell, &at) in cells.iter_mut().zip(&self.columns) {
            cell.set(self.records.field(at));
        }
        Ok(true)
    }

    fn line(&self) -> u64 {
        self.records.line
    }

    fn blank(&self) -> Option<u64> {
        self.records.blank
    }

    fn notes(&self) -> LineNotes {
        self.notes
    }

    fn progress(&self) -> (u64, u64) {
        self.records.counts.progress()
    }
}

/// Reads the records of a file, and the lines on which they begin.
struct Records {
    source: BufReader<Text<SourceFile>>,
    parser: csv_core::Reader,
    /// Fields of the record, concatenated.
    text: Vec<u8>,
    /// End of each field in `text`.
    ends: Vec<usize>,
    /// Number of entries in `ends` that belong to this record.
    count: usize,
    /// Line on which the record begins.
    line: u64,
    /// Line breaks read so far.
    breaks: u64,
    /// The first empty line before the record.
    blank: Option<u64>,
    counts: Rc<ReadCounts>,
}

impl Records {
    fn new(source: Text<SourceFile>, delimiter: u8, counts: Rc<ReadCounts>) -> Self {
        Records {
            source: BufReader::with_capacity(1 << 16, source),
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            text: vec![0; 1024],
            ends: vec![0; 16],
            count: 0,
            line: 0,
            breaks: 0,
            blank: None,
            counts,
        }
    }

    /// Reads a record; `false` at the end of the file.
    fn next(&mut self) -> Result<bool, IngestProblem> {
        self.skip_empty_lines()?;
        self.line = self.breaks + 1;
        let (mut length, mut count, mut quotes) = (0, 0, 0);
        loop {
            let input = self.source.fill_buf().map_err(IngestProblem::Read)?;
            let at_end = input.is_empty();
            let text = self.text.get_mut(length..).expect_or_default("the buffer holds the record so far");
            let ends = self.ends.get_mut(count..).expect_or_default("the buffer holds the ends so far");
            let (result, read, written, ended) = self.parser.read_record(input, text, ends);
            let read_bytes = input.get(..read).expect_or_default("what was read was there");
            self.breaks += read_bytes.iter().filter(|&&b| b == b'\n').count() as u64;
            quotes += read_bytes.iter().filter(|&&b| b == b'"').count();
            self.source.consume(read);
            length += written;
            count += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::End => return Ok(false),
                // The parser accepts a quote that is closed only by the end of the file.
                ReadRecordResult::Record if at_end && quotes % 2 == 1 && self.breaks + 1 > self.line => {
                    let why = "a quote that opens on this line is never closed".to_owned();
                    return Err(IngestProblem::Format { format: "CSV", why });
                }
                ReadRecordResult::Record => {
                    self.count = count;
                    self.counts.line_ends();
                    return Ok(true);
                }
            }
        }
    }

    /// Skips empty lines. The parser would skip them too, but without saying where the record
    /// begins.
    fn skip_empty_lines(&mut self) -> Result<(), IngestProblem> {
        loop {
            let input = self.source.fill_buf().map_err(IngestProblem::Read)?;
            let empty = input.iter().take_while(|b| matches!(b, b'\n' | b'\r'));
            let (mut length, mut breaks) = (0, 0);
            for byte in empty {
                length += 1;
                breaks += u64::from(*byte == b'\n');
            }
            if length == 0 {
                return Ok(());
            }
            if breaks > 0 {
                self.blank.get_or_insert(self.breaks + 1);
            }
            self.breaks += breaks;
            self.source.consume(length);
        }
    }

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count).map(|at| self.field(at))
    }

    fn field(&self, at: usize) -> &[u8] {
        let end_of = |at: usize| self.ends.get(at).filter(|_| at < self.count).copied();
        let start = at.checked_sub(1).and_then(end_of).unwrap_or(0);
        end_of(at)
            .and_then(|end| self.text.get(start..end))
            .expect_or_default("a field of the record is asked for")
    }
}
