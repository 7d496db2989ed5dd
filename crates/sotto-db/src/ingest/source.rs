//! The bytes of a source file, decompressed, counted and bounded.

use super::text::{self, Text};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

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
    read: Cell<u64>,
    /// Decompressed bytes returned since the last line began.
    in_line: Cell<u64>,
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
        let said = [(".gz", "gzip", &[0x1f, 0x8b][..]), (".zst", "Zstandard", &[0x28, 0xb5, 0x2f, 0xfd])];
        if let Some((suffix, format, _)) =
            said.into_iter().find(|(suffix, _, first)| name.ends_with(suffix) && !magic.starts_with(first))
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
        Ok((text::open(source)?, counts))
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
