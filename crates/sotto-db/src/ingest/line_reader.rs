//! Lines of a file, whatever its format: their cells, the trait of their readers, and the bytes that
//! they are read from, decompressed, counted and bounded.
//!
//! Some programs put a mark before UTF-8 (EF BB BF), which is not part of the text. Others write
//! UTF-16, with or without a mark. UTF-16 is refused, since its bytes can be valid UTF-8 with zero
//! bytes between them, and no client would find such keys.

use crate::ingest::error::{ColumnName, ColumnSelector, IngestProblem};
use crate::progress::ProgressUnit;
use std::borrow::Cow;
use std::cell;
use std::fs::File;
use std::io;
use std::io::{BufReader, Chain, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

/// Value in a column of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Cell {
    /// The column is missing.
    #[default]
    Missing,
    /// A null, in formats that have one.
    Null,
    /// Text or bytes.
    Bytes(Vec<u8>),
    /// A number, in formats that have them.
    Unsigned(u64),
    /// A negative number.
    Negative(i64),
    /// A truth value, in formats that have them.
    Bool(bool),
    /// A value of an unusable type, with the name of the type.
    Other(&'static str),
}

impl Cell {
    /// Stores bytes in the cell and reuses its memory.
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        match self {
            Cell::Bytes(held) => {
                held.clear();
                held.extend_from_slice(bytes);
            }
            _ => *self = Cell::Bytes(bytes.to_vec()),
        }
    }

    /// Bytes of the cell; an error for any other type.
    pub(crate) fn bytes(&self, expected: &'static str) -> Result<&[u8], IngestProblem> {
        match self {
            Cell::Bytes(bytes) => Ok(bytes),
            Cell::Missing | Cell::Null => Err(IngestProblem::Missing),
            _ => Err(self.is_not(expected)),
        }
    }

    /// Bytes of the cell, or the digits of a number.
    pub(crate) fn text(&self) -> Result<Cow<'_, [u8]>, IngestProblem> {
        match self {
            Cell::Unsigned(value) => Ok(value.to_string().into_bytes().into()),
            Cell::Negative(value) => Ok(value.to_string().into_bytes().into()),
            _ => self.bytes("text").map(Cow::from),
        }
    }

    /// Number in the cell, or the number that its digits write.
    pub(crate) fn unsigned(&self) -> Result<u64, IngestProblem> {
        let expected = "an unsigned integer";
        match self {
            Cell::Unsigned(value) => Ok(*value),
            _ => {
                let bytes = self.bytes(expected)?.trim_ascii();
                if bytes.is_empty() {
                    return Err(IngestProblem::Missing);
                }
                let digits = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
                digits.ok_or_else(|| self.is_not(expected))
            }
        }
    }

    /// Error for a cell that does not have the expected type.
    pub(crate) fn is_not(&self, expected: &'static str) -> IngestProblem {
        let found = match self {
            Cell::Missing | Cell::Null => return IngestProblem::Missing,
            Cell::Bytes(bytes) => {
                let mut text: String = String::from_utf8_lossy(bytes).chars().take(41).collect();
                if text.chars().count() > 40 {
                    text.pop();
                    text.push_str("...");
                }
                format!("{text:?}")
            }
            Cell::Unsigned(value) => value.to_string(),
            Cell::Negative(value) => value.to_string(),
            Cell::Bool(value) => value.to_string(),
            Cell::Other(what) => (*what).to_owned(),
        };
        IngestProblem::Kind { expected, found }
    }
}

/// Reads lines of one format.
pub(crate) trait LineReader {
    /// Reads the requested columns of the next line, in the order of the request; `false` at the
    /// end.
    fn next(&mut self, cells: &mut [Cell]) -> Result<bool, IngestProblem>;
    /// Number of the line read last, or of the one that failed.
    fn line(&self) -> u64;
    /// Amount read so far, and the total.
    fn progress(&self) -> (u64, u64);
    /// The first empty line so far, if one was skipped.
    fn blank(&self) -> Option<u64> {
        None
    }
    /// Notes on lines that may be meant as something else.
    fn notes(&self) -> LineNotes {
        LineNotes::default()
    }
    /// Unit of [`LineReader::progress`].
    fn unit(&self) -> ProgressUnit {
        ProgressUnit::Bytes
    }
}

/// Counts of lines that may be meant as something else.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LineNotes {
    /// Number of lines that begin like comments.
    pub(crate) comments: u64,
    /// The likely delimiter, if each line has one column with this character in it.
    pub(crate) undivided: Option<char>,
}

/// Index of the column of this name among others; `None` if there is none.
pub(crate) fn only(names: &[String], name: &str) -> Result<Option<usize>, IngestProblem> {
    let mut named = (0..).zip(names).filter(|(_, there)| *there == name).map(|(at, _): (usize, _)| at);
    match (named.next(), named.next()) {
        (Some(first), Some(second)) => Err(IngestProblem::NameTwice { first: first + 1, second: second + 1 }),
        (first, _) => Ok(first),
    }
}

/// Column names of a file, known before its first row is read.
pub(crate) enum HeaderLine<'a> {
    /// Cells of the first line, which may or may not name the columns.
    Line(&'a [String]),
    /// Names of the columns.
    Names(&'a [String]),
    /// Columns have no names.
    Numbers,
}

/// The columns to read.
pub(crate) struct ColumnChoice {
    pub(crate) columns: Vec<ColumnSelector>,
    /// Whether the first line names the columns.
    pub(crate) header: bool,
}

/// Chooses the columns to read.
pub(crate) type ColumnChooser<'a> = &'a dyn Fn(HeaderLine<'_>) -> Result<ColumnChoice, ColumnFault>;

/// Column and problem of an error before the first line.
pub(crate) type ColumnFault = (Option<ColumnName>, IngestProblem);

/// Result of opening a file: the reader of its format, and the names of the requested columns.
pub(crate) type OpenedReader = (Box<dyn LineReader>, Vec<ColumnName>);

/// Largest size of one line in bytes. A stray quote makes one line of the rest of a CSV file; this
/// limit keeps it from being read into memory.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// A source file being read.
pub(crate) struct SourceFile {
    bytes: Box<dyn Read>,
    counts: Rc<ReadCounts>,
}

/// Progress of a [`SourceFile`], shared with the reader that finds its lines.
#[derive(Default)]
pub(crate) struct ReadCounts {
    /// Bytes of the file on disk.
    total: u64,
    /// Bytes of the file that were read.
    read: cell::Cell<u64>,
    /// Decompressed bytes returned since the last line began.
    in_line: cell::Cell<u64>,
}

impl ReadCounts {
    /// Notes that a line has ended.
    pub(crate) fn line_ends(&self) {
        self.in_line.set(0);
    }

    /// Bytes read so far, and the total.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.read.get(), self.total)
    }
}

impl SourceFile {
    /// Opens a file. It is decompressed if its first bytes are those of gzip or Zstandard, which
    /// they must be if its name says so.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, Rc<ReadCounts>)> {
        let mut file = File::open(path)?;
        let total = file.metadata()?.len();
        let mut magic = Vec::with_capacity(4);
        Read::by_ref(&mut file).take(4).read_to_end(&mut magic)?;

        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
        let suffixes = [(".gz", "gzip", &[0x1f, 0x8b][..]), (".zst", "Zstandard", &[0x28, 0xb5, 0x2f, 0xfd])];
        if let Some((suffix, format, _)) = suffixes
            .into_iter()
            .find(|(suffix, _, first)| name.ends_with(suffix) && !magic.starts_with(first))
        {
            return Err(io::Error::other(format!(
                "the file's name ends in {suffix}, but it is not a {format} file: if it is not compressed, remove \
                 {suffix} from its name; otherwise fetch it again"
            )));
        }

        let counts = Rc::new(ReadCounts { total, ..ReadCounts::default() });
        let raw = io::Cursor::new(magic.clone()).chain(file);
        let counted =
            BufReader::with_capacity(1 << 20, CountingReader { bytes: raw, counts: Rc::clone(&counts) });
        let bytes: Box<dyn Read> = match magic.as_slice() {
            [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(counted)),
            #[cfg(feature = "zstd")]
            [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::Decoder::with_buffer(counted)?),
            #[cfg(not(feature = "zstd"))]
            [0x28, 0xb5, 0x2f, 0xfd] => {
                return Err(io::Error::other(
                    "this build does not read Zstandard: build it with feature `zstd`",
                ));
            }
            _ => Box::new(counted),
        };
        Ok((SourceFile { bytes, counts: Rc::clone(&counts) }, counts))
    }

    /// Opens a text file.
    pub(crate) fn open_text(path: &Path) -> io::Result<(Text<Self>, Rc<ReadCounts>)> {
        let (source, counts) = SourceFile::open(path)?;
        Ok((open_text(source)?, counts))
    }
}

impl Read for SourceFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(out)?;
        let in_line = self.counts.in_line.get() + count as u64;
        self.counts.in_line.set(in_line);
        if in_line > MAX_LINE_BYTES {
            return Err(io::Error::other("the line has over 256 MiB: look for a quote that is not closed"));
        }
        Ok(count)
    }
}

struct CountingReader<R> {
    bytes: R,
    counts: Rc<ReadCounts>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(out)?;
        self.counts.read.set(self.counts.read.get() + count as u64);
        Ok(count)
    }
}

/// Number of bytes from which the encoding is detected.
const HEAD_BYTES: u64 = 4096;

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes of a text file after its byte order mark.
pub type Text<R> = Chain<Cursor<Vec<u8>>, R>;

/// Starts to read a text file.
///
/// # Errors
/// The errors of reading; [`io::ErrorKind::InvalidData`] for UTF-16 and UTF-32.
pub fn open_text<R: Read>(mut bytes: R) -> io::Result<Text<R>> {
    let mut head = Vec::new();
    bytes.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    if let Some(encoding) = foreign(&head) {
        let why =
            format!("the text is {encoding}, expected UTF-8: convert it (iconv -f {encoding} -t UTF-8)");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    if head.starts_with(UTF8_MARK) {
        head.drain(..UTF8_MARK.len());
    }
    Ok(Cursor::new(head).chain(bytes))
}

/// Name of the encoding of text that is not UTF-8, detected by its first bytes.
fn foreign(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        _ => unmarked(head),
    }
}

/// Name of the encoding of UTF-16 text without a byte order mark. In each pair, one byte is zero
/// for every character of Latin-1, always at the same position.
fn unmarked(head: &[u8]) -> Option<&'static str> {
    let (pairs, rest) = head.as_chunks::<2>();
    let zeros = |at: fn(&[u8; 2]) -> u8| pairs.iter().filter(|pair| at(pair) == 0).count();
    let found = match (zeros(|[first, _]| *first), zeros(|[_, second]| *second)) {
        (0, zeros) => zeros.gt(&0).then_some(("UTF-16LE", zeros)),
        (zeros, 0) => Some(("UTF-16BE", zeros)),
        _ => None,
    };
    let (encoding, zeros) = found?;
    (rest.is_empty() && 2 * zeros >= pairs.len()).then_some(encoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_utf8_behind_a_mark_or_not() {
        let read = |bytes: &[u8]| {
            let mut text = String::new();
            open_text(bytes)?.read_to_string(&mut text).map(|_| text)
        };
        let utf16 = |text: &str, byte_order: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(byte_order).collect()
        };
        let long = "word\n".repeat(3000);
        for text in ["", "a", "a\n", "\u{feff}", "ä,ö\n", long.as_str()] {
            let marked = format!("\u{feff}{text}");
            assert_eq!(read(text.as_bytes()).unwrap(), text.strip_prefix('\u{feff}').unwrap_or(text));
            assert_eq!(read(marked.as_bytes()).unwrap(), text, "one mark is taken away");
        }
        for text in ["\u{feff}a", "\u{feff}äß", "aria\nbe\n", "ä", long.as_str()] {
            for (byte_order, name) in
                [(u16::to_le_bytes as fn(u16) -> [u8; 2], "UTF-16"), (u16::to_be_bytes, "UTF-16")]
            {
                let error = read(&utf16(text, byte_order)).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                assert!(error.to_string().contains(name), "{text:?}: {error}");
            }
        }
        assert!(read(b"\xff\xfe\0\0a\0\0\0").unwrap_err().to_string().contains("UTF-32"));
        // A zero byte alone does not make the text UTF-16.
        assert!(read(b"0,a\0\n").is_ok() && read(b"ab\0\0cd").is_ok());
    }
}
