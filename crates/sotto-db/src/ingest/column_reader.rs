//! Reads the requested columns of a file line by line, whatever its format.

use super::error::{ColumnName, IngestError, IngestProblem, LineUnit};
use super::line_reader::{Cell, ColumnChoice, ColumnChooser, ColumnFault, HeaderLine, LineNotes, LineReader};
use super::options::{ColumnSelector, FileOptions, SourceFormat};
use super::{Notes, csv, jsonl};
use crate::progress::{Progress, Watcher};
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
