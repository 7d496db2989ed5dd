//! `sotto log cosign`: a witness looks at a log, and signs that it goes on from what it saw before.
//!
//! What it cosigned last is on the disk before a cosignature leaves: whatever happens, it never cosigns two logs.

use super::key;
use super::place::Place;
use crate::blame;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use serde_json::json;
use sotto_catalog::PublicKey;
use sotto_tlog::catalogs::log_key;
use sotto_tlog::note::MAX_NOTE_BYTES;
use sotto_tlog::witness::examine;
use sotto_tlog::{Checkpoint, Directory, Layout, LogError, Note, Source};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Arguments of `sotto log cosign`.
#[derive(Debug, clap::Args)]
pub(super) struct Cosign {
    /// The log: its folder, or the address of a server that serves it
    #[arg(value_name = "LOG")]
    log: String,
    /// The publisher whose log it is
    #[arg(long, value_name = "sotto-pk:...")]
    publisher: PublicKey,
    /// The witness's signing key (`sotto log key` makes one)
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Where the witness keeps what it cosigned last. Never restore it from a backup
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// The file for the cosigned checkpoint, which the publisher attaches (`sotto log attach`)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Trust the roots in this PEM file instead of the web's (for https)
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

impl Cosign {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        let cosigner = key::read(&self.key)?.ok_or_else(|| {
            Failure::missing(format!("there is no key {}", self.key.display()))
                .fix("make one: sotto log key --key FILE --name NAME")
        })?;
        let place = Place::of(&self.log, self.publisher, self.trust_root.as_deref())?;
        let memory = Memory::lock(&self.state, &self.publisher)?;
        let path = Layout::Tiles.checkpoint();
        let limit = MAX_NOTE_BYTES as u64;
        let failed = |e: LogError| blame::log(&e);
        let served = (&place).file(path, limit).map_err(failed)?;
        let served = served.ok_or_else(|| failed(LogError::Missing { path: path.into() }))?;

        let key = log_key(&self.publisher).map_err(failed)?;
        let known = memory.read()?.map(|note| Checkpoint::open(&note, &key)).transpose();
        let known = known.map_err(|error| {
            Failure::new(Exit::Storage, format!("{}: {error}", memory.file.display()))
                .fix("what this witness cosigned last is damaged: find out why before it is moved away")
        })?;
        let found = match examine(&place, &key, &served, known.as_ref()) {
            Err(error @ LogError::Fork { .. }) => {
                let other = memory.keep_other(&served)?;
                let said = format!("{error} ({} and {})", memory.file.display(), other.display());
                return Err(
                    Failure::new(Exit::Peer, said).fix("show both to others, and do not cosign this log")
                );
            }
            outcome => outcome.map_err(failed)?,
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let note = Note::parse(&served).map_err(failed)?;
        // From here on it cosigns nothing that does not go on from this.
        memory.keep(&served)?;
        let theirs = note.signatures.into_iter().filter(|line| line.name == key.name());
        let line = cosigner.cosign(&note.text, now);
        let cosigned = Note { text: note.text, signatures: theirs.chain([line]).collect() };
        replace(&self.out, cosigned.to_string().as_bytes())?;

        let before = known.map_or(0, |known| known.size);
        let (size, out) = (found.size, self.out.display());
        screen.say(format!(
            "cosigned {size} entries, {} more than before; send {out} to the publisher",
            size - before
        ))?;
        screen.report(&json!({
            "entries": size,
            "before": before,
            "time": now,
            "witness": cosigner.public().to_string(),
            "note": cosigned.to_string(),
        }))
    }
}

/// What a witness cosigned last of one log, while nobody else cosigns.
struct Memory {
    file: PathBuf,
    _lock: File,
}

impl Memory {
    fn lock(state: &Path, publisher: &PublicKey) -> Result<Self> {
        let path = state.join(format!("{}.lock", publisher.0));
        let lock = || {
            fs::create_dir_all(state)?;
            let file = File::options().create(true).append(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        let lock = lock().map_err(|e| Failure::file("locking", &path, &e))?;
        Ok(Memory { file: state.join(format!("{}.checkpoint", publisher.0)), _lock: lock })
    }

    fn read(&self) -> Result<Option<Vec<u8>>> {
        let folder = Directory(self.file.parent().unwrap_or(Path::new(".")).to_owned());
        let name = self.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        folder.file(name, MAX_NOTE_BYTES as u64).map_err(|e| blame::log(&e))
    }

    fn keep(&self, note: &[u8]) -> Result<()> {
        replace(&self.file, note)
    }

    fn keep_other(&self, note: &[u8]) -> Result<PathBuf> {
        let other = self.file.with_extension("other");
        replace(&other, note)?;
        Ok(other)
    }
}

/// Whole and on the disk, or not at all.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || {
        let mut part = tempfile::NamedTempFile::new_in(folder)?;
        part.write_all(bytes)?;
        part.as_file().sync_all()?;
        part.persist(path)?;
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    };
    write().map_err(|e: std::io::Error| Failure::file("writing", path, &e))
}
