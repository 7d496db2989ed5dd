//! Logs that are made from nothing: with synthetic entries, for tests and measurements, or with the
//! lines of a file.

use crate::{Checkpoint, LogError, LogKey, LogLayout, LogSigner, LogWriter, Result};
use sotto_core::CryptoRng;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

/// Entry of a synthetic log, as it is stored in a bundle. Logs with different labels have different
/// entries.
pub fn entry(layout: LogLayout, label: &str, index: u64) -> Vec<u8> {
    in_bundle(layout, index, format!("{label}: entry {index}\n").as_bytes())
}

/// Largest number of bytes of a line: what the length of an entry can say in every layout.
const MAX_LINE: u64 = u16::MAX as u64;

/// An entry of this text, which ends with a line feed, as it is stored in a bundle.
fn in_bundle(layout: LogLayout, index: u64, text: &[u8]) -> Vec<u8> {
    let length = (text.len() as u32).to_be_bytes();
    match layout {
        LogLayout::Tiles => [&length[2..], text].concat(),
        LogLayout::SumDb => [format!("{index}\n").as_bytes(), text, b"\n"].concat(),
        LogLayout::StaticCt => {
            // An invalid certificate, and the one extension that is required: the index, in five
            // bytes.
            let index = index.to_be_bytes();
            let time_and_type = [0; 10];
            [&time_and_type, &length[1..], text, &[0, 8, 0, 0, 5], &index[3..], &[0, 0]].concat()
        }
    }
}

/// Entries of a log that is made or grown.
pub enum Entries {
    /// This number of synthetic entries in all.
    Synthetic(u64),
    /// A line of text each, with its line feed. Those that the log has are skipped.
    Lines(Box<dyn BufRead>),
}

impl From<u64> for Entries {
    fn from(entries: u64) -> Self {
        Entries::Synthetic(entries)
    }
}

/// Creates a log in a folder, and a key beside the folder: `FOLDER.key`, to
/// grow the log with, and `FOLDER.pub`. Returns the log's key and its checkpoint.
///
/// # Errors
/// [`LogError::KeyText`] for a name with spaces or a plus, [`LogError::Storage`], also if a log or
/// a key already exists.
pub fn create(
    folder: &Path,
    layout: LogLayout,
    name: &str,
    entries: impl Into<Entries>,
    rng: &mut dyn CryptoRng,
) -> Result<(LogKey, Checkpoint)> {
    let signer = LogSigner::generate(name, rng)?;
    let mut writer = LogWriter::create(folder.into(), layout)?;
    let secret = beside(folder, "key");
    let path = secret.display().to_string();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&secret).map_err(LogError::storage(&path))?;
    file.write_all(signer.to_file().as_bytes()).map_err(LogError::storage(&path))?;
    let public = beside(folder, "pub");
    let text = format!("{}\n", signer.public());
    fs::write(&public, text).map_err(LogError::storage(public.display().to_string()))?;
    fill(&mut writer, layout, name, entries.into())?;
    let checkpoint = writer.publish(&signer)?;
    Ok((signer.public().clone(), checkpoint))
}

/// Grows a log that [`create`] made.
///
/// # Errors
/// [`LogError::Storage`], [`LogError::Older`] if it has more, and the errors of
/// [`Checkpoint::open`] and [`LogWriter::resume`].
pub fn grow(folder: &Path, layout: LogLayout, entries: impl Into<Entries>) -> Result<Checkpoint> {
    let read = |path: PathBuf| fs::read(&path).map_err(LogError::storage(path.display().to_string()));
    let secret = zeroize::Zeroizing::new(read(beside(folder, "key"))?);
    let text = std::str::from_utf8(&secret).map_err(|_| LogError::KeyText("not UTF-8"))?;
    let signer = LogSigner::from_file(text)?;
    let known = Checkpoint::open(&read(folder.join(layout.checkpoint()))?, signer.public())?;
    let mut writer = LogWriter::resume(folder.into(), layout, &known)?;
    fill(&mut writer, layout, signer.public().name(), entries.into())?;
    writer.publish(&signer)
}

fn fill(writer: &mut LogWriter, layout: LogLayout, label: &str, entries: Entries) -> Result<()> {
    let known = writer.size();
    match entries {
        Entries::Synthetic(entries) if entries < known => Err(LogError::Older { known, found: entries }),
        Entries::Synthetic(entries) => {
            (known..entries).try_for_each(|index| writer.append(&entry(layout, label, index)))
        }
        Entries::Lines(mut lines) => {
            let (mut index, mut line) = (0, Vec::new());
            while next_line(&mut *lines, &mut line)? {
                if index >= known {
                    writer.append(&in_bundle(layout, index, &line))?;
                }
                index += 1;
            }
            if index < known {
                let why = format!("expected the {known} entries of the log and more, got {index} lines");
                return Err(LogError::Malformed { what: "the entries", why });
            }
            Ok(())
        }
    }
}

/// Reads a line into `line`; returns whether there was one. One without a line feed gets one, and one
/// that no entry could hold is read no further.
fn next_line(lines: &mut dyn BufRead, line: &mut Vec<u8>) -> Result<bool> {
    line.clear();
    let length = io::Read::take(lines, MAX_LINE + 1).read_until(b'\n', line);
    let length = length.map_err(LogError::storage("the entries"))?;
    if length > 0 && line.last() != Some(&b'\n') {
        line.push(b'\n');
    }
    match line.len() as u64 > MAX_LINE {
        true => Err(LogError::TooLarge { what: "a line of the entries".into(), limit: MAX_LINE }),
        false => Ok(length > 0),
    }
}

fn beside(folder: &Path, extension: &str) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}
