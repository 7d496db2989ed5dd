//! The arguments for the source of a table: which file, which columns, which kind of table, and the
//! options of the reader; and arguments that name a scheme, or the goal of its parameters.

use crate::failure::{Failure, FileContext, Result};
use crate::screen::{Screen, units};
use clap::ValueEnum;
use sotto_catalog::{KeyKind, ValueKind};
use sotto_core::{Goal, SchemeEntry};
use sotto_db::ingest::{
    BandPolicy, ColumnSelector, CostModel, Encoding, FileOptions, IndexOptions, IngestOptions,
    KeywordOptions, RangeOptions, SourceFormat, SourceLayout, ValueOptions, survey,
};
use sotto_db::table::BlockRule;
use sotto_layers::keyword::KeyForm;
use sotto_plan::{KeyChoice as Arranged, TableData};
use sotto_prg::PublicSeed;
use std::path::{Path, PathBuf};

/// How a source file is read.
#[derive(Debug, clap::Args)]
pub(crate) struct SourceArgs {
    /// Source file; .gz and .zst are decompressed
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
    /// Format of the file [default: by its name]
    #[arg(long, value_enum, default_value = "auto", hide_default_value = true)]
    format: FormatArg,
    /// Column of values, by name or by number from 1
    #[arg(long, value_name = "COL")]
    value: Option<ColumnSelector>,
    /// Index tables: column of row numbers [default: the order of the file]
    #[arg(long, value_name = "COL", conflicts_with_all = ["start", "end"])]
    row: Option<ColumnSelector>,
    /// Keyword tables: column of keys. Without --value, a lookup only says whether the table has a
    /// key
    #[arg(long, value_name = "COL", conflicts_with_all = ["row", "start", "end"])]
    key: Option<ColumnSelector>,
    /// Keyword tables: form that keys are normalized to: text, bytes, domain, email, ip, md5 (also
    /// NTLM), sha1, sha256, phone
    #[arg(long, default_value = "text", requires = "key")]
    key_form: KeyForm,
    /// Number of rows, or keys, that updates can add [default: none, apart from what is left in
    /// shared records]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    pub(crate) headroom: u64,
    /// Keyword tables: number of rows that a lookup fetches, of which one may have the key, 1 to 4
    /// [default: the cheapest]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4), requires = "key")]
    probes: Option<u32>,
    /// Keyword tables: number of keys in a row [default: the cheapest]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536), requires = "key")]
    slots: Option<u32>,
    /// Keyword tables: encode keys in sums of rows, if the scheme adds rows up [default: if a
    /// lookup costs less]
    #[arg(long, requires = "key", conflicts_with_all = ["probes", "slots", "batch", "row_proofs"])]
    band: bool,
    /// Range tables: column of each range's first key, or of prefixes such as 192.0.2.0/24
    #[arg(long, value_name = "COL")]
    start: Option<ColumnSelector>,
    /// Range tables: column of each range's last key [default: --start has prefixes or single keys]
    #[arg(long, value_name = "COL", requires = "start")]
    end: Option<ColumnSelector>,
    /// Range tables: type of keys
    #[arg(long, value_enum, default_value = "u64")]
    key_type: KeyTypeArg,
    /// Range tables: keys per row
    #[arg(long, value_name = "N", conflicts_with = "block_bits", requires = "start")]
    block: Option<u64>,
    /// Range tables: keys per row, as the exponent of a power of two
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(0..=63), requires = "start")]
    block_bits: Option<u8>,
    /// Range tables: value of a block whose keys have several: that of its first key, or of most
    /// keys
    #[arg(long, value_enum, default_value = "first")]
    block_value: BlockValueArg,
    /// Range tables: first key of the table
    #[arg(long, value_name = "KEY", default_value = "0")]
    first: String,
    /// Range tables: last key of the table [default: the last address; for numbers, the last key of
    /// any range]
    #[arg(long, value_name = "KEY")]
    last: Option<String>,
    /// Range tables: value of keys outside all ranges [default: zero bytes]
    #[arg(long, value_name = "VALUE", default_value = "", hide_default_value = true)]
    empty: String,
    /// Encoding of values in the file: text, raw, hex, base64, u8, u16, u32, u64
    #[arg(long, default_value = "text")]
    pub(crate) encoding: Encoding,
    /// Maximum bytes of a value; in a raw file, bytes of each row [default: those of the longest
    /// value]
    #[arg(long, value_name = "N")]
    row_bytes: Option<usize>,
    /// Value in place of a null or a missing field in Parquet and JSON lines [default: they are
    /// refused]
    #[arg(long, value_name = "VALUE")]
    null: Option<String>,
    /// The first line of the CSV file names the columns; implied if a column is given by name
    #[arg(long, conflicts_with = "no_header")]
    header: bool,
    /// The first line of the CSV file is data; columns are given by number
    #[arg(long)]
    no_header: bool,
    /// Delimiter of a CSV file; \t for a tab [default: a tab for .tsv, else a comma]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    Auto,
    Csv,
    Jsonl,
    Parquet,
    Raw,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum KeyTypeArg {
    Ipv4,
    U32,
    U64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BlockValueArg {
    First,
    Most,
}

/// Parses a delimiter: one byte, or `\t`.
pub(crate) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("expected one ASCII character, or \\t".to_owned()),
    }
}

impl SourceArgs {
    /// The path of the file, if there is one.
    pub(crate) fn input(&self) -> Option<&Path> {
        self.input.as_deref()
    }

    /// Whether the table is looked up by arbitrary keys.
    pub(crate) fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// Whether keys have to be encoded in sums of rows.
    pub(crate) fn is_band(&self) -> bool {
        self.band
    }

    /// The table as encoding would read it, and the number of its lines. Files are written in
    /// `beside`, or in the system's folder for temporary files, and removed.
    pub(crate) fn survey(
        &self,
        input: &Path,
        beside: Option<&Path>,
        screen: Screen,
    ) -> Result<(TableData, u64)> {
        std::fs::metadata(input).doing("reading", input)?;
        let options = self.options(None, BandPolicy::Never)?;
        let folder = beside.map_or_else(std::env::temp_dir, Path::to_owned);
        let scratch = tempfile::tempdir_in(&folder).doing("making", &folder)?;
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let found = survey(input, &options, scratch.path(), &watch)?;
        bars.finish();
        Ok((TableData::of_survey(found.table, self.headroom()?), found.lines))
    }

    /// Bytes of a value, if they were given.
    pub(crate) fn row_bytes(&self) -> Option<usize> {
        self.row_bytes
    }

    /// Applies a plan's layout of keys.
    pub(crate) fn arrange(&mut self, keys: Option<Arranged>) -> Result<()> {
        if keys.is_some() != self.key.is_some() {
            let (planned, given) = if keys.is_some() { ("key", "row") } else { ("row", "key") };
            return Err(Failure::usage(format!(
                "the plan is for lookups by {planned}, and this table is for lookups by {given}"
            ))
            .fix("make the plan again with the columns given here"));
        }
        match keys {
            Some(Arranged::Rows { probes, slots }) => (self.probes, self.slots) = (Some(probes), Some(slots)),
            Some(Arranged::Sums) => self.band = true,
            None => {}
        }
        Ok(())
    }

    fn format(&self) -> Option<SourceFormat> {
        self.input().and_then(SourceFormat::of_name)
    }

    /// Whether the file consists of rows of fixed width without any format, by option or by
    /// necessity.
    fn is_raw(&self) -> bool {
        let unknown = self.format == FormatArg::Auto && self.format().is_none();
        self.format == FormatArg::Raw || (unknown && self.value.is_none() && self.row_bytes.is_some())
    }

    /// The options of the reader.
    pub(crate) fn options(&self, costing: Option<CostModel>, bands: BandPolicy) -> Result<IngestOptions> {
        let file = self.file()?;
        let values = ValueOptions { encoding: self.encoding, width: self.row_bytes, null: self.null.clone() };
        let layout = match (&self.key, &self.start, &self.end) {
            _ if self.is_raw() => self.raw()?,
            (Some(key), ..) => self.keyword(key, values, costing, bands)?,
            (None, Some(start), end) => SourceLayout::Range(RangeOptions {
                start: start.clone(),
                end: end.as_ref().unwrap_or(start).clone(),
                value: self.value()?,
                values,
                rule: match self.block_value {
                    BlockValueArg::First => BlockRule::First,
                    BlockValueArg::Most => BlockRule::Most,
                },
                first: self.range_key(&self.first)?,
                last: self.last.as_deref().map(|last| self.range_key(last)).transpose()?,
                empty: self.empty.clone(),
                ..RangeOptions::new(self.key_kind(), self.block()?)
            }),
            _ => SourceLayout::Index(IndexOptions { value: self.value()?, row: self.row.clone(), values }),
        };
        Ok(IngestOptions { file, layout })
    }

    /// Number of rows of headroom; key tables have theirs in the layout.
    pub(crate) fn headroom(&self) -> Result<u64> {
        match (&self.key, &self.start) {
            (None, Some(_)) if self.headroom > 0 => {
                Err(Failure::usage("--headroom does not apply to range tables")
                    .fix("omit --headroom, or extend the table with --last KEY"))
            }
            (None, None) => Ok(self.headroom),
            _ => Ok(0),
        }
    }

    fn file(&self) -> Result<FileOptions> {
        let columns = [&self.value, &self.row, &self.key, &self.start, &self.end];
        let named = columns.iter().find_map(|column| match column {
            Some(ColumnSelector::Name(name)) => Some(name),
            _ => None,
        });
        if let (true, Some(name)) = (self.no_header, named) {
            return Err(Failure::usage(format!(
                "column {name:?} is given by name, and --no-header says that columns have no names"
            ))
            .fix("give columns by number, from 1, or omit --no-header"));
        }
        let format = match self.format {
            FormatArg::Csv => Some(SourceFormat::Csv),
            FormatArg::Jsonl => Some(SourceFormat::Jsonl),
            FormatArg::Parquet => Some(SourceFormat::Parquet),
            FormatArg::Auto | FormatArg::Raw => None,
        };
        let header = Some(self.header || named.is_some());
        Ok(FileOptions { format, delimiter: self.delimiter, header })
    }

    fn keyword(
        &self,
        key: &ColumnSelector,
        values: ValueOptions,
        costing: Option<CostModel>,
        bands: BandPolicy,
    ) -> Result<SourceLayout> {
        let mut rng = sotto_prg::system_rng()?;
        let (key, form, value) = (key.clone(), self.key_form, self.value.clone());
        let seed = PublicSeed::fresh(&mut rng);
        let (headroom, probes, slots) = (self.headroom, self.probes, self.slots);
        let bands = if self.band { BandPolicy::Always } else { bands };
        Ok(SourceLayout::Keyword(KeywordOptions {
            key,
            form,
            value,
            values,
            headroom,
            probes,
            slots,
            bands,
            costing,
            seed,
        }))
    }

    fn raw(&self) -> Result<SourceLayout> {
        if [&self.value, &self.row, &self.key, &self.start].into_iter().any(Option::is_some) {
            return Err(Failure::usage("--value, --row, --key and --start do not apply to a raw file")
                .fix("omit them"));
        }
        let row_bytes = self.row_bytes.ok_or_else(|| {
            Failure::usage("a raw file needs the width of its rows").fix("give --row-bytes N")
        })?;
        let value = match (self.encoding, row_bytes) {
            // Text is the default; rows of a raw file are bytes by default.
            (Encoding::Text, _) => ValueKind::Bytes,
            (encoding, _) => encoding.kind(),
        };
        Ok(SourceLayout::Raw { row_bytes, value })
    }

    fn value(&self) -> Result<ColumnSelector> {
        self.value.clone().ok_or_else(|| {
            Failure::usage("no column of values is given").fix(
                "give --value with the column's name or number; for a file of fixed-width rows --format \
                 raw --row-bytes N",
            )
        })
    }

    fn block(&self) -> Result<u64> {
        match (self.block, self.block_bits) {
            (Some(0), _) => Err(Failure::usage("a block of 0 keys is empty").fix("give --block 1 or more")),
            (Some(block), _) => Ok(block),
            (None, Some(bits)) => Ok(1 << bits),
            (None, None) => Ok(1),
        }
    }

    fn key_kind(&self) -> KeyKind {
        match self.key_type {
            KeyTypeArg::Ipv4 => KeyKind::Ipv4,
            KeyTypeArg::U32 => KeyKind::U32,
            KeyTypeArg::U64 => KeyKind::U64,
        }
    }

    /// Parses a key of `--first` or `--last`, in the forms that the file has.
    fn range_key(&self, text: &str) -> Result<u64> {
        self.key_kind().parse(text).ok_or_else(|| {
            let (expected, keys) = match self.key_type {
                KeyTypeArg::Ipv4 => ("an IPv4 address, dotted or as a number", "ipv4"),
                KeyTypeArg::U32 => ("a number below 2^32", "u32"),
                KeyTypeArg::U64 => ("a number below 2^64", "u64"),
            };
            let failure = Failure::usage(format!("expected {expected}, got {text:?}"));
            failure.fix(format!("give a key of type {keys}, or another --key-type"))
        })
    }

    /// A line that describes how the file was read.
    pub(crate) fn description(&self, lines: u64) -> String {
        let (file, lines) = (self.input().unwrap_or("-".as_ref()).display(), units::count(lines));
        if self.is_raw() {
            return format!("read {lines} fixed-width rows from {file}");
        }
        let header = self.file().is_ok_and(|file| file.header == Some(true));
        let csv = match self.format {
            FormatArg::Csv => true,
            FormatArg::Auto => self.format() == Some(SourceFormat::Csv),
            _ => false,
        };
        let first = match (csv, header) {
            (false, _) => "",
            (true, true) => "; its first line is a header",
            (true, false) => "; its first line is data (give --header if it is not)",
        };
        format!("read {lines} lines from {file}{first}")
    }
}

/// A scheme that was named on the command line.
#[derive(Clone, Copy)]
pub(crate) struct SchemeArg(&'static SchemeEntry);

impl SchemeArg {
    pub(crate) fn entry(self) -> &'static SchemeEntry {
        self.0
    }
}

impl std::fmt::Debug for SchemeArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.id)
    }
}

/// Parses a goal.
pub(crate) fn goal(name: &str) -> Result<Goal, String> {
    let known = || Goal::ALL.map(Goal::name).join(", ");
    Goal::ALL
        .into_iter()
        .find(|goal| goal.name() == name)
        .ok_or_else(|| format!("a goal is one of {}", known()))
}

/// Parses a scheme's id, or its name alone, which stands for the last of its versions in the
/// registry.
pub(crate) fn scheme(id: &str) -> Result<SchemeArg, String> {
    let known = || sotto_registry::SCHEMES.iter().map(|entry| entry.id.0).collect::<Vec<_>>().join(", ");
    sotto_registry::find_by_name(id).map(SchemeArg).ok_or_else(|| format!("this build has: {}", known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_one_character() {
        assert_eq!(delimiter(";"), Ok(b';'));
        assert_eq!(delimiter("\\t"), Ok(b'\t'));
        assert!(delimiter("").is_err() && delimiter(",,").is_err() && delimiter("é").is_err());
    }
}
