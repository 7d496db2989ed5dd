//! Reads raw files: rows one after the other, and nothing else.

use super::error::{IngestError, IngestProblem};
use super::source::SourceFile;
use super::{IngestedTable, Notes, SourceColumns};
use crate::progress::{Progress, ProgressUnit, Watcher};
use crate::table::RawFile;
use crate::{DbError, Result};
use sotto_catalog::{RowForm, TableKind, ValueKind};
use sotto_core::ExpectOrDefault;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// Uses the file as it is; a compressed one is decompressed into a temporary file.
pub(crate) fn build(
    path: &Path,
    row_bytes: usize,
    value: ValueKind,
    scratch: &Path,
    watch: Watcher<'_>,
) -> Result<IngestedTable> {
    let fault = |problem| IngestError::of_file(path, problem);
    if row_bytes == 0 {
        return Err(fault(IngestProblem::Options("a raw file needs the number of bytes of a row")).into());
    }
    let read = |e| DbError::from(fault(IngestProblem::Read(e)));
    // Decided by the name: the first bytes of plain rows may be anything, including those of a
    // compressed file.
    let extension = path.extension().and_then(|extension| extension.to_str());
    let compressed = matches!(extension, Some("gz" | "zst"));
    let whole = |bytes: u64| match bytes {
        0 => Err(fault(IngestProblem::Empty)),
        bytes if bytes % row_bytes as u64 != 0 => {
            Err(fault(IngestProblem::PartialRow { bytes, width: row_bytes }))
        }
        bytes => Ok(bytes / row_bytes as u64),
    };
    let table = if compressed {
        let (mut source, counts) = SourceFile::open(path).map_err(read)?;
        let temp = crate::files::temp_file(scratch)?;
        let failed = |e| DbError::io("decompressing", temp.path(), e);
        let mut block = vec![0; 1 << 20];
        let mut bytes = 0;
        loop {
            let count = source.read(&mut block).map_err(read)?;
            counts.line_ends();
            if count == 0 {
                break;
            }
            temp.as_file()
                .write_all(block.get(..count).expect_or_default("what was read fits the block"))
                .map_err(failed)?;
            bytes += count as u64;
            let (done, total) = counts.progress();
            watch(Progress { stage: "read", done, total, unit: ProgressUnit::Bytes });
        }
        let rows = whole(bytes)?;
        let (file, temp) = temp.into_parts();
        RawFile::new(file, &temp, rows, row_bytes)?.with_temp(temp)
    } else {
        let file = File::open(path).map_err(read)?;
        let rows = whole(file.metadata().map_err(read)?.len())?;
        RawFile::new(file, path, rows, row_bytes)?
    };
    let notes = Notes { lines: crate::TableSource::rows(&table), ..Notes::default() };
    let origin = SourceColumns::default().of_values(RowForm::Whole, value);
    Ok(IngestedTable {
        table: Box::new(table),
        kind: TableKind::Index,
        value,
        layers: Vec::new(),
        origin,
        notes,
    })
}
