//! The arguments for a log: its folder, and the key that signs it.

use crate::failure::{Exit, Failure, FileContext, Result};
use crate::screen::progress::{ProgressLine, StageUnit};
use sotto_tlog::{
    Checkpoint, DirectorySource, LogError, LogFolder, LogKey, LogLayout, Tile, VerifiedLog, log_folder,
};
use sotto_tree::log::{Hash, hash};
use std::path::{Path, PathBuf};

/// Maximum number of missing files that an error names.
const NAMED: usize = 3;

/// What may be said of a log that lies in a folder.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Public key of the log, or a file that holds it
    #[arg(long, value_name = "KEY")]
    log_key: String,
    /// Origin line of the log [default: the key's name; Go's checksum databases need none]
    #[arg(long, value_name = "NAME")]
    origin: Option<String>,
    /// Layout of the log's files: tlog-tiles, static-ct or sumdb [default: detected]
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<LogLayout>,
    /// File of the log's checkpoint, if it is not in the folder
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// File to write the paths of all missing tiles to, one per line
    #[arg(long, value_name = "FILE")]
    missing: Option<PathBuf>,
}

/// A complete log: its checkpoint, the signed text of it, and its tiles.
pub(crate) struct OpenedLog {
    pub(crate) note: Vec<u8>,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) layout: LogLayout,
    pub(crate) log: VerifiedLog<DirectorySource>,
}

impl LogArgs {
    /// Opens a log's folder, if all of its tiles exist.
    pub(crate) fn open(&self, folder: &Path, bars: &ProgressLine) -> Result<OpenedLog> {
        let (found, note, checkpoint) = self.head(folder)?;
        let source = DirectorySource(found.folder.clone());
        let tiles = Tile::count(checkpoint.size);
        let report_progress = |done| bars.at("checking for tiles", done, tiles, StageUnit::Count("tiles"));
        let paths =
            log_folder::missing(&source, found.layout, checkpoint.size, report_progress).map_err(failed)?;
        if let Some(file) = &self.missing {
            let list: String = paths.iter().map(|path| format!("{path}\n")).collect();
            std::fs::write(file, list).doing("writing", file)?;
        }
        if !paths.is_empty() {
            return Err(self.lacks(&found.folder, &paths, tiles));
        }
        let log = VerifiedLog::open(source, found.layout, &checkpoint).map_err(failed)?;
        Ok(OpenedLog { note, checkpoint, layout: found.layout, log })
    }

    /// Reads and verifies a log's checkpoint, without reading a tile.
    fn head(&self, folder: &Path) -> Result<(LogFolder, Vec<u8>, Checkpoint)> {
        head(folder, &self.log_key, self.origin.as_deref(), self.layout, self.checkpoint.as_deref())
    }

    pub(crate) fn key(&self, note: &[u8]) -> Result<LogKey> {
        Ok(pinned(key(&self.log_key)?, self.origin.as_deref(), note))
    }

    fn lacks(&self, folder: &Path, paths: &[String], tiles: u64) -> Failure {
        let (lacking, folder) = (paths.len(), folder.display());
        let named = paths.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if lacking > NAMED { ", ..." } else { "" };
        let message = format!("{lacking} of {tiles} tiles are missing in {folder}: {named}{more}");
        let fix = match &self.missing {
            Some(file) => format!("fetch the files listed in {} from the log", file.display()),
            None => "fetch them from the log; --missing FILE lists all of them".to_owned(),
        };
        Failure::missing(message).fix(fix)
    }
}

/// Finds a log's checkpoint, and verifies it.
pub(crate) fn head(
    folder: &Path,
    text: &str,
    origin: Option<&str>,
    layout: Option<LogLayout>,
    checkpoint: Option<&Path>,
) -> Result<(LogFolder, Vec<u8>, Checkpoint)> {
    let key = key(text)?;
    let mut found = LogFolder::at(folder, layout, key.name());
    if let Some(elsewhere) = checkpoint {
        found.checkpoint = elsewhere.to_owned();
    }
    let path = &found.checkpoint;
    let note = std::fs::read(path).map_err(|e| {
        Failure::file("reading the log's checkpoint", path, &e)
            .fix("give the folder of the log's tiles, and --checkpoint FILE if the checkpoint is elsewhere")
    })?;
    let checkpoint = Checkpoint::open(&note, &pinned(key, origin, &note)).map_err(failed)?;
    Ok((found, note, checkpoint))
}

/// Parses a key: its text, or a file that contains it.
pub(crate) fn key(text: &str) -> Result<LogKey> {
    let path = Path::new(text);
    match text.parse::<LogKey>() {
        Ok(key) => return Ok(key),
        Err(error) if LogKey::has_form(text) && !path.exists() => {
            return Err(failed(error).fix("copy the key again, or give a file that has it"));
        }
        Err(_) => {}
    }
    let held = std::fs::read_to_string(path).map_err(|e| {
        Failure::file("reading the log's key", path, &e)
            .fix("give the key itself, NAME+ID+BASE64 or NAME+BASE64, or a file that has it")
    })?;
    held.trim().parse().map_err(failed)
}

/// A key for a checkpoint of this origin, if one was given.
pub(crate) fn pinned(key: LogKey, origin: Option<&str>, note: &[u8]) -> LogKey {
    match origin {
        Some(origin) => key.with_origin(origin),
        None => key.for_checkpoint(note),
    }
}

/// Parses a leaf hash: of an entry in a file, or in hexadecimal.
pub(crate) fn leaf(entry: Option<&Path>, leaf: Option<&str>) -> Result<Option<Hash>> {
    if let Some(path) = entry {
        let entry = std::fs::read(path).doing("reading the entry", path)?;
        return Ok(Some(hash::leaf(&entry)));
    }
    let parse = |text: &str| text.parse::<sotto_catalog::Hex32>().map(|hex| hex.0);
    let leaf = leaf.map(parse).transpose();
    leaf.map_err(|_| Failure::usage("--leaf is not 64 hexadecimal digits in lower case"))
}

/// The failure of a log.
pub(crate) fn failed(error: LogError) -> Failure {
    match error {
        LogError::Storage { .. } => Failure::new(Exit::Storage, error.to_string()),
        LogError::Missing { .. } => Failure::missing(error.to_string()),
        LogError::KeyText(_) => Failure::usage(error.to_string()),
        _ => Failure::input(error.to_string()),
    }
}
