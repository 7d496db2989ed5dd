//! Requested rows, bits and keys, from the command line and from files; and the result of each.

use crate::failure::{Failure, Result};
use crate::screen::units;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::ValueKind;
use sotto_client::{ClientError, Lookup, LookupResult};
use sotto_db::ingest::open_text;
use std::fmt;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::str::FromStr;

/// Maximum number of rows in a list, which exceeds any round.
const MAX_ROWS: u64 = 1 << 16;

/// Maximum bytes of a file of keys.
const MAX_BYTES: u64 = 1 << 24;

/// A list of rows by index: `7`, or `7,9,12`, or `5..9`, which is 5, 6, 7 and 8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowList(pub(crate) Vec<u64>);

/// A key, and where it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestedKey {
    pub(crate) text: String,
    pub(crate) place: KeyPlace,
}

/// Where a key was given, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// The number of its `--key` option.
    Option(usize),
    /// The line in the file of keys.
    Line(usize),
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyPlace::Option(number) => write!(f, "--key number {number}"),
            KeyPlace::Line(line) => write!(f, "line {line} of --keys-file"),
        }
    }
}

/// The keys of `--key` options.
pub(crate) fn options(keys: &[String]) -> Vec<RequestedKey> {
    let key = |(number, text): (usize, &String)| RequestedKey {
        text: text.clone(),
        place: KeyPlace::Option(number + 1),
    };
    keys.iter().enumerate().map(key).collect()
}

/// All rows of some lists, in their order.
pub(crate) fn all(lists: &[RowList]) -> Vec<u64> {
    lists.iter().flat_map(|RowList(rows)| rows).copied().collect()
}

impl FromStr for RowList {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| {
            text.trim().parse::<u64>().map_err(|_| "expected row numbers: 7, or 7,9,12, or 5..9")
        };
        let mut rows = Vec::new();
        for part in text.split(',') {
            let (first, end) = match part.split_once("..") {
                Some((first, end)) => (number(first)?, number(end)?),
                None => (number(part)?, number(part)?.saturating_add(1)),
            };
            if end <= first {
                return Err(
                    "the end of a range, which is not part of it, must be larger than its start: 5..9 is \
                     5, 6, 7 and 8",
                );
            }
            if end - first > MAX_ROWS - rows.len() as u64 {
                return Err("a list has at most 65536 rows");
            }
            rows.extend(first..end);
        }
        Ok(RowList(rows))
    }
}

/// The keys in a file, or on stdin if it is `-`: one per line.
pub(crate) fn keys(file: &Path) -> Result<Vec<RequestedKey>> {
    let failed = |e: std::io::Error| Failure::file("reading keys from", file, &e);
    let open = || -> std::io::Result<Box<dyn Read>> {
        Ok(if file == Path::new("-") {
            Box::new(std::io::stdin())
        } else {
            Box::new(std::fs::File::open(file)?)
        })
    };
    let read = |input| {
        let mut text = Vec::new();
        open_text(input)?.take(MAX_BYTES + 1).read_to_end(&mut text).map(|_| text)
    };
    let refused = |why: String| Failure::input(format!("{} is not a list of keys: {why}", file.display()));
    let text = open().and_then(read).map_err(|e| match e.kind() {
        std::io::ErrorKind::InvalidData => refused(e.to_string()),
        _ => failed(e),
    })?;
    if text.len() as u64 > MAX_BYTES {
        return Err(refused("it exceeds 16 MiB".to_owned()));
    }
    let text = String::from_utf8(text).map_err(|_| refused("it is not UTF-8".to_owned()))?;
    if let Some(line) = text.lines().position(|line| line.contains('\0')) {
        return Err(refused(format!("line {} has a zero byte", line + 1)));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
    let keys: Vec<_> = lines
        .map(|(at, line)| RequestedKey { text: line.to_owned(), place: KeyPlace::Line(at + 1) })
        .collect();
    if keys.is_empty() {
        return Err(Failure::input(format!("{} has no keys", file.display())).fix("give one key per line"));
    }
    Ok(keys)
}

/// Maximum number of places that one message names.
const MAX_NAMED: usize = 5;

/// The result of one lookup: a row, a bit or a key.
pub(crate) struct PrintedResult {
    /// Name of the lookup, as the person gave it.
    pub(crate) name: String,
    /// Key, if the lookup was by key.
    key: Option<String>,
    /// Index of the bit, if the lookup was of a bit.
    bit: Option<u64>,
    /// Index of the row, if the value is in one row.
    row: Option<u64>,
    /// Bytes of the value, and their printed form; `None` if the table does not have the key.
    value: Option<(Vec<u8>, String)>,
    /// Why the table cannot have such a row or key. A query was sent all the same.
    error: Option<String>,
}

/// The rows, bits and keys of a call.
pub(crate) struct RequestedLookups {
    pub(crate) rows: Vec<u64>,
    pub(crate) bits: Vec<u64>,
    /// Requested keys: of `--key` first, then of `--keys-file`.
    pub(crate) keys: Vec<RequestedKey>,
}

impl RequestedLookups {
    /// All lookups, in the order of the output: rows, bits, keys.
    pub(crate) fn lookups(&self) -> Vec<Lookup<'_>> {
        let rows = self.rows.iter().copied().map(Lookup::Row);
        let bits = self.bits.iter().copied().map(Lookup::Bit);
        rows.chain(bits).chain(self.keys.iter().map(|key| Lookup::Key(&key.text))).collect()
    }

    /// An answer for each lookup, in the order of [`Self::lookups`].
    pub(crate) fn answers(
        &self,
        kind: ValueKind,
        results: Vec<Result<LookupResult, ClientError>>,
    ) -> Vec<PrintedResult> {
        let results = self.lookups().into_iter().zip(results);
        let answer = |(lookup, result): (Lookup<'_>, Result<LookupResult, ClientError>)| {
            let (result, error) = match result {
                Ok(result) => (result, None),
                Err(error) => (LookupResult { row: None, value: None }, Some(error.to_string())),
            };
            let LookupResult { row, value } = result;
            let answer = match lookup {
                Lookup::Row(number) => {
                    PrintedResult::new(kind, format!("row {number}"), row.or(Some(number)), value)
                }
                Lookup::Bit(number) => PrintedResult::bit(number, row, value),
                Lookup::Key(key) => PrintedResult::of_key(kind, key.to_owned(), row, value),
            };
            PrintedResult { error, ..answer }
        };
        results.map(answer).collect()
    }

    /// The failure that names rows and keys which the table cannot have, by their place on the
    /// command line or in the file of keys and not by their text: what is looked up is private, and
    /// messages end up in logs.
    pub(crate) fn check(&self, answers: &[PrintedResult]) -> Result<()> {
        let before_keys = self.rows.len() + self.bits.len();
        let place = |at: usize| match at.checked_sub(before_keys).and_then(|at| self.keys.get(at)) {
            Some(key) => key.place.to_string(),
            None => format!("number {} of the rows and bits", at + 1),
        };
        let refused = answers.iter().enumerate();
        let refused: Vec<_> = refused.filter_map(|(at, answer)| Some((at, answer.error.as_ref()?))).collect();
        let Some((first, why)) = refused.first() else { return Ok(()) };
        let text = match refused.len() {
            1 => format!("{}: {why}", place(*first)),
            several => {
                let named: Vec<_> = refused.iter().take(MAX_NAMED).map(|(at, _)| place(*at)).collect();
                let more = if several > MAX_NAMED { ", ..." } else { "" };
                let total = answers.len();
                format!("{several} of {total} lookups: {why} ({}{more})", named.join(", "))
            }
        };
        Err(Failure::missing(text).fix("give rows and keys of the table; the other lookups succeeded"))
    }
}

impl PrintedResult {
    pub(crate) fn new(kind: ValueKind, name: String, row: Option<u64>, value: Option<Vec<u8>>) -> Self {
        let show = |bytes: Vec<u8>| {
            let shown = kind.show(&bytes);
            (bytes, shown)
        };
        PrintedResult { name, key: None, bit: None, row, value: value.map(show), error: None }
    }

    pub(crate) fn of_key(kind: ValueKind, key: String, row: Option<u64>, value: Option<Vec<u8>>) -> Self {
        PrintedResult { key: Some(key.clone()), ..PrintedResult::new(kind, key, row, value) }
    }

    fn bit(number: u64, row: Option<u64>, value: Option<Vec<u8>>) -> Self {
        let value = value.map(|value| {
            let shown = u8::from(value == [1]).to_string();
            (value, shown)
        });
        PrintedResult { name: format!("bit {number}"), key: None, bit: Some(number), row, value, error: None }
    }

    /// The value, or the reason why there is none. On a terminal control characters are escaped, so
    /// that a publisher's value cannot move the cursor; elsewhere the bytes are printed as they
    /// are.
    pub(crate) fn printable(&self, terminal: bool) -> String {
        if let Some(error) = &self.error {
            return format!("({error})");
        }
        match (&self.value, self.row) {
            (None, _) => "(the table does not have this key)".to_owned(),
            (Some((_, shown)), Some(row)) if shown.is_empty() => format!("(row {row} is empty)"),
            (Some((_, shown)), None) if shown.is_empty() => "(present, with an empty value)".to_owned(),
            (Some((_, shown)), _) if terminal => escaped(shown),
            (Some((_, shown)), _) => shown.clone(),
        }
    }

    /// Results as text, a line each.
    pub(crate) fn lines(results: &[Self]) -> String {
        let terminal = std::io::stdout().is_terminal();
        results.iter().map(|result| format!("{}  {}\n", result.name, result.printable(terminal))).collect()
    }

    /// Whether there is a value.
    pub(crate) fn is_there(&self) -> bool {
        self.value.is_some()
    }

    /// Results as JSON.
    pub(crate) fn reports(results: &[Self]) -> Vec<ResultReport> {
        results.iter().map(Self::report).collect()
    }

    /// The result as JSON.
    fn report(&self) -> ResultReport {
        let (key, row, bit) = (self.key.clone(), self.row, self.bit);
        if let Some(error) = self.error.clone() {
            return ResultReport::Error { key, row, bit, error };
        }
        let (hex, value) =
            self.value.as_ref().map(|(bytes, shown)| (units::hex(bytes), shown.clone())).unzip();
        match (bit, row) {
            (Some(bit), Some(row)) => ResultReport::Bit { bit, row, value },
            (None, Some(row)) => ResultReport::Row { key, row, hex, value },
            (_, None) => ResultReport::Key { key, found: self.value.is_some(), hex, value },
        }
    }
}

/// The result of one lookup.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ResultReport {
    /// A lookup that the table cannot answer.
    Error {
        key: Option<String>,
        row: Option<u64>,
        bit: Option<u64>,
        /// Description of the error.
        error: String,
    },
    /// A bit of the table.
    Bit {
        /// Number of the bit.
        bit: u64,
        /// Number of its row.
        row: u64,
        /// `0` or `1`.
        value: Option<String>,
    },
    /// A row of the table.
    Row {
        /// Key that was looked up, in a table of ranges.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// Number of the row.
        row: u64,
        /// Bytes of the value, in hexadecimal.
        hex: Option<String>,
        /// The value as text.
        value: Option<String>,
    },
    /// A key of the table.
    Key {
        /// Key that was looked up.
        key: Option<String>,
        /// Whether the table has the key.
        found: bool,
        /// Bytes of the value, in hexadecimal.
        hex: Option<String>,
        /// The value as text.
        value: Option<String>,
    },
}

/// Text whose control characters are escaped as in a Rust literal: `\t`, `\n`, `\u{1b}`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_listed() {
        let rows = |text: &str| text.parse::<RowList>().map(|rows| rows.0);
        assert_eq!(rows("7"), Ok(vec![7]));
        assert_eq!(rows("7,9, 7"), Ok(vec![7, 9, 7]));
        assert_eq!(rows("5..9,1"), Ok(vec![5, 6, 7, 8, 1]));
        assert_eq!(rows("18446744073709551614"), Ok(vec![u64::MAX - 1]));
        for bad in ["", "x", "-1", "5..5", "9..5", "5..", "..5", "1,,2", "0..65537", "0..65536,1", "1..2..3"]
        {
            assert!(rows(bad).is_err(), "{bad}");
        }
        assert_eq!(rows("0..65536").map(|rows| rows.len()), Ok(65_536));
    }

    #[test]
    fn keys_stand_one_to_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let read = |text: &[u8]| {
            std::fs::write(&path, text).unwrap();
            keys(&path)
        };
        let keys_and_lines = [("a", 1), (" b c", 3), ("d", 4)];
        let keys_and_lines = keys_and_lines
            .map(|(text, line)| RequestedKey { text: text.to_owned(), place: KeyPlace::Line(line) });
        assert_eq!(read(b"a\r\n\n b c\nd").unwrap(), keys_and_lines);
        let marked = read("\u{feff}a\nä\n".as_bytes()).unwrap();
        let marked: Vec<&str> = marked.iter().map(|key| key.text.as_str()).collect();
        assert_eq!(marked, ["a", "ä"], "a byte order mark is no part of a key");
        let why = |text: &[u8]| read(text).unwrap_err().message;
        assert!(why(b"\xff\xfea\0b\0").contains("UTF-16") && why(b"a\0b\0\n\0").contains("UTF-16"));
        assert!(why(b"abc\nx\0yz\n").contains("line 2 has a zero byte"));
        assert!(read(b"\n").is_err() && read(b"\xff").is_err());
        assert!(keys(&folder.path().join("none")).is_err());
    }

    #[test]
    fn values_cannot_move_the_cursor_and_are_whole_in_pipes() {
        let printable = |row, shown: Option<&str>, terminal| {
            let value = shown.map(|shown| (Vec::new(), shown.to_owned()));
            PrintedResult { name: String::new(), key: None, bit: None, row, value, error: None }
                .printable(terminal)
        };
        let value = "a\u{1b}[2Jb\n\tZürich";
        assert_eq!(printable(Some(0), Some(value), true), r"a\u{1b}[2Jb\n\tZürich");
        assert_eq!(printable(Some(0), Some(value), false), value);
        assert!(printable(Some(7), Some(""), true).contains("row 7"));
        assert!(printable(None, Some(""), true).contains("present, with an empty value"));
        assert!(printable(None, None, true).contains("does not have"));
    }
}
