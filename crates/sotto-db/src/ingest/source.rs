//! A file's bytes, decompressed, counted and bounded.

use super::text::{self, Text};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

/// Most bytes of one line. A stray quote makes a line of the rest of a CSV file; this keeps it from
/// being read into memory.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// A file being read.
pub(crate) struct SourceFile {
    bytes: Box<dyn Read>,
    counts: Rc<ReadCounts>,
}

/// How far a [`SourceFile`] is; shared with whoever tells lines apart.
#[derive(Default)]
pub(crate) struct ReadCounts {
    /// Bytes of the file, as it is on the disk.
    total: u64,
    /// How many of them were read.
    read: Cell<u64>,
    /// Bytes given out since the last line began, decompressed.
    in_line: Cell<u64>,
}

impl ReadCounts {
    /// A line has ended.
    pub(crate) fn line_ends(&self) {
        self.in_line.set(0);
    }

    /// How much was read, out of how much.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.read.get(), self.total)
    }
}

impl SourceFile {
    /// Opens a file, decompressing it if its first bytes are those of gzip or Zstandard. They are, if its name says so.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, Rc<ReadCounts>)> {
        let mut file = File::open(path)?;
        let total = file.metadata()?.len();
        let mut magic = Vec::with_capacity(4);
        Read::by_ref(&mut file).take(4).read_to_end(&mut magic)?;

        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
        let said = [(".gz", "gzip", &[0x1f, 0x8b][..]), (".zst", "Zstandard", &[0x28, 0xb5, 0x2f, 0xfd])];
        if let Some((suffix, format, _)) =
            said.into_iter().find(|(suffix, _, first)| name.ends_with(suffix) && !magic.starts_with(first))
        {
            return Err(io::Error::other(format!(
                "its name ends in {suffix}, and it is no {format} file: if it is not compressed, take {suffix} off its name; \
                 otherwise fetch it again"
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

    /// Opens a file of text.
    pub(crate) fn open_text(path: &Path) -> io::Result<(Text<Self>, Rc<ReadCounts>)> {
        let (source, counts) = SourceFile::open(path)?;
        Ok((text::open(source)?, counts))
    }
}

impl Read for SourceFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(out)?;
        let in_line = self.counts.in_line.get() + count as u64;
        self.counts.in_line.set(in_line);
        if in_line > MAX_LINE_BYTES {
            return Err(io::Error::other("the line has over 256 MiB: is a quote not closed?"));
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
