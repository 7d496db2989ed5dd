//! Arguments for lookups: lists of rows, and files of keys.

use crate::failure::{Failure, Result};
use sotto_db::ingest::text;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

/// Maximum number of rows in a list, which exceeds any round.
const MAX_ROWS: u64 = 1 << 16;

/// Maximum bytes of a file of keys.
const MAX_BYTES: u64 = 1 << 24;

/// A list of rows by index: `7`, or `7,9,12`, or `5..9`, which is 5, 6, 7 and 8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowList(pub(super) Vec<u64>);

/// A key, and where it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestedKey {
    pub(super) text: String,
    pub(super) place: KeyPlace,
}

/// Where a key was given, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyPlace {
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
pub(super) fn options(keys: &[String]) -> Vec<RequestedKey> {
    let key = |(number, text): (usize, &String)| RequestedKey {
        text: text.clone(),
        place: KeyPlace::Option(number + 1),
    };
    keys.iter().enumerate().map(key).collect()
}

/// All rows of some lists, in their order.
pub(super) fn all(lists: &[RowList]) -> Vec<u64> {
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
pub(super) fn keys(file: &Path) -> Result<Vec<RequestedKey>> {
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
        text::open(input)?.take(MAX_BYTES + 1).read_to_end(&mut text).map(|_| text)
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
}
