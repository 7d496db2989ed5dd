//! Encodes rows by number as the file of the next epoch: an entry for each row, unchanged or after
//! its length.

use super::description::UseCaseKind;
use super::encode::{BLOCK, ImageDraft, UseCaseOptions, UseCaseSummary, ValueInfo};
use super::error::ImageError;
use crate::keyword::table::plaintexts;
use crate::length_prefix;
use crate::use_case::UseCase;
use sotto_bfv::mulpir::EntryShape;
use sotto_catalog::RowForm;
use sotto_db::image::header::FilePart;
use sotto_db::table::TableSource;
use sotto_db::{Watcher, WriteLock};

/// Encodes rows as the next epoch of an index table. Entry `i` is row `i`; with `lengths`, it is
/// the value that row `i` contains in that form, after its length.
///
/// # Errors
/// [`ImageError`].
pub fn encode_index(
    rows: &dyn TableSource,
    lengths: Option<RowForm>,
    how: &UseCaseOptions,
    lock: &WriteLock,
    watch: Watcher<'_>,
) -> Result<UseCaseSummary, ImageError> {
    let before = lengths.map_or(0, RowForm::overhead);
    let longest = (rows.row_bytes() as u64).saturating_sub(before);
    let (kind, width) = match lengths {
        None => (UseCaseKind::Index, Some(longest)),
        Some(_) => (UseCaseKind::IndexWithLengths, length_prefix::entry_bytes(longest)),
    };
    let width = width.and_then(|width| usize::try_from(width).ok());
    let width = width.ok_or_else(|| ImageError::Asked("rows are longer than the largest entry".into()))?;
    let codec = UseCase::codec(&how.set, how.weak)?;
    let entries = usize::try_from(rows.rows()).map_err(|_| ImageError::TooMany { most: u64::MAX })?;
    let dimensions = EntryShape::quickest(plaintexts(&codec, entries, width));
    let shape = EntryShape::new(entries, width, codec.kit().plaintext_bytes(), dimensions, 1)?;
    let values = ValueInfo { longest, oprf: None };
    let draft = ImageDraft::new(how, kind, lock, vec![(shape, rows.rows())], values, &codec, watch)?;
    let entry = lengths.map(|read| (read, length_prefix::form(longest)));
    let (mut first, mut at, mut block) = (0, 0, Vec::new());
    while first < rows.rows() {
        let some = ((BLOCK / width).max(1) as u64).min(rows.rows() - first);
        block.resize(some as usize * rows.row_bytes(), 0);
        rows.read(first, &mut block).map_err(|e| draft.writer.failed(e))?;
        if let Some((read, write)) = entry {
            block = with_lengths(&block, rows.row_bytes(), read, write, width)?;
        }
        draft.put(FilePart::Entries, at, &block)?;
        (first, at) = (first + some, at + block.len() as u64);
    }
    draft.finish(&codec, watch)
}

/// Converts rows of one form into entries of another.
fn with_lengths(
    rows: &[u8],
    row_bytes: usize,
    read: RowForm,
    write: RowForm,
    width: usize,
) -> Result<Vec<u8>, ImageError> {
    let wrong = || ImageError::Asked("a row has a length prefix that is longer than the row".into());
    let mut entries = Vec::with_capacity(rows.len() / row_bytes * width);
    for row in rows.chunks_exact(row_bytes) {
        let mut value = read.value(row.to_vec()).map_err(|_| wrong())?;
        write.write_value(&mut value, width).ok_or_else(wrong)?;
        entries.append(&mut value);
    }
    Ok(entries)
}
