//! Comma-separated values, and what else parts columns: tabs in files whose names end in `.tsv`.
//!
//! Built on the parser below the `csv` crate, because that crate's line numbers are off after empty lines,
//! and a wrong line number is worse than none.

use super::error::{ColumnName, IngestProblem};
use super::options::{ColumnSelector, FileOptions};
use super::reader::{
    Cell, ColumnChoice, ColumnChooser, ColumnFault, HeaderLine, LineNotes, LineReader, OpenedReader, only,
};
use super::source::{ReadCounts, SourceFile};
use super::text::Text;
use csv_core::{ReadRecordResult, ReaderBuilder};
use sotto_core::ExpectOrDefault;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::rc::Rc;

/// What may part columns where the delimiter does not.
const OTHER_DELIMITERS: [char; 3] = [';', '\t', '|'];

/// Opens a file; finds the columns in its first line.
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
    // That a column is not there, where the line was not parted, is no fault of the names.
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
                || IngestProblem::NoColumn { there: there() },
                |delimiter| IngestProblem::OneColumn { delimiter },
            )
        };
        let at = match column {
            ColumnSelector::Number(number) => Ok(number.checked_sub(1).filter(|&at| at < names.len())),
            ColumnSelector::Name(name) => only(&names, name),
        };
        let at = at.and_then(|at| at.ok_or_else(missing));
        found.push(at.map_err(|problem| (Some(ColumnName::asked(column)), problem))?);
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
    /// Where the wanted columns are, from 0 on.
    columns: Vec<usize>,
    /// How many columns every line has.
    expected: usize,
    /// Whether the line that was read to find the columns is still to be given out.
    first_is_a_row: bool,
    notes: LineNotes,
}

impl Csv {
    /// Notes what a person may have meant otherwise.
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

/// Records, one after the other, and the lines they begin on.
struct Records {
    source: BufReader<Text<SourceFile>>,
    parser: csv_core::Reader,
    /// The fields of the record, one after the other.
    text: Vec<u8>,
    /// Where in `text` each field ends.
    ends: Vec<usize>,
    /// How many of `ends` are of this record.
    count: usize,
    /// The line the record begins on.
    line: u64,
    /// Line breaks so far.
    breaks: u64,
    /// The first line before the record that has nothing in it.
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

    /// Reads a record; `false` at the end.
    fn next(&mut self) -> Result<bool, IngestProblem> {
        self.skip_empty_lines()?;
        self.line = self.breaks + 1;
        let (mut length, mut count, mut quotes) = (0, 0, 0);
        loop {
            let input = self.source.fill_buf().map_err(IngestProblem::Read)?;
            let at_end = input.is_empty();
            let text = self.text.get_mut(length..).expect_or_default("a record so far is in its buffer");
            let ends = self.ends.get_mut(count..).expect_or_default("ends so far are in their buffer");
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
                // The parser takes a quote that is never closed for one that the end of the file closes.
                ReadRecordResult::Record if at_end && quotes % 2 == 1 && self.breaks + 1 > self.line => {
                    let why = "a quote opened on this line is never closed".to_owned();
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

    /// The parser would skip them too, but without telling where the record begins.
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
