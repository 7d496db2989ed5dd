//! Reads range tables: each line is a range of keys. The ranges are held in memory, sorted, and
//! expanded while they are read.
//!
//! Ranges may come in any order: sorting them costs less than asking people to. Overlaps are
//! refused, since there is no telling which of two values is meant.

use super::column_reader::ColumnReader;
use super::error::IngestProblem;
use super::line_reader::Cell;
use super::options::{FileOptions, RangeOptions};
use super::value::ValueLengths;
use super::{IngestedTable, Notes, SourceColumns};
use crate::Result;
use crate::progress::Watcher;
use crate::table::ranges::KeyRange;
use crate::table::{BlockRule, RangeTable};
use sotto_catalog::catalog::{MAX_ROW_BYTES, MAX_ROWS};
use sotto_catalog::{HexBytes, KeyKind, RowForm, TableKind};
use sotto_core::ExpectOrDefault;
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::path::Path;

/// A range with the number of its line.
type Numbered = (KeyRange, u64);

/// Largest size of all distinct values when padded to a row. One long value widens all of them, so
/// a small file could otherwise require more memory than there is.
const MAX_VALUE_BYTES: u64 = 4 << 30;

/// Reads a file into a range table.
pub(crate) fn build(
    path: &Path,
    file: &FileOptions,
    options: &RangeOptions,
    watch: Watcher<'_>,
) -> Result<IngestedTable> {
    let columns = [&options.start, &options.end, &options.value];
    let mut reader = ColumnReader::open(path, file, &columns, watch)?;
    let refuse = |reader: &ColumnReader<'_>, why| reader.fault_at(0, None, IngestProblem::Options(why));
    let limit = options.last.unwrap_or(options.key.last()).min(options.key.last());
    if options.block == 0 || options.first > limit {
        return Err(refuse(
            &reader,
            "expected at least one key in a block, and a first key not above the last",
        )
        .into());
    }
    if options.last.is_some_and(|last| last > options.key.last()) {
        return Err(refuse(&reader, "the table's last key is above the largest key of its kind").into());
    }

    let (mut values, mut lengths) = (Values::default(), ValueLengths::default());
    let mut bytes = Vec::new();
    if !options.empty.is_empty() {
        let empty = Cell::Bytes(options.empty.clone().into_bytes());
        let read = options.values.read(&empty, &mut bytes);
        let read = read.and_then(|()| fits(&bytes, options.values.width));
        read.map_err(|_| refuse(&reader, "the empty value has another encoding than the other values"))?;
        lengths.add(bytes.len());
    }
    values.number(&bytes);

    let mut ranges: Vec<Numbered> = Vec::new();
    while let Some(cells) = reader.next()? {
        let [start, end, value] = cells else { break };
        let read = read_range(options.key, options.first..=limit, start, end).and_then(|(start, end)| {
            let value = options.values.read(value, &mut bytes);
            value.and_then(|()| fits(&bytes, options.values.width)).map_err(|problem| (2, problem))?;
            Ok((start, end))
        });
        let (start, end) = read.map_err(|(column, problem)| reader.fault(Some(column), problem))?;
        lengths.add(bytes.len());
        ranges.push((KeyRange { start, end, value: values.number(&bytes) }, reader.line()));
    }
    if ranges.is_empty() {
        return Err(reader.fault_at(0, None, IngestProblem::Empty).into());
    }
    ranges.sort_unstable_by_key(|(range, _)| range.start);
    check_apart(&ranges)
        .map_err(|(line, other)| reader.fault_at(line, Some(0), IngestProblem::Overlap { other }))?;

    let last_end = ranges.last().map_or(limit, |(range, _)| range.end);
    let last = options.last.unwrap_or(if options.key == KeyKind::Ipv4 { limit } else { last_end });
    let rows = u128::from(last - options.first) / u128::from(options.block) + 1;
    let rows = u64::try_from(rows).ok().filter(|&rows| rows <= MAX_ROWS);
    let rows = rows.ok_or_else(|| refuse(&reader, "more than 2^40 blocks: choose larger blocks"))?;

    let (form, width) = lengths.arrange(&options.values);
    if !(1..=MAX_ROW_BYTES as usize).contains(&width) {
        return Err(reader
            .fault_at(0, Some(2), IngestProblem::Options("expected a row of 1 to 2^30 bytes"))
            .into());
    }
    if values.numbers.len() as u64 * width as u64 > MAX_VALUE_BYTES {
        let why = "over 4 GiB of different values, padded to one width: choose a smaller width, or shorten the \
             longest value";
        return Err(reader.fault_at(0, Some(2), IngestProblem::Options(why)).into());
    }
    let ranges = ranges.into_iter().map(|(range, _)| range).collect();
    let (values, empty) = values.into_rows(form, width);
    let table = RangeTable::new(ranges, values, width, options.first, options.block, rows, options.rule)?;
    let notes = Notes { mixed_blocks: table.mixed_blocks(), ..reader.notes() };
    let kind = TableKind::Range {
        key: options.key,
        block: options.block,
        first: options.first,
        empty: HexBytes(empty),
    };
    let value = options.values.encoding.kind();
    let [start, end, of_values] = [0, 1, 2].map(|at| reader.names().nth(at).flatten());
    let rule = Some(options.rule).filter(|rule| *rule != BlockRule::default());
    let origin = SourceColumns { start, end, rule, value: of_values, ..SourceColumns::default() }
        .of_values(form, value);
    Ok(IngestedTable {
        table: Box::new(table),
        kind,
        value,
        layers: form.layer().into_iter().collect(),
        origin,
        notes,
    })
}

/// First or last key of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

/// Reads a key, as a number or as [`KeyKind::parse`] does. Of a prefix (`192.0.2.0/24`) it returns
/// the first or the last address.
fn read_key(kind: KeyKind, cell: &Cell, end: End) -> Result<u64, IngestProblem> {
    let expected = match kind {
        KeyKind::Ipv4 => "an IPv4 address, dotted or as a number, or a prefix (192.0.2.0/24)",
        _ => "an unsigned integer in the range of keys",
    };
    let text = match cell {
        Cell::Bytes(text) => std::str::from_utf8(text).ok().map(str::trim),
        _ => None,
    };
    if let (KeyKind::Ipv4, Some(text)) = (kind, text) {
        let (address, length) = text.split_once('/').unwrap_or((text, ""));
        if address.parse::<Ipv6Addr>().is_ok() {
            return Err(IngestProblem::Ipv6Range);
        }
        if let (Ok(address), Ok(length @ 0..=32)) = (address.parse::<Ipv4Addr>(), length.parse::<u32>()) {
            let (first, rest) = (u32::from(address), u32::MAX.checked_shr(length).unwrap_or(0));
            if first & rest != 0 {
                let network = format!("{}/{length}", Ipv4Addr::from(first & !rest));
                return Err(IngestProblem::HostBits(network));
            }
            return Ok(u64::from(if end == End::First { first } else { first | rest }));
        }
    }
    let key = match cell {
        Cell::Unsigned(key) => Some(*key).filter(|&key| key <= kind.last()),
        _ => text.and_then(|text| kind.parse(text)),
    };
    key.ok_or_else(|| cell.is_not(expected))
}

/// Reads the first and the last key of a range of the table's keys; an error names its column.
pub(crate) fn read_range(
    kind: KeyKind,
    keys: RangeInclusive<u64>,
    start: &Cell,
    end: &Cell,
) -> Result<(u64, u64), (usize, IngestProblem)> {
    let key = |column, cell, end| {
        let key = read_key(kind, cell, end).map_err(|problem| (column, problem))?;
        match keys.contains(&key) {
            true => Ok(key),
            false => Err((column, IngestProblem::OutsideKeys { first: *keys.start(), last: *keys.end() })),
        }
    };
    let (start, end) = (key(0, start, End::First)?, key(1, end, End::Last)?);
    if start > end {
        return Err((1, IngestProblem::Backwards));
    }
    Ok((start, end))
}

fn fits(value: &[u8], width: Option<usize>) -> Result<(), IngestProblem> {
    match width {
        Some(width) if value.len() > width => Err(IngestProblem::TooLong { bytes: value.len(), width }),
        _ => Ok(()),
    }
}

/// Finds the first two ranges with a key in common, and returns the later line and the earlier one.
pub(crate) fn check_apart(ranges: &[Numbered]) -> Result<(), (u64, u64)> {
    for pair in ranges.windows(2) {
        if let [(a, line_a), (b, line_b)] = pair
            && b.start <= a.end
        {
            return Err((*line_a.max(line_b), *line_a.min(line_b)));
        }
    }
    Ok(())
}

/// Every distinct value once. The first is the value of keys that no range covers.
#[derive(Default)]
struct Values {
    numbers: HashMap<Vec<u8>, u32>,
}

impl Values {
    fn number(&mut self, value: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        // Memory ends long before this many distinct values.
        let number = u32::try_from(self.numbers.len()).expect_or_default("memory holds this many values");
        self.numbers.insert(value.to_vec(), number);
        number
    }

    /// Returns all values as rows of `width` bytes, in order, and the first value unpadded.
    fn into_rows(self, form: RowForm, width: usize) -> (Vec<u8>, Vec<u8>) {
        let mut values: Vec<_> = self.numbers.into_iter().collect();
        values.sort_unstable_by_key(|(_, number)| *number);
        let empty = values
            .first()
            .map(|(value, _)| value.clone())
            .expect_or_default("the first value is that of no range");
        let mut rows = Vec::with_capacity(values.len() * width);
        for (mut value, _) in values {
            form.write_value(&mut value, width).expect_or_default("the width is that of the longest");
            rows.append(&mut value);
        }
        (rows, empty)
    }
}
