//! A log as it lies in a folder: how it is laid out, where its checkpoint is, and which of its tiles are not there.

use crate::layout::TILE_WIDTH;
use crate::{LogError, LogLayout, LogSource, Result, Tile};
use std::path::{Path, PathBuf};

/// Most tiles that are looked for: those of a log of four thousand million entries. A checkpoint may claim any length.
pub const MAX_TILES: u64 = 1 << 24;

/// A log's folder, looked at and not read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFolder {
    /// What the paths of tiles are relative to.
    pub folder: PathBuf,
    /// How its files are laid out.
    pub layout: LogLayout,
    /// Where its checkpoint should be.
    pub checkpoint: PathBuf,
}

impl LogFolder {
    /// Looks at a folder. `name` is that of the log's key: Go keeps each database in a folder of that name.
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

/// A tile of level 8 would be one of 2^64 leaves, so a folder of that name is that of Go's layout. Entries tell the other
/// two apart; the tiles of both lie in the same places.
fn guess(folder: &Path) -> LogLayout {
    if folder.join("tile/8").is_dir() {
        LogLayout::SumDb
    } else if folder.join("tile/data").is_dir() {
        LogLayout::StaticCt
    } else {
        LogLayout::Tiles
    }
}

/// The `go` command has tiles in `GOPATH/pkg/mod/cache/download/sumdb/NAME`, and `latest` in `GOPATH/pkg/sumdb/NAME`.
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

/// Paths of the tiles that a log of so many leaves has and a source does not, from the top level down. `told` hears how many were
/// looked for. A partial tile may have grown into the full one since.
///
/// # Errors
/// [`LogError::TooManyTiles`], [`LogError::Storage`].
pub fn missing<S: LogSource>(
    source: &S,
    layout: LogLayout,
    size: u64,
    mut told: impl FnMut(u64),
) -> Result<Vec<String>> {
    if Tile::count(size) > MAX_TILES {
        return Err(LogError::TooManyTiles { size, limit: MAX_TILES });
    }
    let mut missing = Vec::new();
    for (done, tile) in (0..).zip(Tile::all(size)) {
        told(done);
        let path = layout.tile(tile);
        let full = Tile { width: TILE_WIDTH as u16, ..tile };
        if !source.has(&path)? && (tile == full || !source.has(&layout.tile(full))?) {
            missing.push(path);
        }
    }
    Ok(missing)
}
