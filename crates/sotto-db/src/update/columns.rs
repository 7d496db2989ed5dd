//! Which columns of a file of changes are meant, and whether its first line names them.
//!
//! What is asked for is taken. Otherwise columns are found by the names that the table's source had, or else by what is in them
//! (`key`, `value`); and in files without names by their place. A first line that might be a header is never taken for data where
//! that would publish it: every text is a key of some table.

use crate::ingest::reader::{ColumnChoice, ColumnFault, HeaderLine};
use crate::ingest::{ColumnName, ColumnSelector, IngestProblem};
use crate::ingest::{Encoding, FileOptions};
use crate::source_columns::SourceColumns;

/// How a file of changes is read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeFile {
    /// Its format.
    pub file: FileOptions,
    /// Its columns; `None` to go by the names that the table's source had, or by their place.
    pub columns: Option<Vec<ColumnSelector>>,
    /// The column that says which keys go.
    pub delete: Option<ColumnSelector>,
    /// How values are written; `None` for how those of the table are.
    pub encoding: Option<Encoding>,
}

/// What is looked for.
pub(super) struct ColumnRequest<'a> {
    /// What stands in the columns, in their order.
    pub(super) parts: &'a [&'static str],
    pub(super) options: &'a ChangeFile,
    pub(super) origin: Option<&'a SourceColumns>,
    /// Whether a header could be taken for a key.
    pub(super) is_keyed: bool,
}

impl ColumnRequest<'_> {
    /// Chooses the columns, that of keys which go after the others.
    pub(super) fn choose(&self, first: HeaderLine<'_>) -> Result<ColumnChoice, ColumnFault> {
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

    /// The name that a column had in the table's source.
    fn recorded(&self, part: &str) -> Option<&str> {
        self.origin.and_then(|origin| origin.name(part))
    }

    fn is_header(&self, names: &[String]) -> Result<bool, ColumnFault> {
        let asked = self.options.columns.iter().flatten().chain(&self.options.delete);
        let by_name = asked.into_iter().any(|column| matches!(column, ColumnSelector::Name(_)));
        let has =
            |part: &&&str| self.recorded(part).is_some_and(|name| names.iter().any(|there| there == name));
        let known: Vec<&str> = self.parts.iter().filter_map(|part| self.recorded(part)).collect();
        match self.options.file.header {
            Some(header) => Ok(header || by_name),
            None if by_name || self.parts.iter().any(|part| has(&part)) || self.is_usual(names) => Ok(true),
            // As the table's source was read; and a header is no number.
            None if self.options.columns.is_some() || !self.is_keyed => Ok(false),
            None if self.origin.is_some_and(SourceColumns::is_nameless) => Ok(false),
            None if known.is_empty() => {
                let why = "it is not known whether the first line is data: say so (--no-header), or that it names the columns \
                           (--header)";
                Err((None, IngestProblem::Header { why: why.to_owned() }))
            }
            None => {
                let why = format!(
                    "the first line names none of the table's columns ({}): if it is data, say so (--no-header); if it names \
                     others, say which are meant (--key, --value)",
                    known.join(", ")
                );
                Err((None, IngestProblem::Header { why }))
            }
        }
    }

    /// Whether the names are those of the parts. An index table of which nothing is known has its first line read as
    /// a row: what is
    /// no number is said to be none.
    fn is_usual(&self, names: &[String]) -> bool {
        let all = || self.parts.iter().all(|part| names.iter().any(|there| there == part));
        self.parts.len() > 1 && (self.is_keyed || self.origin.is_some()) && all()
    }

    /// Columns by the names of the source, or else by those of the parts.
    fn named(&self, names: &[String], is_line: bool) -> Result<Vec<ColumnSelector>, ColumnFault> {
        let is_there = |name: &str| names.iter().any(|there| there == name);
        let known = self.parts.iter().any(|part| self.recorded(part).is_some_and(is_there));
        // A header that says nothing: columns are told by their place, unless they are known to have other names.
        let is_silent = !known && !self.parts.iter().any(|part| is_there(part));
        if is_line && is_silent && self.parts.iter().all(|part| self.recorded(part).is_none()) {
            return Ok(self.numbered());
        }
        let column = |part: &&'static str| {
            let name = self.recorded(part).filter(|_| known || is_silent && is_line).unwrap_or(part);
            // A field may be missing from the first of some lines.
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
