//! Synthetic logs of any length, for tests and measurements.

use crate::{Checkpoint, LogError, LogKey, LogLayout, LogSigner, LogWriter, Result};
use sotto_core::CryptoRng;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Entry of a synthetic log, as it is stored in a bundle. Logs with different labels have different
/// entries.
pub fn entry(layout: LogLayout, label: &str, index: u64) -> Vec<u8> {
    let text = format!("{label}: entry {index}\n");
    let text = text.as_bytes();
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

/// Creates a log of `entries` entries in a folder, and a key beside the folder: `FOLDER.key`, to
/// grow the log with, and `FOLDER.pub`.
///
/// # Errors
/// [`LogError::KeyText`] for a name with spaces or a plus, [`LogError::Storage`], also if a log or
/// a key already exists.
pub fn create(
    folder: &Path,
    layout: LogLayout,
    name: &str,
    entries: u64,
    rng: &mut dyn CryptoRng,
) -> Result<LogKey> {
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
    fill(&mut writer, layout, name, entries)?;
    writer.publish(&signer)?;
    Ok(signer.public().clone())
}

/// Grows a log that [`create`] made to `entries` entries.
///
/// # Errors
/// [`LogError::Storage`], [`LogError::Older`] if it has more, and the errors of
/// [`Checkpoint::open`] and [`LogWriter::resume`].
pub fn grow(folder: &Path, layout: LogLayout, entries: u64) -> Result<Checkpoint> {
    let read = |path: PathBuf| fs::read(&path).map_err(LogError::storage(path.display().to_string()));
    let secret = zeroize::Zeroizing::new(read(beside(folder, "key"))?);
    let text = std::str::from_utf8(&secret).map_err(|_| LogError::KeyText("not UTF-8"))?;
    let signer = LogSigner::from_file(text)?;
    let known = Checkpoint::open(&read(folder.join(layout.checkpoint()))?, signer.public())?;
    if known.size > entries {
        return Err(LogError::Older { known: known.size, found: entries });
    }
    let mut writer = LogWriter::resume(folder.into(), layout, &known)?;
    fill(&mut writer, layout, signer.public().name(), entries)?;
    writer.publish(&signer)
}

fn fill(writer: &mut LogWriter, layout: LogLayout, label: &str, entries: u64) -> Result<()> {
    (writer.size()..entries).try_for_each(|index| writer.append(&entry(layout, label, index)))
}

fn beside(folder: &Path, extension: &str) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}
