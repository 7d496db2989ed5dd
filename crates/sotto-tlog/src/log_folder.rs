//! A log in a folder: its layout, the path of its checkpoint, and its missing tiles; and the sources of
//! a log's files.

use crate::layout::TILE_WIDTH;
use crate::{LogError, LogLayout, Result, Tile};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Largest number of tiles that are searched for: those of a log of four billion entries. A
/// checkpoint may claim any length.
pub const MAX_TILES: u64 = 1 << 24;

/// A log's folder that was inspected but not read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFolder {
    /// Folder that the paths of tiles are relative to.
    pub folder: PathBuf,
    /// Layout of the files.
    pub layout: LogLayout,
    /// Path where the checkpoint should be.
    pub checkpoint: PathBuf,
}

impl LogFolder {
    /// Inspects a folder. `name` is the name of the log's key: Go stores each database in a folder
    /// of that name.
    pub fn at(folder: &Path, layout: Option<LogLayout>, name: &str) -> Self {
        let holds = |folder: &Path| folder.join("tile").is_dir();
        let named = folder.join(name);
        // A name may be a path that leads elsewhere.
        let below = !holds(folder) && plain(name) && holds(&named);
        let folder = if below { named } else { folder.to_owned() };
        let layout = layout.unwrap_or_else(|| guess(&folder));
        let checkpoint = folder.join(layout.checkpoint());
        let elsewhere = || gos_latest(&folder).filter(|latest| latest.is_file());
        let checkpoint = match layout {
            LogLayout::SumDb if !checkpoint.is_file() => elsewhere().unwrap_or(checkpoint),
            _ => checkpoint,
        };
        LogFolder { folder, layout, checkpoint }
    }
}

/// Guesses the layout of a folder. A tile of level 8 would be one of 2^64 leaves, so a folder of
/// that name belongs to Go's layout. The entries distinguish the other two layouts; the tiles of
/// both have the same paths.
fn guess(folder: &Path) -> LogLayout {
    if folder.join("tile/8").is_dir() {
        LogLayout::SumDb
    } else if folder.join("tile/data").is_dir() {
        LogLayout::StaticCt
    } else {
        LogLayout::Tiles
    }
}

/// Path of Go's `latest` file. The `go` command stores tiles in
/// `GOPATH/pkg/mod/cache/download/sumdb/NAME`, and `latest` in `GOPATH/pkg/sumdb/NAME`.
fn gos_latest(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let name = folder.file_name()?;
    let above = folder.parent()?;
    let mods = ["sumdb", "download", "cache"]
        .iter()
        .try_fold(above, |at, part| if at.file_name()? == *part { at.parent() } else { None })?;
    Some(mods.parent()?.join("sumdb").join(name).join("latest"))
}

fn plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(std::path::Component::Normal(_)), None))
}

/// Paths of the tiles of a log of `size` leaves that a source lacks, from the top level down. The
/// callback receives the number of tiles checked so far. A partial tile may have grown into the
/// full one since.
///
/// # Errors
/// [`LogError::TooManyTiles`], [`LogError::Storage`].
pub fn missing<S: LogSource>(
    source: &S,
    layout: LogLayout,
    size: u64,
    mut on_progress: impl FnMut(u64),
) -> Result<Vec<String>> {
    if Tile::count(size) > MAX_TILES {
        return Err(LogError::TooManyTiles { size, limit: MAX_TILES });
    }
    let mut missing = Vec::new();
    for (done, tile) in (0..).zip(Tile::all(size)) {
        on_progress(done);
        let path = layout.tile(tile);
        let full = Tile { width: TILE_WIDTH as u16, ..tile };
        if !source.has(&path)? && (tile == full || !source.has(&layout.tile(full))?) {
            missing.push(path);
        }
    }
    Ok(missing)
}

/// Reads files by their paths in the log's layout.
pub trait LogSource {
    /// Bytes of a file, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`LogError::TooLarge`] if it has more than `limit` bytes, [`LogError::Storage`].
    fn file(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>>;

    /// Whether a file exists. It is not read.
    ///
    /// # Errors
    /// [`LogError::Storage`].
    fn has(&self, path: &str) -> Result<bool>;
}

/// A log in a folder, with the paths that a web server would serve.
#[derive(Clone, Debug)]
pub struct DirectorySource(pub PathBuf);

impl LogSource for DirectorySource {
    fn file(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let file = match File::open(self.0.join(path)) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            opened => opened.map_err(LogError::storage(path))?,
        };
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(LogError::storage(path))?;
        if bytes.len() as u64 > limit {
            return Err(LogError::TooLarge { what: path.into(), limit });
        }
        Ok(Some(bytes))
    }

    fn has(&self, path: &str) -> Result<bool> {
        match self.0.join(path).metadata() {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
            found => Ok(found.map_err(LogError::storage(path))?.is_file()),
        }
    }
}
