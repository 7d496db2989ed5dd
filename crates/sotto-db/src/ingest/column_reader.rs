//! Reads the requested columns of a file line by line, whatever its format, and finds the columns of
//! files of changes.
//!
//! Of a file of changes the columns that the user requests are used. Otherwise columns are found by the
//! names in the table's source, or else by their content (`key`, `value`); and in files without names by
//! position. A first line that might be a header is never taken for data where that would publish it:
//! every text is a valid key of some table.

use crate::ingest::error::{ColumnName, IngestError, IngestProblem, LineUnit};
use crate::ingest::line_reader::{
    Cell, ColumnChoice, ColumnChooser, ColumnFault, HeaderLine, LineNotes, LineReader,
};
use crate::ingest::options::{ColumnSelector, FileOptions, SourceFormat};
use crate::ingest::{Encoding, Notes, csv, jsonl};
use crate::progress::{Progress, Watcher};
use crate::sidecars::SourceColumns;
use std::path::{Path, PathBuf};

/// An open file whose requested columns are read.
pub(crate) struct ColumnReader<'a> {
    lines: Box<dyn LineReader>,
    path: PathBuf,
    unit: LineUnit,
    columns: Vec<ColumnName>,
    cells: Vec<Cell>,
    count: u64,
    watch: Watcher<'a>,
}

impl<'a> ColumnReader<'a> {
    /// Opens a file to read these columns.
    pub(crate) fn open(
        path: &Path,
        options: &FileOptions,
        columns: &[&ColumnSelector],
        watch: Watcher<'a>,
    ) -> Result<Self, IngestError> {
        let named = columns.iter().any(|column| matches!(column, ColumnSelector::Name(_)));
        let choose = |_: HeaderLine<'_>| {
            let columns = columns.iter().map(|column| (*column).clone()).collect();
            Ok(ColumnChoice { columns, header: options.header.unwrap_or(named) })
        };
        ColumnReader::choosing(path, options, &choose, watch)
    }

    /// Opens a file to read columns that `choose` selects by the names in it.
    pub(crate) fn choosing(
        path: &Path,
        options: &FileOptions,
        choose: ColumnChooser<'_>,
        watch: Watcher<'a>,
    ) -> Result<Self, IngestError> {
        let (format, unit) = (options.format_of(path), options.unit(path));
        let fault = |(column, problem): ColumnFault| IngestError {
            column,
            unit,
            ..IngestError::of_file(path, problem)
        };
        let opened = match format {
            Some(SourceFormat::Csv) => csv::open(path, options, choose),
            Some(SourceFormat::Jsonl) => jsonl::open(path, choose),
            #[cfg(feature = "parquet")]
            Some(SourceFormat::Parquet) => super::parquet::open(path, choose),
            #[cfg(not(feature = "parquet"))]
            Some(SourceFormat::Parquet) => Err((
                None,
                IngestProblem::Options("this build does not read Parquet: build it with feature `parquet`"),
            )),
            None => Err((
                None,
                IngestProblem::Options(
                    "the file's name does not show its format: give csv, jsonl, parquet or raw",
                ),
            )),
        };
        let (lines, names) = opened.map_err(fault)?;
        let cells = vec![Cell::Missing; names.len()];
        Ok(ColumnReader { lines, path: path.to_owned(), unit, columns: names, cells, count: 0, watch })
    }

    /// Requested columns, in the order of the request.
    pub(crate) fn columns(&self) -> &[ColumnName] {
        &self.columns
    }

    /// Names of the requested columns, in the order of the request; `None` for one without a name.
    pub(crate) fn names(&self) -> impl Iterator<Item = Option<String>> {
        self.columns.iter().map(|column| column.name.clone())
    }

    /// Cells of the next line, in the order of the request; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[Cell]>, IngestError> {
        match self.lines.next(&mut self.cells) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(problem) => return Err(self.fault(None, problem)),
        }
        if self.count.is_multiple_of(1 << 14) {
            let (done, total) = self.lines.progress();
            (self.watch)(Progress { stage: "read", done, total, unit: self.lines.unit() });
        }
        self.count += 1;
        Ok(Some(&self.cells))
    }

    /// Refuses an empty line where the order of lines numbers the rows.
    pub(crate) fn check_order(&self) -> Result<(), IngestError> {
        match self.lines.blank() {
            Some(line) => Err(self.fault_at(line, None, IngestProblem::Blank)),
            None => Ok(()),
        }
    }

    /// Notes on the lines read.
    pub(crate) fn notes(&self) -> Notes {
        let LineNotes { comments, undivided } = self.lines.notes();
        Notes { lines: self.count, comment_lines: comments, undivided, ..Notes::default() }
    }

    /// Number of lines read so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Number of the line read last.
    pub(crate) fn line(&self) -> u64 {
        self.lines.line()
    }

    /// Error in the line read last, in the requested column with index `column`.
    pub(crate) fn fault(&self, column: Option<usize>, problem: IngestProblem) -> IngestError {
        self.fault_at(self.line(), column, problem)
    }

    /// Error in a given line, in the requested column with index `column`.
    pub(crate) fn fault_at(&self, line: u64, column: Option<usize>, problem: IngestProblem) -> IngestError {
        let column = column.and_then(|i| self.columns.get(i).cloned());
        IngestError { line, unit: self.unit, column, ..IngestError::of_file(&self.path, problem) }
    }
}

/// Options for reading a file of changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeFile {
    /// Format of the file.
    pub file: FileOptions,
    /// Columns of the changes: two for an index table, the row's number and its value; three for a
    /// range table, the first key, the last key and the value; the key, and the value if there are
    /// any, for a keyword table. `None` selects columns with the names of the table's source
    /// ([`crate::sidecars`]), or else `row`, `start`, `end`, `key` and `value`, or the first columns
    /// of a CSV file without a header.
    pub columns: Option<Vec<ColumnSelector>>,
    /// Column that says which keys of a keyword table are removed (1, true, yes, delete) and which
    /// are not (0, false, no, nothing). A key whose value is null is removed in any case; CSV has
    /// no null.
    pub delete: Option<ColumnSelector>,
    /// Encoding of the values; `None` for text, numbers or hexadecimal digits, according to the
    /// table's values.
    pub encoding: Option<Encoding>,
}

/// Columns to find in a file of changes.
pub(crate) struct ColumnRequest<'a> {
    /// Content of the columns, in their order.
    pub(crate) parts: &'a [&'static str],
    pub(crate) options: &'a ChangeFile,
    pub(crate) origin: Option<&'a SourceColumns>,
    /// Whether a header could be taken for a key.
    pub(crate) is_keyed: bool,
}

impl ColumnRequest<'_> {
    /// Chooses the columns; the column of removals comes last.
    pub(crate) fn choose(&self, first: HeaderLine<'_>) -> Result<ColumnChoice, ColumnFault> {
        let (given, delete) = (self.options.columns.as_ref(), self.options.delete.iter().cloned());
        let (mut columns, header) = match first {
            HeaderLine::Line(names) => {
                let header = self.is_header(names)?;
                let columns = match given {
                    Some(given) => given.clone(),
                    None if header => self.named(names, true)?,
                    None => self.numbered(),
                };
                (columns, header)
            }
            HeaderLine::Names(names) => {
                (given.map_or_else(|| self.named(names, false), |given| Ok(given.clone()))?, false)
            }
            HeaderLine::Numbers => (given.map_or_else(|| self.numbered(), Vec::clone), false),
        };
        columns.extend(delete);
        Ok(ColumnChoice { columns, header })
    }

    /// Name of a column in the table's source.
    fn recorded(&self, part: &str) -> Option<&str> {
        self.origin.and_then(|origin| origin.name(part))
    }

    fn is_header(&self, names: &[String]) -> Result<bool, ColumnFault> {
        let requested = self.options.columns.iter().flatten().chain(&self.options.delete);
        let by_name = requested.into_iter().any(|column| matches!(column, ColumnSelector::Name(_)));
        let has =
            |part: &&&str| self.recorded(part).is_some_and(|name| names.iter().any(|there| there == name));
        let known: Vec<&str> = self.parts.iter().filter_map(|part| self.recorded(part)).collect();
        match self.options.file.header {
            Some(header) => Ok(header || by_name),
            None if by_name || self.parts.iter().any(|part| has(&part)) || self.is_default(names) => Ok(true),
            // The source is read in the same way, and a header is not a number.
            None if self.options.columns.is_some() || !self.is_keyed => Ok(false),
            None if self.origin.is_some_and(SourceColumns::is_nameless) => Ok(false),
            None if known.is_empty() => {
                let why = "it is unclear whether the first line is data (pass --no-header) or names the columns \
                     (pass --header)";
                Err((None, IngestProblem::Header(why.to_owned())))
            }
            None => {
                let why = format!(
                    "the first line names none of the table's columns ({}): if it is data, pass --no-header; if it \
                     has other names, give the columns (--key, --value)",
                    known.join(", ")
                );
                Err((None, IngestProblem::Header(why)))
            }
        }
    }

    /// Whether the names are the default names of all columns. For an index table without a
    /// recorded source the first line is read as a row, and refused if it is not a number.
    fn is_default(&self, names: &[String]) -> bool {
        let all = || self.parts.iter().all(|part| names.iter().any(|there| there == part));
        self.parts.len() > 1 && (self.is_keyed || self.origin.is_some()) && all()
    }

    /// Columns by their names in the source, or else by the default names.
    fn named(&self, names: &[String], is_line: bool) -> Result<Vec<ColumnSelector>, ColumnFault> {
        let is_there = |name: &str| names.iter().any(|there| there == name);
        let known = self.parts.iter().any(|part| self.recorded(part).is_some_and(is_there));
        // A header without known names: columns are found by position, unless the source had other
        // names.
        let is_silent = !known && !self.parts.iter().any(|part| is_there(part));
        if is_line && is_silent && self.parts.iter().all(|part| self.recorded(part).is_none()) {
            return Ok(self.numbered());
        }
        let column = |part: &&'static str| {
            let name = self.recorded(part).filter(|_| known || is_silent && is_line).unwrap_or(part);
            // A field may be missing from the first line of JSON lines.
            match is_there(name) || !is_line {
                true => Ok(ColumnSelector::Name(name.to_owned())),
                false => {
                    let column = ColumnName { number: None, name: Some(name.to_owned()) };
                    Err((Some(column), IngestProblem::NoPart { part, there: names.join(", ") }))
                }
            }
        };
        self.parts.iter().map(column).collect()
    }

    fn numbered(&self) -> Vec<ColumnSelector> {
        (1..=self.parts.len()).map(ColumnSelector::Number).collect()
    }
}
