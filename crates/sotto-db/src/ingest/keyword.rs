//! Reads keyword tables: each line is a key and its value. The file is read twice: first to arrange
//! the keys as the scheme's costs suggest, then to write keys and values.

use crate::batch_sizes::code_sizes;
use crate::files::temp_file;
use crate::ingest::error::IngestProblem;
use crate::ingest::options::{BandPolicy, CostModel, FileOptions, KeywordOptions};
use crate::ingest::pairs::{KeyValueFile, LineError, PairColumns};
use crate::ingest::{IngestedTable, Notes};
use crate::layout::{LayoutSearch, RowProofs};
use crate::progress::Watcher;
use crate::table::{BandTable, RawFile, TableSource};
use crate::{DbError, Result};
use sotto_catalog::{LayerEntry, Packing, TableKind, ValueKind, catalog};
use sotto_core::{Goal, Misuse, ParamsReport, SumElement, TableShape};
use sotto_layers::Keyword;
use sotto_layers::keyword::{
    self, BuildError, BuildOptions, KeyStats, KeywordBuilder, KeywordSizes, ValueWidth,
};
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
    let headroom = match options.headroom {
        0 => 0,
        more => source.count()?.saturating_add(more),
    };
    let mut table = BuildOptions { headroom, probes, slots: options.slots, ..defaults };
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

/// Server work, in 8-bit multiply-adds, that costs as much as one byte on the wire: `simplepir`
/// chooses its matrix by this ratio, which is 2,000 bytes of the table with four multiply-adds
/// each.
const WORK_OF_A_BYTE: f64 = 8000.0;

/// Tables of equal shape that a request queries equally often.
struct TableGroup {
    tables: u64,
    /// Rows of each table.
    rows: u64,
    buckets: u64,
    lookups: usize,
}

/// Constraints on an arrangement that the options of an encoder leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrangementLimits {
    /// Number of rows in which a key may be stored; `None` for the cheapest.
    pub probes: Option<u32>,
    /// Keys in a row; `None` for the cheapest.
    pub slots: Option<u32>,
    /// Whether keys may be stored in sums of rows.
    pub bands: BandPolicy,
}

/// Arrangement of a table's keys in its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyArrangement {
    /// Each key is stored in one of several rows.
    Rows {
        /// Number of rows in which a key may be stored.
        probes: u32,
        /// Keys in a row.
        slots: u32,
    },
    /// Each key's value is the sum of several rows.
    Band {
        /// Number of strips of the band.
        strips: u64,
        /// Elements that are added up.
        unit: SumElement,
    },
}

impl KeyArrangement {
    /// Sizes of a table with this arrangement for the counted keys.
    ///
    /// # Errors
    /// The errors of [`KeyStats::sizes`].
    pub fn sizes(self, counted: &KeyStats) -> Result<KeywordSizes, BuildError> {
        match self {
            KeyArrangement::Rows { probes, slots } => counted.sizes(probes, slots),
            KeyArrangement::Band { strips, unit } => counted.band_sizes(strips, unit),
        }
    }

    /// Number of rows that a lookup of a key fetches.
    pub fn probes(self) -> u32 {
        match self {
            KeyArrangement::Rows { probes, .. } => probes,
            KeyArrangement::Band { .. } => 1,
        }
    }
}

/// Chooses the cheapest arrangement within `open`; `None` if the scheme has parameters for none.
///
/// # Errors
/// [`IngestProblem::Options`] if sums of rows are requested and the scheme cannot add rows up.
pub fn arrangement(
    counted: &KeyStats,
    open: ArrangementLimits,
    costing: &CostModel,
) -> Result<Option<KeyArrangement>, IngestProblem> {
    let price = |probes: u32, slots: u32| {
        let sizes = counted.sizes(probes, slots).ok()?;
        Some((costing.price(probes, sizes, false)?, probes, slots))
    };
    let cheapest = |candidates: &mut dyn Iterator<Item = (u32, u32)>| {
        let priced = candidates.filter_map(|(probes, slots)| price(probes, slots));
        priced.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let may = |probes: u32| open.probes.is_none_or(|given| given == probes);
    let with = |probes: u32, defaults: &[u32]| {
        let slots = open.slots.map_or_else(|| defaults.to_vec(), |slots| vec![slots]);
        slots.into_iter().filter(move |_| may(probes)).map(move |slots| (probes, slots))
    };
    // Rows that are spread over several records can have any width: try powers of two first, then
    // widths near the best.
    let doubled: Vec<u32> = (2..=16).map(|log2| 1 << log2).collect();
    let best_cut = cheapest(&mut with(1, &doubled));
    let near = best_cut.map(|(.., slots)| {
        let step = |eighths: u32| (f64::from(slots) * f64::from(eighths) / 8.0) as u32;
        (5..=14).map(step).filter(|slots| *slots >= 4).collect::<Vec<_>>()
    });
    let few = (2..=4).flat_map(|probes| with(probes, &[1, 2, 4, 8]).collect::<Vec<_>>());
    let near = near.unwrap_or_default();
    let in_rows = cheapest(&mut with(1, &near).chain(few))
        .into_iter()
        .chain(best_cut)
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let given = open.probes.is_some() || open.slots.is_some();
    let is_taken = |price: f64| match (open.bands, in_rows) {
        (BandPolicy::Always, _) => true,
        (BandPolicy::IfCheaper, Some((of_rows, ..))) if !given => price < of_rows,
        (BandPolicy::IfNoRowProofs, Some((of_rows, probes, slots))) if !given => {
            price < of_rows && !counted.sizes(probes, slots).is_ok_and(|sizes| costing.proves(sizes))
        }
        _ => false,
    };
    let is_open = open.bands == BandPolicy::Always || (open.bands != BandPolicy::Never && !given);
    let band = is_open.then(|| costing.band(counted)).flatten().filter(|(price, ..)| is_taken(*price));
    match (band, in_rows) {
        (Some((_, strips, unit)), _) => Ok(Some(KeyArrangement::Band { strips, unit })),
        (None, _) if open.bands == BandPolicy::Always => {
            let why = "keys cannot be encoded as sums of rows: the scheme cannot sum records, or its records are \
                 not single rows";
            Err(IngestProblem::Options(why))
        }
        (None, in_rows) => Ok(in_rows.map(|(_, probes, slots)| KeyArrangement::Rows { probes, slots })),
    }
}

/// Builds a table with the chosen arrangement.
pub(super) fn arrange(
    builder: &mut KeywordBuilder,
    options: &KeywordOptions,
    costing: &CostModel,
) -> Result<(), IngestProblem> {
    let KeywordOptions { probes, slots, bands, .. } = *options;
    match arrangement(&builder.counted(), ArrangementLimits { probes, slots, bands }, costing)? {
        Some(KeyArrangement::Band { strips, unit }) => builder.arrange_band(strips, unit),
        Some(KeyArrangement::Rows { probes, slots }) => builder.arrange(probes, slots),
        None => {}
    }
    Ok(())
}

/// Numbers of strips to try, in eighths of the number of narrow entries that the scheme packs into
/// a record.
const STRIPS: [u64; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32];

impl CostModel {
    /// Price, number of strips and element of the cheapest band; `None` if the scheme has no such
    /// table.
    fn band(&self, counted: &KeyStats) -> Option<(f64, u64, SumElement)> {
        let unit = self.entry.sum?;
        // The size of an entry does not depend on the number of strips, nor the number of rows on
        // their width.
        let entries = (0..10).find_map(|log4| {
            let strips = 1 << (2 * log4);
            let KeywordSizes { rows, row_bytes, .. } = counted.band_sizes(strips, unit).ok()?;
            Some((rows.saturating_mul(strips), row_bytes / strips))
        });
        let (entries, entry_bytes) = entries?;
        let defaults = self.report(&self.sums(entries, entry_bytes))?.record_bytes / entry_bytes;
        let mut tried: Vec<u64> = STRIPS.iter().map(|eighths| (defaults * eighths / 8).max(1)).collect();
        tried.dedup();
        let price = |strips: u64| {
            let sizes = counted.band_sizes(strips, unit).ok()?;
            let report = self.report(&self.sums(sizes.rows, sizes.row_bytes))?;
            let packing =
                Packing::new(sizes.rows, sizes.row_bytes, report.records, report.record_bytes).ok()?;
            let are_rows = packing.rows_per_record() == 1 && packing.records_per_row() == 1;
            Some((self.price(1, sizes, true).filter(|_| are_rows)?, strips, unit))
        };
        tried.into_iter().filter_map(price).min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Whether rows of these sizes would be verified one by one, as they are where that is cheap.
    fn proves(&self, KeywordSizes { rows, row_bytes, .. }: KeywordSizes) -> bool {
        let plan = LayoutSearch { entry: self.entry, rows, shape: self.shape(rows, row_bytes, 1) };
        plan.choose(RowProofs::IfCheap).is_ok_and(|layout| layout.path.is_some())
    }

    fn shape(&self, rows: u64, row_bytes: u64, buckets: u64) -> TableShape {
        let (goal, set) = (self.goal, self.set.clone());
        TableShape { buckets, goal, set, ..TableShape::new(rows, row_bytes, self.lookups_per_client) }
    }

    /// The shape of a table whose rows are added up.
    fn sums(&self, rows: u64, row_bytes: u64) -> TableShape {
        TableShape { sums: true, ..self.shape(rows, row_bytes, 1) }
    }

    /// The scheme's report on parameters for a table of this shape.
    fn report(&self, shape: &TableShape) -> Option<ParamsReport> {
        (self.entry.report)(&(self.entry.select)(shape).ok()?).ok()
    }

    /// Tables and lookups of one request: of one key, or of a whole round of a batch code.
    fn parts(&self, probes: u32, rows: u64, row_bytes: u64) -> Option<Vec<TableGroup>> {
        let whole = |lookups| TableGroup { tables: 1, rows, buckets: 1, lookups };
        let Some(batch) = self.batch else { return Some(vec![whole(probes as usize)]) };
        let items = batch.saturating_mul(probes as usize);
        let sizes = code_sizes(self.entry, &self.shape(rows, row_bytes, 1), items).ok()?;
        let (buckets, rows) = ((sizes.copies * sizes.buckets) as u64, sizes.bucket_rows());
        let of_buckets = match self.entry.batch {
            Some(_) => TableGroup { tables: 1, rows: rows * buckets, buckets, lookups: 1 },
            None => TableGroup { tables: buckets, rows, buckets: 1, lookups: 1 },
        };
        let groups = [(buckets > 0).then_some(of_buckets), (sizes.spare > 0).then(|| whole(sizes.spare))];
        Some(groups.into_iter().flatten().collect())
    }

    /// Price of a request, for rows or for sums of rows, in bytes on the wire; `None` if the scheme
    /// does not serve such a table.
    fn price(&self, probes: u32, sizes: KeywordSizes, sums: bool) -> Option<f64> {
        let KeywordSizes { rows, row_bytes, catalog_bytes } = sizes;
        let (mut up, mut down, mut once, mut work) = (0.0, 0.0, catalog_bytes as f64, 0.0);
        for TableGroup { tables, rows, buckets, lookups } in self.parts(probes, rows, row_bytes)? {
            let report = self.report(&TableShape { sums, ..self.shape(rows, row_bytes, buckets) })?;
            let packing = Packing::new(rows, row_bytes, report.records, report.record_bytes).ok()?;
            catalog::gate(&report, &packing).ok()?;
            // Clients with durable state look up a row in one record.
            if self.entry.state.is_some() && packing.records_per_row() > 1 {
                return None;
            }
            let costs = &report.costs;
            let queries = tables as f64 * lookups as f64 * packing.records_per_row() as f64;
            up += costs.query_bytes as f64 * queries;
            down += costs.answer_bytes as f64 * queries;
            once += tables as f64 * costs.artifact_bytes.saturating_add(costs.keys_bytes) as f64;
            work += costs.server_ops as f64 * queries;
        }
        let each = (up + down) * self.entry.servers as f64;
        let bytes = each + once / self.lookups_per_client.max(1) as f64;
        Some(match self.goal {
            Goal::ServerTime => bytes + work / WORK_OF_A_BYTE,
            Goal::QueryBytes => up,
            Goal::TotalBytes => bytes,
            Goal::Rate => down,
        })
    }
}
