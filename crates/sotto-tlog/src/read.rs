//! Reads a log, of which every tile is checked before it is used.
//!
//! Reading begins at the right edge: the log's root is computed from the partial tiles alone, one
//! per level, so they are checked together against the checkpoint. Every other tile is a child of a
//! checked one, which contains its root. So every hash that this module returns belongs to the log
//! of the checkpoint, a wrong tile is reported as soon as it is read, and only one tile per level
//! is held in memory.
//!
//! A log may grow while it is read. What is read is the log of the checkpoint; a partial tile that
//! was removed meanwhile is the beginning of a full one.
#![deny(clippy::indexing_slicing)]

use crate::entries::{BundleEntries, BundleEntry, MAX_BUNDLE_BYTES};
use crate::layout::TILE_WIDTH;
use crate::{Checkpoint, LogError, LogLayout, LogSource, Result, Tile};
use sotto_core::{Error, Misuse};
use sotto_tree::log::{Hash, Peaks, Sibling, assemble, proof, subtree};

const HASH_BYTES: usize = 32;

/// A log at a verified checkpoint, whose tiles are checked when they are read.
#[derive(Debug)]
pub struct VerifiedLog<S> {
    source: S,
    layout: LogLayout,
    peaks: Peaks,
    /// Partial tile of each level, empty where there is none.
    edge: Vec<Vec<Hash>>,
    /// Full tile of each level that was read last, with its index.
    last: Vec<Option<(u64, Vec<Hash>)>>,
}

impl<S: LogSource> VerifiedLog<S> {
    /// Opens a log at a checkpoint that was verified.
    ///
    /// # Errors
    /// [`LogError::Missing`], [`LogError::TileLength`], [`LogError::Edge`], [`LogError::Storage`].
    pub fn open(source: S, layout: LogLayout, checkpoint: &Checkpoint) -> Result<Self> {
        let size = checkpoint.size;
        let levels = Tile::levels(size);
        let edges = (0..levels).map(|level| Tile::edge(level, size));
        let read = |tile: Option<Tile>| tile.map_or(Ok(Vec::new()), |tile| fetch(&source, layout, tile));
        let edge = edges.clone().map(read).collect::<Result<Vec<_>>>()?;
        let peaks = peaks(size, &edge)?;
        if peaks.root() != checkpoint.root {
            let tiles: Vec<String> = edges.flatten().map(|tile| layout.tile(tile)).collect();
            return Err(LogError::Edge { tiles: tiles.join(", "), size });
        }
        let last = vec![None; levels.into()];
        Ok(VerifiedLog { source, layout, peaks, edge, last })
    }

    /// Number of leaves.
    pub fn size(&self) -> u64 {
        self.peaks.leaves()
    }

    /// Number of tiles of leaf hashes, including the partial one.
    pub fn tiles(&self) -> u64 {
        self.size().div_ceil(TILE_WIDTH as u64)
    }

    /// Roots of the log's complete subtrees.
    pub fn peaks(&self) -> &Peaks {
        &self.peaks
    }

    /// Leaf hashes of a tile: leaves `256 * index` and following.
    ///
    /// # Errors
    /// [`LogError::Tree`] past the end; [`LogError::Missing`], [`LogError::TileLength`],
    /// [`LogError::TileHash`], [`LogError::Storage`].
    pub fn leaves(&mut self, index: u64) -> Result<&[Hash]> {
        self.tile(0, index)
    }

    /// Calls `each` with the index and the entry of every leaf hash of a tile, after checking the
    /// entry against its leaf.
    ///
    /// # Errors
    /// The errors of [`Self::leaves`], [`LogError::TooLarge`], [`LogError::Entry`],
    /// [`LogError::EntryHash`], and the errors of `each`.
    pub fn entries(
        &mut self,
        index: u64,
        mut each: impl FnMut(u64, BundleEntry<'_>) -> Result<()>,
    ) -> Result<()> {
        let layout = self.layout;
        let leaves = self.leaves(index)?;
        // A log has fewer than 2^64 entries, and this is a tile of it.
        let (width, first) = (leaves.len() as u16, index * TILE_WIDTH as u64);
        let leaves = leaves.to_vec();
        let (path, bytes) = bundle(&self.source, layout, index, width)?;
        let mut entries = BundleEntries::new(layout, &bytes, first, &path);
        for (index, leaf) in (first..).zip(leaves) {
            let cut = || LogError::Entry {
                path: path.clone(),
                index,
                why: "the bundle ends before the entry".into(),
            };
            let entry =
                entries.next().ok_or_else(cut).flatten().map_err(|error| error.of_file(&path, &bytes))?;
            if entry.leaf != leaf {
                return Err(LogError::EntryHash { path: path.clone(), index }.of_file(&path, &bytes));
            }
            each(index, entry)?;
        }
        // A bundle that grew has further entries; one that did not must end here.
        if path == layout.bundle(index, width) && entries.next().is_some() {
            let why = "the bundle has bytes after its last entry".into();
            return Err(LogError::Entry { path, index: first + u64::from(width), why });
        }
        Ok(())
    }

    /// Root of the complete subtree of `2^level` leaves that is the `index`-th of its level.
    ///
    /// # Errors
    /// The errors of [`Self::leaves`].
    pub fn node(&mut self, level: u8, index: u64) -> Result<Hash> {
        let (tile_level, within) = (level / 8, level % 8);
        let past = Error::from(Misuse::IndexPastEnd {
            index,
            len: self.size().checked_shr(level.into()).unwrap_or(0),
        });
        let first = index.checked_mul(1 << within).ok_or(LogError::Tree(past))?;
        let (tile, at) = (first / TILE_WIDTH as u64, (first % TILE_WIDTH as u64) as usize);
        let hashes = self.tile(tile_level, tile)?.get(at..at + (1 << within));
        let past = Error::from(Misuse::Rule("the subtree is not complete, so it has no hash"));
        subtree::root(hashes.ok_or(LogError::Tree(past))?).map_err(LogError::Tree)
    }

    /// Siblings of a leaf's path, from the leaf up, which make an inclusion proof.
    ///
    /// # Errors
    /// The errors of [`Self::leaves`].
    pub fn prove(&mut self, leaf: u64) -> Result<Vec<Hash>> {
        let size = self.size();
        let complete = (0..proof::height(size)).map(|level| match proof::sibling(leaf, size, level) {
            Sibling::Complete => self.node(level as u8, leaf >> level ^ 1),
            Sibling::Partial { .. } | Sibling::Absent => Ok(Hash::default()),
        });
        let complete = complete.collect::<Result<Vec<_>>>()?;
        Ok(assemble(leaf, &self.peaks, &complete)?)
    }

    /// Peaks of this log at an earlier length.
    ///
    /// # Errors
    /// The errors of [`Self::leaves`].
    pub fn peaks_at(&mut self, size: u64) -> Result<Peaks> {
        if size > self.size() {
            return Err(LogError::Older { known: size, found: self.size() });
        }
        let levels = (0..64u8).rev().filter(|level| size >> level & 1 == 1);
        // The peak of a level begins where the bits above it end.
        let hashes = levels.map(|level| self.node(level, (size >> level) - 1)).collect::<Result<_>>()?;
        Ok(Peaks::from_hashes(size, hashes)?)
    }

    /// Checks that this log extends the log of an older checkpoint. Both must have the same name.
    ///
    /// # Errors
    /// [`LogError::Older`] if it is shorter, [`LogError::Fork`] if its first leaves differ, and the
    /// errors of [`Self::leaves`].
    pub fn extends(&mut self, known: &Checkpoint) -> Result<()> {
        if self.peaks_at(known.size)?.root() == known.root {
            Ok(())
        } else {
            Err(LogError::Fork { size: known.size })
        }
    }

    /// Partial tiles from which a writer continues.
    pub(crate) fn into_edge(self) -> Vec<Vec<Hash>> {
        self.edge
    }

    /// Reads and checks a tile of any level.
    fn tile(&mut self, level: u8, index: u64) -> Result<&[Hash]> {
        let fulls = Tile::fulls(level, self.size());
        let at = usize::from(level);
        if index < fulls {
            self.load(level, index)?;
        }
        let last = || Some(self.last.get(at)?.as_ref()?.1.as_slice());
        let edge = || self.edge.get(at).map(Vec::as_slice).filter(|edge| index == fulls && !edge.is_empty());
        let found = if index < fulls { last() } else { edge() };
        found.ok_or_else(|| LogError::Tree(Misuse::IndexPastEnd { index, len: fulls }.into()))
    }

    /// Reads a full tile, after the one above it, and checks it against its hash there.
    fn load(&mut self, level: u8, index: u64) -> Result<()> {
        let at = usize::from(level);
        if self.last.get(at).is_some_and(|last| last.as_ref().is_some_and(|(found, _)| *found == index)) {
            return Ok(());
        }
        let (above, slot) = (index / TILE_WIDTH as u64, (index % TILE_WIDTH as u64) as usize);
        let want = self.tile(level + 1, above)?.get(slot).copied();
        let tile = Tile::full(level, index);
        let hashes = fetch(&self.source, self.layout, tile)?;
        if want.is_none() || subtree::root(&hashes).ok() != want {
            let parent = Tile::edge(level + 1, self.size()).filter(|edge| edge.index == above);
            let parent = self.layout.tile(parent.unwrap_or(Tile::full(level + 1, above)));
            return Err(LogError::TileHash { path: self.layout.tile(tile), parent });
        }
        if let Some(last) = self.last.get_mut(at) {
            *last = Some((index, hashes));
        }
        Ok(())
    }
}

/// Peaks of a log, computed from the partial tile of each level.
pub(crate) fn peaks(size: u64, edge: &[Vec<Hash>]) -> Result<Peaks> {
    Ok(Peaks::from_hashes(size, edge.iter().rev().flat_map(|tile| peaks_of(tile)).collect())?)
}

/// Roots of the complete subtrees of a partial tile, the largest first.
fn peaks_of(tile: &[Hash]) -> Vec<Hash> {
    let mut rest = tile;
    let mut peaks = Vec::new();
    for width in (0..8).rev().map(|bit| 1 << bit) {
        if tile.len() & width != 0
            && let Some((peak, others)) = rest.split_at_checked(width)
        {
            peaks.extend(subtree::root(peak));
            rest = others;
        }
    }
    peaks
}

/// Reads a tile's hashes without checking them.
fn fetch<S: LogSource>(source: &S, layout: LogLayout, tile: Tile) -> Result<Vec<Hash>> {
    let want = HASH_BYTES * usize::from(tile.width);
    // Twice a tile, so that a file that is slightly too long is reported as such.
    let limit = 2 * (HASH_BYTES * TILE_WIDTH) as u64;
    let path = layout.tile(tile);
    let full = Tile { width: TILE_WIDTH as u16, ..tile };
    let (path, bytes, due) = match source.file(&path, limit)? {
        Some(bytes) => (path, bytes, want),
        None => {
            let grown = layout.tile(full);
            let bytes = source.file(&grown, limit)?.ok_or(LogError::Missing(path))?;
            (grown, bytes, HASH_BYTES * TILE_WIDTH)
        }
    };
    if bytes.len() != due {
        let error = LogError::TileLength { path: path.clone(), got: bytes.len() as u64, want: due as u64 };
        return Err(error.of_file(&path, &bytes));
    }
    let (hashes, _) = bytes.as_chunks::<HASH_BYTES>();
    Ok(hashes.iter().take(tile.width.into()).copied().collect())
}

/// Reads the bundle of `width` entries, or the longer one that replaced it when the log grew.
/// Returns its path too.
fn bundle<S: LogSource>(source: &S, layout: LogLayout, index: u64, width: u16) -> Result<(String, Vec<u8>)> {
    let path = layout.bundle(index, width);
    if let Some(bytes) = source.file(&path, MAX_BUNDLE_BYTES)? {
        return Ok((path, bytes));
    }
    let grown = layout.bundle(index, TILE_WIDTH as u16);
    let bytes = source.file(&grown, MAX_BUNDLE_BYTES)?.ok_or(LogError::Missing(path))?;
    Ok((grown, bytes))
}
