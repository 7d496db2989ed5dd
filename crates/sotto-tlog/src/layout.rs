//! The three layouts of logs, which say what each file of a log contains.
//!
//! All have tiles of 256 hashes, a level of tiles for each eight levels of the tree, and the same
//! numbers in paths. A tile of level l contains roots of subtrees of 256^l leaves. If a log ends
//! within a tile, the tile is partial and its path contains its width.

use crate::{LogError, Result};
use std::fmt;
use std::str::FromStr;

/// Number of hashes in a full tile, and of entries in a full bundle.
pub const TILE_WIDTH: usize = 256;

/// Paths of a log's files, and encoding of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLayout {
    /// Layout of `c2sp.org/tlog-tiles`.
    Tiles,
    /// Layout of `c2sp.org/static-ct-api`, for Certificate Transparency.
    StaticCt,
    /// Layout of Go's checksum database, which is older than the other two.
    SumDb,
}

/// Position and width of a tile of hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Level of the tile, 0 for leaf hashes.
    pub level: u8,
    /// Index of the tile in its level, from the left.
    pub index: u64,
    /// Number of hashes in the tile, 1 to 256.
    pub width: u16,
}

impl Tile {
    /// Makes a full tile.
    pub fn full(level: u8, index: u64) -> Self {
        Tile { level, index, width: TILE_WIDTH as u16 }
    }

    /// The partial tile of a level in a log of `size` leaves; `None` where the level ends with a
    /// full one.
    pub fn edge(level: u8, size: u64) -> Option<Self> {
        let hashes = size.checked_shr(8 * u32::from(level)).unwrap_or(0);
        let width = (hashes & 255) as u16;
        (width > 0).then_some(Tile { level, index: hashes >> 8, width })
    }

    /// Number of full tiles of a level in a log of `size` leaves.
    pub fn fulls(level: u8, size: u64) -> u64 {
        size.checked_shr(8 * (u32::from(level) + 1)).unwrap_or(0)
    }

    /// Number of levels of tiles in a log of `size` leaves.
    pub fn levels(size: u64) -> u8 {
        size.checked_ilog2().map_or(0, |log| log as u8 / 8 + 1)
    }

    /// Number of tiles of all levels in a log of `size` leaves.
    pub fn count(size: u64) -> u64 {
        let of = |level| Self::fulls(level, size) + u64::from(Self::edge(level, size).is_some());
        (0..Self::levels(size)).map(of).sum()
    }

    /// Every tile of a log of `size` leaves, from the top level down.
    pub fn all(size: u64) -> impl Iterator<Item = Tile> {
        (0..Self::levels(size)).rev().flat_map(move |level| {
            (0..Self::fulls(level, size))
                .map(move |index| Self::full(level, index))
                .chain(Self::edge(level, size))
        })
    }
}

impl LogLayout {
    /// All layouts of logs.
    pub const ALL: [LogLayout; 3] = [LogLayout::Tiles, LogLayout::StaticCt, LogLayout::SumDb];

    /// Path of the checkpoint.
    pub fn checkpoint(self) -> &'static str {
        match self {
            LogLayout::Tiles | LogLayout::StaticCt => "checkpoint",
            LogLayout::SumDb => "latest",
        }
    }

    /// Path of a tile.
    pub fn tile(self, tile: Tile) -> String {
        let Tile { level, index, width } = tile;
        format!("{}/{level}/{}", self.root(), Number { index, width })
    }

    /// Path of a bundle: the entries whose hashes are in a tile of level 0.
    pub fn bundle(self, index: u64, width: u16) -> String {
        let kind = match self {
            LogLayout::Tiles => "entries",
            LogLayout::StaticCt | LogLayout::SumDb => "data",
        };
        format!("{}/{kind}/{}", self.root(), Number { index, width })
    }

    /// Prefix of paths. Go's database says in every path that its tiles have eight levels.
    fn root(self) -> &'static str {
        match self {
            LogLayout::Tiles | LogLayout::StaticCt => "tile",
            LogLayout::SumDb => "tile/8",
        }
    }
}

/// A file of a log, by its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFile {
    /// The checkpoint.
    Checkpoint,
    /// A tile of hashes.
    Tile(Tile),
    /// A bundle of entries: its index, and the number of entries in it.
    Bundle(u64, u16),
}

impl LogLayout {
    /// Path of a file.
    pub fn path(self, place: LogFile) -> String {
        match place {
            LogFile::Checkpoint => self.checkpoint().to_owned(),
            LogFile::Tile(tile) => self.tile(tile),
            LogFile::Bundle(index, width) => self.bundle(index, width),
        }
    }

    /// Parses a path of a `tlog-tiles` log; `None` for every text that is not the canonical path of
    /// a file.
    pub fn place(path: &str) -> Option<LogFile> {
        let place = if path == LogLayout::Tiles.checkpoint() {
            LogFile::Checkpoint
        } else {
            let (kind, number) = path.strip_prefix("tile/")?.split_once('/')?;
            let Number { index, width } = Number::parse(number)?;
            match kind {
                "entries" => LogFile::Bundle(index, width),
                level => LogFile::Tile(Tile { level: level.parse().ok()?, index, width }),
            }
        };
        // The parser above is lenient, so other spellings are refused here.
        (LogLayout::Tiles.path(place) == path).then_some(place)
    }
}

impl LogFile {
    /// Whether a log of `size` leaves contains the file.
    pub fn is_within(self, size: u64) -> bool {
        let Tile { level, index, width } = match self {
            LogFile::Checkpoint => return true,
            LogFile::Tile(tile) => tile,
            LogFile::Bundle(index, width) => Tile { level: 0, index, width },
        };
        let hashes = size.checked_shr(8 * u32::from(level)).unwrap_or(0);
        let end = index.checked_mul(TILE_WIDTH as u64).and_then(|first| first.checked_add(width.into()));
        width > 0 && usize::from(width) <= TILE_WIDTH && end.is_some_and(|end| end <= hashes)
    }
}

/// A number in groups of three digits, and the width of a partial tile.
struct Number {
    index: u64,
    width: u16,
}

impl Number {
    /// Parses a number leniently.
    fn parse(text: &str) -> Option<Self> {
        let (groups, width) = match text.split_once(".p/") {
            Some((groups, width)) => {
                (groups, width.parse().ok().filter(|w| (1..TILE_WIDTH as u16).contains(w))?)
            }
            None => (text, TILE_WIDTH as u16),
        };
        let index = groups.split('/').try_fold(0u64, |above, group| {
            let digits: u64 = group.strip_prefix('x').unwrap_or(group).parse().ok()?;
            above.checked_mul(1000)?.checked_add(digits)
        })?;
        Some(Number { index, width })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The largest number has 20 digits: 6 groups above the last.
        for group in (1..7).rev().map(|group| self.index / 1000u64.pow(group)).filter(|above| *above > 0) {
            write!(f, "x{:03}/", group % 1000)?;
        }
        write!(f, "{:03}", self.index % 1000)?;
        if usize::from(self.width) < TILE_WIDTH { write!(f, ".p/{}", self.width) } else { Ok(()) }
    }
}

impl fmt::Display for LogLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogLayout::Tiles => "tlog-tiles",
            LogLayout::StaticCt => "static-ct",
            LogLayout::SumDb => "sumdb",
        })
    }
}

impl FromStr for LogLayout {
    type Err = LogError;
    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|layout| layout.to_string() == text);
        found.ok_or_else(|| LogError::malformed("layout", "expected tlog-tiles, static-ct or sumdb"))
    }
}
