//! Keyword tables: one line, a key and its value. The file is read twice, for where keys lie and for what lies there.

use super::arrange::arrange;
use super::error::{IngestError, Problem, Unit};
use super::index::temp_file;
use super::options::{FileOptions, KeywordOptions};
use super::reader::Reader;
use super::{Ingested, Notes, Origin};
use crate::progress::Watcher;
use crate::table::{Band, RawFile, TableSource};
use crate::{DbError, Result};
use sotto_catalog::{Layer, TableKind, ValueKind};
use sotto_layers::Keyword;
use sotto_layers::keyword::{self, BuildError, Builder, Key, Options, Width};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Reads a file into a table.
pub(crate) fn build(
    path: &Path,
    file: &FileOptions,
    options: &KeywordOptions,
    scratch: &Path,
    watch: Watcher<'_>,
) -> Result<Ingested> {
    let source = Source { path, file, options, unit: file.unit(path), watch };
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Err(source.open()?.fault_at(0, None, Problem::Options("a pipe is read only once")).into());
    }
    let usual = Options::new(options.form, options.seed);
    let probes = options.probes.unwrap_or(usual.probes);
    let room = match options.room {
        0 => 0,
        more => source.count()?.saturating_add(more),
    };
    let mut table = Options { room, probes, slots: options.slots, ..usual };
    if let Some(width) = options.values.width {
        let width = u32::try_from(width).map_err(|_| Problem::Options("a value has at most 2^30 bytes"));
        table.width = Width::UpTo(width.map_err(|problem| source.fault(0, problem))?);
    }
    let refused = |error| source.fault(0, Problem::Keys(error));
    let mut builder = Builder::new(table).map_err(refused)?;
    let names: Vec<_> = source.open()?.names().collect();
    let [key, value] = [0, 1].map(|at| names.get(at).cloned().flatten());
    let origin = Origin { key, value, ..Origin::default() };
    let mut lines = 0;
    source.read(|key, value| {
        lines += 1;
        builder.add(key, value.len() as u64).map_err(Problem::Keys).map_err(DbOr::Problem)
    })?;
    if let Some(costing) = &options.costing {
        arrange(&mut builder, options, costing).map_err(|problem| source.fault(0, problem))?;
    }
    let mut layout = match builder.place() {
        Ok(layout) => layout,
        Err(BuildError::NoKeys) => return Err(source.fault(0, Problem::Empty).into()),
        Err(BuildError::Duplicate { first, second }) => {
            let [other, line] = source.lines([first, second])?;
            return Err(source.fault(line, Problem::SameKey { other }).into());
        }
        Err(error) => return Err(refused(error).into()),
    };
    // Strips of a band, before they are solved, lie like rows.
    let (rows, row_bytes) = (layout.keyword().params().rows, layout.keyword().params().row_bytes());
    let (out, temp) = temp_file(scratch)?.into_parts();
    // Slots that nobody has are holes, which read as zero bytes.
    out.set_len(rows * row_bytes).map_err(|e| DbError::io("writing rows", &temp, e))?;
    let mut slot = Vec::new();
    source.read(|key, value| {
        let at = layout.write(key, value, &mut slot).map_err(Problem::Keys).map_err(DbOr::Problem)?;
        out.write_all_at(&slot, at).map_err(|e| DbOr::Db(DbError::io("writing rows", &temp, e)))
    })?;
    let keyword = layout.finish().map_err(refused)?;
    let rows = RawFile::new(out, &temp, rows, row_bytes as usize)?.with_temp(temp);
    let (table, keyword): (Box<dyn TableSource + Send>, _) = match &keyword.params().band {
        None => (Box::new(rows), keyword),
        Some(_) => {
            let (band, keyword) = Band::solve(rows, keyword, scratch, refused, watch)?;
            (Box::new(band), keyword)
        }
    };
    let value = options.value.as_ref().map_or(ValueKind::Bytes, |_| options.values.encoding.kind());
    Ok(Ingested {
        table,
        kind: TableKind::Keyword,
        value,
        layers: vec![keyword_layer(&keyword)?],
        origin,
        notes: Notes { lines, ..Notes::default() },
    })
}

/// The layer as a catalog has it.
pub(crate) fn keyword_layer(keyword: &Keyword) -> Result<Layer> {
    let params = serde_json::to_value(keyword.params())
        .map_err(|_| DbError::Scheme(sotto_core::Misuse::Rule("a layer's parameters are JSON").into()))?;
    Ok(Layer { name: keyword::NAME.to_owned(), params })
}

/// What is wrong with a line, or with the disk.
enum DbOr {
    Problem(Problem),
    Db(DbError),
}

/// The file, to be read as often as it takes.
struct Source<'a> {
    path: &'a Path,
    file: &'a FileOptions,
    options: &'a KeywordOptions,
    unit: Unit,
    watch: Watcher<'a>,
}

impl<'a> Source<'a> {
    fn open(&self) -> Result<Reader<'a>, IngestError> {
        let mut columns = vec![&self.options.key];
        columns.extend(&self.options.value);
        Reader::open(self.path, self.file, &columns, self.watch)
    }

    /// Every key, in its form, and its value.
    fn read(&self, mut each: impl FnMut(&Key, &[u8]) -> Result<(), DbOr>) -> Result<()> {
        let mut reader = self.open()?;
        let mut value = Vec::new();
        while let Some(cells) = reader.next()? {
            // A missing cell may be an empty key.
            let key = cells.first().map_or(Err(Problem::Missing), |cell| {
                self.options.form.canonical(&cell.text()?).map_err(Problem::Key)
            });
            let read = cells.get(1).map(|cell| self.options.values.read(cell, &mut value));
            let key = key.map_err(|problem| reader.fault(Some(0), problem))?;
            read.transpose().map_err(|problem| reader.fault(Some(1), problem))?;
            match each(&key, &value) {
                Ok(()) => {}
                Err(DbOr::Db(error)) => return Err(error),
                Err(DbOr::Problem(Problem::Keys(BuildError::LongValue { bytes, most, .. }))) => {
                    let problem = Problem::TooLong { bytes: bytes as usize, width: most as usize };
                    return Err(reader.fault(Some(1), problem).into());
                }
                Err(DbOr::Problem(problem)) => return Err(reader.fault(Some(0), problem).into()),
            }
        }
        Ok(())
    }

    /// How many keys there are.
    fn count(&self) -> Result<u64> {
        let mut reader = self.open()?;
        while reader.next()?.is_some() {}
        Ok(reader.count())
    }

    /// The lines of keys, which are counted from 1.
    fn lines(&self, keys: [u64; 2]) -> Result<[u64; 2]> {
        let (mut reader, mut lines) = (self.open()?, [0; 2]);
        while reader.next()?.is_some() {
            let here = lines.iter_mut().zip(keys).filter(|(_, key)| *key == reader.count());
            here.for_each(|(line, _)| *line = reader.line());
        }
        Ok(lines)
    }

    fn fault(&self, line: u64, problem: Problem) -> IngestError {
        IngestError { line, unit: self.unit, ..IngestError::of_file(self.path, problem) }
    }
}
