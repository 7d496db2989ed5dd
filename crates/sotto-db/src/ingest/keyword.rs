//! Reads keyword tables: each line is a key and its value. The file is read twice: first to arrange
//! the keys, then to write keys and values.

use super::arrange::arrange;
use super::error::IngestProblem;
use super::options::{FileOptions, KeywordOptions};
use super::pairs::{KeyValueFile, LineError, PairColumns};
use super::{IngestedTable, Notes};
use crate::files::temp_file;
use crate::progress::Watcher;
use crate::table::{BandTable, RawFile, TableSource};
use crate::{DbError, Result};
use sotto_catalog::{LayerEntry, TableKind, ValueKind};
use sotto_core::Misuse;
use sotto_layers::Keyword;
use sotto_layers::keyword::{self, BuildError, BuildOptions, KeyStats, KeywordBuilder, ValueWidth};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Reads a file into a keyword table.
pub(crate) fn build(
    path: &Path,
    file: &FileOptions,
    options: &KeywordOptions,
    scratch: &Path,
    watch: Watcher<'_>,
) -> Result<IngestedTable> {
    let source = source(path, file, options, watch)?;
    let Collected { mut builder, notes, repeated } = collect(&source, options)?;
    let refused = |error| source.fault(0, IngestProblem::Keys(error));
    let origin = source.origin()?;
    if let Some(costing) = &options.costing {
        arrange(&mut builder, options, costing).map_err(|problem| source.fault(0, problem))?;
    }
    let mut layout = match builder.place() {
        Ok(layout) => layout,
        Err(BuildError::NoKeys) => return Err(source.fault(0, IngestProblem::Empty).into()),
        Err(BuildError::Duplicate { first, second }) => {
            let [other, line] = source.lines([first, second])?;
            return Err(source.fault(line, IngestProblem::SameKey { other }).into());
        }
        Err(error) => return Err(refused(error).into()),
    };
    // Strips of a band are stored as rows until they are solved.
    let (rows, row_bytes) = (layout.keyword().params().rows, layout.keyword().params().row_bytes());
    let (out, temp) = temp_file(scratch)?.into_parts();
    // Unused slots are holes, which read as zero bytes.
    out.set_len(rows * row_bytes).map_err(|e| DbError::io("writing rows", &temp, e))?;
    let (mut slot, mut entry, mut repeated) = (Vec::new(), 0, repeated.into_iter().peekable());
    source.read(|key, value| {
        entry += 1;
        if repeated.next_if_eq(&entry).is_some() {
            return Ok(());
        }
        let at = layout.write(key, value, &mut slot).map_err(IngestProblem::Keys).map_err(LineError::Line)?;
        out.write_all_at(&slot, at).map_err(|e| LineError::Db(DbError::io("writing rows", &temp, e)))
    })?;
    let keyword = layout.finish().map_err(refused)?;
    let rows = RawFile::new(out, &temp, rows, row_bytes as usize)?.with_temp(temp);
    let (table, keyword): (Box<dyn TableSource + Send>, _) = match &keyword.params().band {
        None => (Box::new(rows), keyword),
        Some(_) => {
            let (band, keyword) = BandTable::solve(rows, keyword, scratch, refused, watch)?;
            (Box::new(band), keyword)
        }
    };
    let value = options.value.as_ref().map_or(ValueKind::Bytes, |_| options.values.encoding.kind());
    Ok(IngestedTable {
        table,
        kind: TableKind::Keyword,
        value,
        layers: vec![keyword_layer(&keyword)?],
        origin,
        notes,
    })
}

/// Statistics of a file's keys and values, and its number of lines.
pub(crate) fn count(
    path: &Path,
    file: &FileOptions,
    options: &KeywordOptions,
    watch: Watcher<'_>,
) -> Result<(KeyStats, u64)> {
    let source = source(path, file, options, watch)?;
    let Collected { builder, notes, .. } = collect(&source, options)?;
    if notes.lines == 0 {
        return Err(source.fault(0, IngestProblem::Empty).into());
    }
    Ok((builder.counted(), notes.lines))
}

fn source<'a>(
    path: &'a Path,
    file: &'a FileOptions,
    options: &'a KeywordOptions,
    watch: Watcher<'a>,
) -> Result<KeyValueFile<'a>> {
    let columns = PairColumns {
        key: &options.key,
        form: options.form,
        value: options.value.as_ref(),
        values: &options.values,
    };
    KeyValueFile::new(path, file, columns, watch)
}

/// Result of the first pass over a file.
struct Collected {
    builder: KeywordBuilder,
    notes: Notes,
    /// Numbers of keys that occurred before, from 1. Only sets may have any.
    repeated: Vec<u64>,
}

/// First pass over a file, which collects every key. If a key is longer than the default allows, a
/// second pass has space for the longest.
fn collect(source: &KeyValueFile<'_>, options: &KeywordOptions) -> Result<Collected> {
    let defaults = BuildOptions::new(options.form, options.seed);
    let probes = options.probes.unwrap_or(defaults.probes);
    let room = match options.headroom {
        0 => 0,
        more => source.count()?.saturating_add(more),
    };
    let mut table = BuildOptions { room, probes, slots: options.slots, ..defaults };
    if let Some(width) = options.values.width {
        let width = u32::try_from(width)
            .map_err(|_| IngestProblem::Options("expected a value of at most 2^30 bytes"));
        table.width = ValueWidth::UpTo(width.map_err(|problem| source.fault(0, problem))?);
    }
    loop {
        let begun = KeywordBuilder::new(table.clone());
        let mut builder = begun.map_err(|error| source.fault(0, IngestProblem::Keys(error)))?;
        let mut longest = 0;
        let notes = source.read(|key, value| {
            longest = longest.max(key.len() as u32);
            match longest > table.key_bytes {
                true => Ok(()),
                false => {
                    builder.add(key, value.len() as u64).map_err(IngestProblem::Keys).map_err(LineError::Line)
                }
            }
        })?;
        if longest > table.key_bytes {
            // No key is longer than its form allows, or it would have been refused.
            table.key_bytes = longest.next_power_of_two().min(options.form.max_bytes());
            continue;
        }
        let repeated = if options.value.is_none() { builder.drop_repeated() } else { Vec::new() };
        let notes = Notes { repeated_keys: repeated.len() as u64, ..notes };
        return Ok(Collected { builder, notes, repeated });
    }
}

/// Catalog entry of the keyword layer.
pub(crate) fn keyword_layer(keyword: &Keyword) -> Result<LayerEntry> {
    let params = serde_json::to_value(keyword.params());
    let params = params.map_err(|_| Misuse::Rule("the layer's parameters are not JSON"))?;
    Ok(LayerEntry { name: keyword::NAME.to_owned(), params })
}
