//! Encoding of files into a table.

use crate::fault::{PyFault, work};
use pyo3::prelude::*;
use sotto_catalog::{KeyKind, TableName, ValueKind};
use sotto_client::ClientError;
use sotto_core::{Goal, PartIndex, SchemeEntry};
use sotto_db::ingest::{
    BandPolicy, ColumnSelector, CostModel, Encoding, FileOptions, IndexOptions, KeywordOptions, RangeOptions,
    SourceFormat, SourceLayout, ValueOptions, out_of_proportion,
};
use sotto_db::{
    BatchOptions, DbError, EncodeOptions, IngestOptions, PiecesToWrite, RowProofs, StackDir, TableDir,
    TableSource,
};
use sotto_layers::keyword::KeyForm;
use sotto_plan::default_scheme::LOOKUPS_OF_NAMED;
use sotto_plan::{SchemeChoice, SchemeRequest, TableData};
use sotto_prg::{PublicSeed, SystemRng};
use sotto_wire::MessageSizes;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A column, by its number from 1 on or by its name.
#[derive(FromPyObject)]
pub(crate) enum ColumnRef {
    Number(usize),
    Name(String),
}

/// Keyword arguments of `sotto.encode`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    name: String,
    format: Option<String>,
    header: Option<bool>,
    key: Option<ColumnRef>,
    value: Option<ColumnRef>,
    row: Option<ColumnRef>,
    start: Option<ColumnRef>,
    end: Option<ColumnRef>,
    key_type: String,
    block: u64,
    key_form: String,
    encoding: String,
    row_bytes: Option<usize>,
    headroom: u64,
    scheme: Option<String>,
    batch: Option<usize>,
    parts: Option<u32>,
    part: Option<ColumnRef>,
    lookups: Option<u64>,
    goal: Option<String>,
    set: Option<String>,
    row_proofs: Option<bool>,
    signing_key: Option<PathBuf>,
    again: bool,
    threads: Option<usize>,
    attribution: Option<String>,
}

/// Encodes a file as the next epoch of the table in a folder. Returns the publisher's key, and a
/// JSON summary.
#[pyfunction]
pub(crate) fn encode(
    py: Python<'_>,
    input: PathBuf,
    out: PathBuf,
    options: Options,
) -> PyResult<(String, String)> {
    work(py, move || {
        let name = sotto_binding::error::name(&options.name)?;
        // Checked first: a mistyped option or input should not leave a directory behind.
        let named = options.scheme.as_deref().map(scheme).transpose()?;
        let goal = goal(options.goal.as_deref())?;
        let source = options.source(None)?;
        let missing = |source| DbError::Io { what: "reading", path: input.clone(), source };
        std::fs::metadata(&input).map_err(missing)?;
        let is_new = !out.exists();
        let encoded = options.scheme(named, goal, &source, &input, &out).and_then(|scheme| {
            let source = options.source(Some(scheme.cost_model(&options)))?;
            options.encode(scheme, name, &source, &input, &out)
        });
        if encoded.is_err() && is_new {
            // The first error is the one to report, not a failed cleanup.
            let _ = std::fs::remove_dir_all(&out);
        }
        let (key, info) = encoded?;
        Ok((key, info.json()))
    })
}

/// Scheme of a table, and what its parameters are chosen for.
struct ChosenScheme {
    entry: &'static SchemeEntry,
    goal: Goal,
    lookups: u64,
    /// The choice, where no scheme was named.
    choice: Option<SchemeChoice>,
}

impl ChosenScheme {
    fn cost_model(&self, options: &Options) -> CostModel {
        CostModel {
            entry: self.entry,
            lookups_per_client: self.lookups,
            goal: self.goal,
            set: options.set.clone(),
            batch: options.batch,
        }
    }
}

/// The fields of Python's `Encoded`.
struct EncodedInfo {
    scheme: &'static str,
    choice: Option<SchemeChoice>,
    notes: Vec<String>,
    epoch: u64,
    rows: u64,
    row_bytes: u64,
    once_bytes: u64,
    security_bits: f64,
    failure_log2: f64,
    seconds: f64,
}

impl EncodedInfo {
    fn json(&self) -> String {
        serde_json::json!({
            "scheme": self.scheme,
            "choice": self.choice,
            "notes": self.notes,
            "epoch": self.epoch,
            "rows": self.rows,
            "row_bytes": self.row_bytes,
            "once_bytes": self.once_bytes,
            "security_bits": self.security_bits,
            "failure_log2": self.failure_log2,
            "seconds": self.seconds,
        })
        .to_string()
    }
}

/// What to write: a table, or parts of one.
enum EncodeTarget {
    Pieces(PiecesToWrite),
    Part(PartIndex),
}

impl Options {
    /// The scheme: the one that is named, that of the latest epoch, or the one that costs least.
    fn scheme(
        &self,
        named: Option<&'static SchemeEntry>,
        goal: Goal,
        source: &IngestOptions,
        input: &Path,
        out: &Path,
    ) -> Result<ChosenScheme, PyFault> {
        if let Some(entry) = named {
            let lookups = self.lookups.unwrap_or(LOOKUPS_OF_NAMED);
            return Ok(ChosenScheme { entry, goal, lookups, choice: None });
        }
        if self.goal.is_some() || self.set.is_some() {
            let message = "goal and set choose parameters of a named scheme";
            return Err(PyFault::misuse(message, "give scheme too, or omit them"));
        }
        let existing = sotto_db::latest_scheme(out)?.map(|id| scheme(&id)).transpose()?;
        if let EncodeTarget::Part(_) = self.pieces()? {
            let missing =
                || PyFault::misuse("the table has no front yet", "make it first, with part=\"front\"");
            let entry = existing.ok_or_else(missing)?;
            return Ok(ChosenScheme { entry, goal, lookups: LOOKUPS_OF_NAMED, choice: None });
        }
        TableDir::create(out)?;
        let found = sotto_db::ingest::survey(input, source, out, &sotto_db::progress::silent)?;
        let is_index = !matches!(source.layout, SourceLayout::Range(_));
        let choice = SchemeRequest {
            data: TableData::of_survey(found.table, if is_index { self.headroom } else { 0 }),
            lookups: self.lookups,
            batch: self.batch.map(|batch| u16::try_from(batch).unwrap_or(u16::MAX)),
            parts: self.parts,
            symmetric: false,
            verified: self.row_proofs == Some(true),
            band: false,
            existing,
        }
        .choose()?;
        let SchemeChoice { entry, goal, lookups, .. } = choice;
        Ok(ChosenScheme { entry, goal, lookups, choice: Some(choice) })
    }

    fn encode(
        &self,
        scheme: ChosenScheme,
        name: TableName,
        source: &IngestOptions,
        input: &Path,
        out: &Path,
    ) -> Result<(String, EncodedInfo), PyFault> {
        let (silent, start) = (&sotto_db::progress::silent, Instant::now());
        let ChosenScheme { entry, goal, lookups, choice } = scheme;
        let pieces = match self.pieces()? {
            EncodeTarget::Pieces(pieces) => pieces,
            EncodeTarget::Part(cut) => return self.encode_part(entry, cut, source, input, out),
        };
        let dir = TableDir::create(out)?;
        let lock = dir.lock()?;
        let is_there = dir.latest()?.is_some() || StackDir::find(out).is_some();
        if is_there && !self.again {
            let message = format!("{}: a table exists here", out.display());
            return Err(PyFault::misuse(
                message,
                "give again=True to make its next epoch, or another folder",
            ));
        }
        let key = dir.signing_key(self.signing_key.as_deref(), &mut rng()?)?;
        let is_index = !matches!(source.layout, SourceLayout::Keyword(_) | SourceLayout::Range(_));
        let options = EncodeOptions {
            // Key tables have their headroom in the layout.
            headroom: if is_index { self.headroom } else { 0 },
            lookups_per_client: lookups,
            goal,
            set: self.set.clone(),
            verified: match (self.row_proofs, self.batch) {
                (Some(true), _) => RowProofs::Yes,
                // The tables of a stack are queried together, so the cost of proofs is added many
                // times.
                (Some(false), _) | (_, Some(_)) => RowProofs::No,
                _ => RowProofs::IfCheap,
            },
            threads: self.threads,
            attribution: self.attribution.clone(),
            ..EncodeOptions::new(name, &key)
        };
        let info = match self.batch {
            Some(max_batch) => {
                let batch = BatchOptions {
                    max_lookups: max_batch,
                    seed: PublicSeed::fresh(&mut rng()?),
                    max_queries: &MessageSizes::max_queries,
                };
                let made = sotto_db::encode_batch(entry, input, source, &lock, &batch, &options, silent)?;
                EncodedInfo {
                    scheme: entry.id.0,
                    choice,
                    notes: made.notes.remarks(),
                    epoch: made.stack.epoch.0,
                    rows: made.layers.code().sizes().rows,
                    row_bytes: made.catalog.row_bytes,
                    once_bytes: made.round.artifacts,
                    security_bits: made.round.scheme.as_ref().map_or(0.0, |scheme| scheme.security_bits),
                    failure_log2: made.round.failure_log2().0,
                    seconds: start.elapsed().as_secs_f64(),
                }
            }
            None => {
                let found = sotto_db::ingest(input, source, out, silent)?;
                let (kind, value, layers, mut notes) =
                    (found.kind, found.value, found.layers, found.notes.remarks());
                let options = EncodeOptions { kind, value, layers, ..options };
                let tables: [&dyn TableSource; 1] = [found.table.as_ref()];
                let made = sotto_db::encode_pieces(entry, &tables, &lock, &options, pieces, silent)?;
                lock.keep_origin(&found.origin)?;
                let file_bytes = std::fs::metadata(input).map_or(u64::MAX, |metadata| metadata.len());
                notes.extend(out_of_proportion(made.image_bytes, file_bytes));
                EncodedInfo {
                    scheme: entry.id.0,
                    choice,
                    notes,
                    epoch: made.epoch.0,
                    rows: made.rows,
                    row_bytes: made.row_bytes,
                    once_bytes: made.artifact_bytes,
                    security_bits: made.security_bits,
                    failure_log2: made.failure_log2,
                    seconds: start.elapsed().as_secs_f64(),
                }
            }
        };
        Ok((key.public().to_string(), info))
    }

    /// What is written of the table.
    fn pieces(&self) -> Result<EncodeTarget, PyFault> {
        let no_part =
            || PyFault::misuse("the part does not exist", "give a number from 0 below parts, or \"front\"");
        if self.batch.is_some() && self.parts.is_some() {
            return Err(PyFault::misuse("batch does not apply with parts", "omit batch or parts"));
        }
        match (self.parts, &self.part) {
            (None, None) => Ok(EncodeTarget::Pieces(PiecesToWrite::Whole)),
            (None, Some(_)) => Err(PyFault::misuse("part needs parts", "give parts")),
            (Some(parts), None) => Ok(EncodeTarget::Pieces(PiecesToWrite::All(parts))),
            (Some(parts), Some(ColumnRef::Name(name))) if name == "front" => {
                Ok(EncodeTarget::Pieces(PiecesToWrite::Front(parts)))
            }
            (Some(_), Some(ColumnRef::Name(_))) => Err(no_part()),
            (Some(parts), Some(ColumnRef::Number(part))) => {
                let part = u32::try_from(*part).ok().and_then(|part| PartIndex::new(part, parts));
                Ok(EncodeTarget::Part(part.ok_or_else(no_part)?))
            }
        }
    }

    /// Encodes one part, next to an existing front.
    fn encode_part(
        &self,
        entry: &'static SchemeEntry,
        cut: PartIndex,
        source: &IngestOptions,
        input: &Path,
        out: &Path,
    ) -> Result<(String, EncodedInfo), PyFault> {
        let (silent, start) = (&sotto_db::progress::silent, Instant::now());
        if let SourceLayout::Keyword(_) = source.layout {
            let message =
                "part does not apply to keyword tables, whose rows differ with each reading of a file";
            return Err(PyFault::misuse(message, "omit part to make all parts at once"));
        }
        let dir = TableDir::open(out)?;
        let _held = dir.share()?;
        let front = dir.open_latest()?;
        let found = sotto_db::ingest(input, source, out, silent)?;
        let made = sotto_db::encode_part(entry, found.table.as_ref(), &front, cut, self.threads, silent)?;
        let catalog = front.catalog();
        let report = catalog.terms(entry).map_err(DbError::from)?.report;
        let once = catalog.client_artifacts().map(|entry| entry.bytes).sum();
        let info = EncodedInfo {
            scheme: entry.id.0,
            choice: None,
            notes: Vec::new(),
            epoch: made.epoch.0,
            rows: catalog.rows,
            row_bytes: catalog.row_bytes,
            once_bytes: once,
            security_bits: report.security.bits,
            failure_log2: report.failure_log2,
            seconds: start.elapsed().as_secs_f64(),
        };
        Ok((front.signed_catalog().public_key().to_string(), info))
    }

    /// How the file is read. Without costs, keys are only counted.
    fn source(&self, costing: Option<CostModel>) -> Result<IngestOptions, PyFault> {
        Ok(IngestOptions {
            file: file(self.format.as_deref(), self.header)?,
            layout: self.layout(costing, self.format.as_deref() == Some("raw"))?,
        })
    }

    fn layout(&self, costing: Option<CostModel>, is_raw: bool) -> Result<SourceLayout, PyFault> {
        let encoding: Encoding =
            self.encoding.parse().map_err(|why| PyFault::misuse(why, "give another encoding"))?;
        let values = ValueOptions { encoding, width: self.row_bytes, null: None };
        let column = |named: &Option<ColumnRef>| named.as_ref().map(column);
        if is_raw {
            let fix = "give row_bytes";
            let row_bytes = self
                .row_bytes
                .ok_or_else(|| PyFault::misuse("a raw file needs the width of its rows", fix))?;
            let value = if encoding == Encoding::Text { ValueKind::Bytes } else { encoding.kind() };
            return Ok(SourceLayout::Raw { row_bytes, value });
        }
        if let Some(key) = column(&self.key) {
            let form: KeyForm =
                self.key_form.parse().map_err(|why| PyFault::misuse(why, "give another form"))?;
            let (value, headroom) = (column(&self.value), self.headroom);
            let seed = PublicSeed::fresh(&mut rng()?);
            let (probes, slots) = (None, None);
            // As in the `sotto` command: sums of rows prove none of them, and batch codes fetch
            // rows.
            let bands = match (self.row_proofs, self.batch) {
                (Some(true), _) | (_, Some(_)) => BandPolicy::Never,
                (Some(false), _) => BandPolicy::IfCheaper,
                _ => BandPolicy::IfNoRowProofs,
            };
            return Ok(SourceLayout::Keyword(KeywordOptions {
                key,
                form,
                value,
                values,
                headroom,
                probes,
                slots,
                costing,
                seed,
                bands,
            }));
        }
        let fix = "give value, the name of a column or its number from 1";
        let value =
            column(&self.value).ok_or_else(|| PyFault::misuse("no column of values is given", fix))?;
        let Some(start) = column(&self.start) else {
            return Ok(SourceLayout::Index(IndexOptions { value, row: column(&self.row), values }));
        };
        // Ranges of prefixes, or of single keys.
        let end = column(&self.end).unwrap_or_else(|| start.clone());
        let key = match self.key_type.as_str() {
            "ipv4" => KeyKind::Ipv4,
            "u32" => KeyKind::U32,
            "u64" => KeyKind::U64,
            other => {
                return Err(PyFault::misuse(
                    format!("unknown type of keys {other}"),
                    "give ipv4, u32 or u64",
                ));
            }
        };
        Ok(SourceLayout::Range(RangeOptions {
            start,
            end,
            value,
            values,
            ..RangeOptions::new(key, self.block)
        }))
    }
}

fn column(named: &ColumnRef) -> ColumnSelector {
    match named {
        ColumnRef::Number(number) => ColumnSelector::Number(*number),
        ColumnRef::Name(name) => ColumnSelector::Name(name.clone()),
    }
}

fn file(format: Option<&str>, header: Option<bool>) -> Result<FileOptions, PyFault> {
    let parse =
        |text: &str| text.parse::<SourceFormat>().map_err(|why| PyFault::misuse(why, "give another format"));
    let format = format.filter(|format| *format != "raw").map(parse).transpose()?;
    Ok(FileOptions { format, header, ..FileOptions::default() })
}

/// A scheme by its id, or by its name alone, which stands for the last of its versions.
fn scheme(id: &str) -> Result<&'static SchemeEntry, PyFault> {
    let known = || sotto_registry::SCHEMES.iter().map(|entry| entry.id.0).collect::<Vec<_>>().join(", ");
    let none = || PyFault::misuse(format!("unknown scheme {id:?}"), format!("give one of {}", known()));
    sotto_registry::find_by_name(id).ok_or_else(none)
}

fn goal(name: Option<&str>) -> Result<Goal, PyFault> {
    let Some(name) = name else { return Ok(Goal::default()) };
    let known = || Goal::ALL.map(Goal::name).join(", ");
    let none = || PyFault::misuse(format!("unknown goal {name:?}"), format!("give one of {}", known()));
    Goal::ALL.into_iter().find(|goal| goal.name() == name).ok_or_else(none)
}

fn rng() -> Result<SystemRng, PyFault> {
    sotto_prg::system_rng().map_err(|error| ClientError::from(error).into())
}
