//! Reads Apache Parquet files, one row group after the other, without Arrow.

use super::error::ColumnSelector;
use super::error::{ColumnName, IngestProblem};
use super::line_reader::{Cell, ColumnChooser, ColumnFault, HeaderLine, LineReader, OpenedReader, only};
use ::parquet::basic::Compression;
use ::parquet::data_type::Decimal;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::{Field, reader::RowIter};
use ::parquet::schema::types::Type;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

struct Parquet {
    rows: RowIter<'static>,
    /// Index of each requested column among the columns that are read.
    columns: Vec<usize>,
    row: u64,
    total: u64,
}

/// Opens a file, and finds the columns in its schema. Nested columns cannot be requested.
pub(crate) fn open(path: &Path, choose: ColumnChooser<'_>) -> Result<OpenedReader, ColumnFault> {
    contained(|| open_sound(path, choose)).unwrap_or_else(|problem| Err((None, problem)))
}

/// Runs the library on bytes that may be damaged.
///
/// The library asserts some properties of a file instead of checking them (parquet 60: negative
/// offsets of column chunks, among others), so a damaged file can make it panic. To the user who
/// encodes a table that is a bad file like any other. Nothing that was being read is used
/// afterwards, hence unwind safe.
fn contained<T>(read: impl FnOnce() -> T) -> Result<T, IngestProblem> {
    let why = || "the file is inconsistent: write it again".to_owned();
    catch_unwind(AssertUnwindSafe(read)).map_err(|_| IngestProblem::Format { format: "Parquet", why: why() })
}

fn open_sound(path: &Path, choose: ColumnChooser<'_>) -> Result<OpenedReader, ColumnFault> {
    let file = File::open(path).map_err(|e| (None, IngestProblem::Read(e)))?;
    let failed = |e| (None, problem(&e));
    let reader = SerializedFileReader::new(file).map_err(failed)?;
    let metadata = reader.metadata().file_metadata();
    let total = u64::try_from(metadata.num_rows()).unwrap_or(0);
    let schema = metadata.schema();
    let fields = schema.get_fields();
    let all: Vec<String> = fields.iter().map(|field| field.name().to_owned()).collect();
    let columns = choose(HeaderLine::Names(&all))?.columns;
    let mut found = Vec::new();
    for column in &columns {
        let name = match column {
            ColumnSelector::Number(number) => number.checked_sub(1).and_then(|at| all.get(at)),
            ColumnSelector::Name(name) => Some(name),
        };
        // The library finds a column by its name, so of two columns with one name a number would
        // not select one.
        let at = name.map_or(Ok(None), |name| only(&all, name));
        let missing = || IngestProblem::NoColumn(all.join(", "));
        let at = at.and_then(|at| at.ok_or_else(missing));
        found.push(at.map_err(|problem| (Some(ColumnName::requested(column)), problem))?);
    }
    for (column, &at) in columns.iter().zip(&found) {
        if let Some(codec) = all.get(at).and_then(|name| unread_codec(reader.metadata(), name)) {
            return Err((Some(ColumnName::requested(column)), IngestProblem::Codec(codec)));
        }
    }
    // Only the requested columns are decompressed. They come in the file's order.
    let mut read = found.clone();
    read.sort_unstable();
    read.dedup();
    let selected = read.iter().filter_map(|&at| fields.get(at).cloned()).collect();
    let projection = Type::group_type_builder(schema.name()).with_fields(selected).build().map_err(failed)?;

    let named = |&at: &usize| ColumnName {
        number: Some(at + 1),
        name: fields.get(at).map(|field| field.name().to_owned()),
    };
    let names = found.iter().map(named).collect();
    let columns = found.iter().map(|at| read.partition_point(|other| other < at)).collect();
    let rows = RowIter::from_file_into(Box::new(reader)).project(Some(projection)).map_err(failed)?;
    Ok((Box::new(Parquet { rows, columns, row: 0, total }), names))
}

/// Codec of a column's pages, if this build does not support it.
fn unread_codec(metadata: &ParquetMetaData, name: &str) -> Option<&'static str> {
    let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
    let mut of_column =
        chunks.filter(|chunk| chunk.column_path().parts().first().is_some_and(|part| part == name));
    of_column.find_map(|chunk| match chunk.compression() {
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) | Compression::ZSTD(_) => None,
        Compression::BROTLI(_) => Some("Brotli"),
        Compression::LZ4 | Compression::LZ4_RAW => Some("LZ4"),
        _ => Some("LZO"),
    })
}

impl LineReader for Parquet {
    fn next(&mut self, cells: &mut [Cell]) -> Result<bool, IngestProblem> {
        self.row += 1;
        let Some(row) = contained(|| self.rows.next())? else { return Ok(false) };
        let row = row.map_err(|e| problem(&e))?;
        for (cell, &at) in cells.iter_mut().zip(&self.columns) {
            match row.get_column_iter().nth(at).map(|(_, field)| field) {
                Some(Field::Str(text)) => cell.set(text.as_bytes()),
                Some(Field::Bytes(bytes)) => cell.set(bytes.data()),
                other => *cell = number(other),
            }
        }
        Ok(true)
    }

    fn line(&self) -> u64 {
        self.row
    }

    fn progress(&self) -> (u64, u64) {
        (self.row, self.total)
    }

    fn unit(&self) -> crate::ProgressUnit {
        crate::ProgressUnit::Rows
    }
}

fn number(field: Option<&Field>) -> Cell {
    let signed = |value: i64| u64::try_from(value).map_or(Cell::Negative(value), Cell::Unsigned);
    match field {
        None => Cell::Missing,
        Some(Field::Null) => Cell::Null,
        Some(Field::Byte(value)) => signed((*value).into()),
        Some(Field::Short(value)) => signed((*value).into()),
        Some(Field::Int(value)) => signed((*value).into()),
        Some(Field::Long(value)) => signed(*value),
        Some(Field::UByte(value)) => Cell::Unsigned((*value).into()),
        Some(Field::UShort(value)) => Cell::Unsigned((*value).into()),
        Some(Field::UInt(value)) => Cell::Unsigned((*value).into()),
        Some(Field::ULong(value)) => Cell::Unsigned(*value),
        Some(Field::Bool(value)) => Cell::Bool(*value),
        Some(Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_)) => {
            Cell::Other("a nested value")
        }
        Some(Field::Decimal(value)) => decimal(value),
        Some(Field::Float16(_) | Field::Float(_) | Field::Double(_)) => {
            Cell::Other("a floating-point number (cast the column to BIGINT, or to text)")
        }
        Some(Field::Date(_)) => Cell::Other("a date (cast the column to text)"),
        Some(Field::TimeMillis(_) | Field::TimeMicros(_)) => Cell::Other("a time (cast the column to text)"),
        Some(_) => Cell::Other("a timestamp (cast the column to text)"),
    }
}

/// Converts a decimal. One without digits after its point is an integer; warehouses write every
/// integer this way.
fn decimal(value: &Decimal) -> Cell {
    let data = value.data();
    let mut bytes = [if data.first().is_some_and(|first| first & 0x80 != 0) { 0xff } else { 0 }; 16];
    let place = bytes.len().checked_sub(data.len()).and_then(|from| bytes.get_mut(from..));
    let Some(place) = place.filter(|_| value.scale() == 0) else {
        return Cell::Other(
            "a decimal with digits after the point, or more than 38 (cast the column to BIGINT, or to text)",
        );
    };
    place.copy_from_slice(data);
    let number = i128::from_be_bytes(bytes);
    match (u64::try_from(number), i64::try_from(number)) {
        (Ok(number), _) => Cell::Unsigned(number),
        (_, Ok(number)) => Cell::Negative(number),
        _ => Cell::Bytes(number.to_string().into_bytes()),
    }
}

fn problem(error: &ParquetError) -> IngestProblem {
    IngestProblem::Format { format: "Parquet", why: error.to_string() }
}
