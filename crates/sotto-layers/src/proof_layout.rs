//! The layout of a log for proofs, as a stack's `layers` describe it: the layer and its shape.
//!
//! | layer | lookups | rows |
//! |---|---|---|
//! | `tree-colour/1` | one for each layer that is not public | 32 bytes |
//! | `tree-tile/1` | one for each level of tiles | 8,192 bytes |
//! | `tree-pbc/1` | those of a batch code | 32 bytes |
//!
//! The stack's files are the same for all: `checkpoint`, the log's signed note; `peaks`, one hash
//! for each bit of the log's length, the largest subtree's first; `public`, all hashes that are in
//! no table.
//! length, the largest subtree's first; `public`, whatever hashes are in no table.

use crate::batch_code::BatchCode;
use crate::batch_code::code::CodeSizes;
use crate::batch_proof::{self, BatchProof};
use crate::color_proof::{self, ColorProof};
use crate::tile_proof::{self, TileProof};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sotto_core::{Compose, Layer, PeerMisbehaved, Result, json};
use sotto_prg::PublicSeed;
use sotto_tree::log::{Hash, Peaks};
use sotto_tree::{Coloring, PerfectTree};

/// The layout of a log for proofs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofLayout {
    /// A table for each color.
    Color {
        /// Colored layers of each subtree, which is also the number of colors.
        layers: u8,
        /// Public layers above, beginning with the root's children.
        public: u8,
    },
    /// A table for each level of tiles.
    Tile {
        /// Levels of tiles, 1 or 2.
        levels: u8,
    },
    /// A table for each bucket of a batch code over all nodes: one row for each level of the log at
    /// once.
    Batch(BatchLayout),
}

/// The parameters of a batch code over a log's nodes that do not follow from the log's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchLayout {
    /// Copies of each row, in one bucket each.
    pub copies: usize,
    /// Buckets among which a copy is divided.
    pub buckets: usize,
    /// Lookups in the table of all nodes.
    pub spare: usize,
    /// The seed of the permutations that place the copies.
    pub seed: PublicSeed,
}

impl BatchLayout {
    /// The cheapest batch code for a log of `leaves` leaves.
    ///
    /// # Errors
    /// The errors of [`CodeSizes::fit`].
    pub fn fit(leaves: u64, seed: PublicSeed) -> Result<Self> {
        let CodeSizes { copies, buckets, spare, .. } =
            CodeSizes::fit(batch_proof::rows(leaves), batch_proof::height(leaves))?;
        Ok(BatchLayout { copies, buckets, spare, seed })
    }

    /// The sizes of the code, for a log of `leaves` leaves.
    pub fn sizes(self, leaves: u64) -> CodeSizes {
        let BatchLayout { copies, buckets, spare, .. } = self;
        CodeSizes {
            rows: batch_proof::rows(leaves),
            items: batch_proof::height(leaves),
            copies,
            buckets,
            spare,
        }
    }

    /// The code over the nodes of a log of `leaves` leaves.
    ///
    /// # Errors
    /// The errors of [`CodeSizes::check`]: a log that grows may outgrow its buckets.
    pub fn over(self, leaves: u64) -> Result<BatchCode> {
        BatchCode::new(self.sizes(leaves), &self.seed)
    }
}

/// The layer of a layout, over a log.
#[derive(Debug)]
pub enum ProofLayer {
    /// Proofs by color, see [`ColorProof`].
    Color(ColorProof),
    /// Proofs by tile, see [`TileProof`].
    Tile(TileProof),
    /// Proofs by a batch code, see [`BatchProof`].
    Batch(Box<Compose<BatchProof, BatchCode>>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColorParams {
    leaves: u64,
    layers: u8,
    public: u8,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TileParams {
    leaves: u64,
    levels: u8,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchParams {
    leaves: u64,
    copies: usize,
    buckets: usize,
    spare: usize,
    seed: PublicSeed,
}

const COLOR: &str = "tree-colour/1";
const TILE: &str = "tree-tile/1";
const BATCH: &str = "tree-pbc/1";

impl ProofLayout {
    /// The layer's name, with its version.
    pub fn name(self) -> &'static str {
        match self {
            ProofLayout::Color { .. } => COLOR,
            ProofLayout::Tile { .. } => TILE,
            ProofLayout::Batch(_) => BATCH,
        }
    }

    /// The layer's parameters, for a log of `leaves` leaves.
    pub fn params(self, leaves: u64) -> Value {
        match self {
            ProofLayout::Color { layers, public } => {
                serde_json::json!({ "leaves": leaves, "layers": layers, "public": public })
            }
            ProofLayout::Tile { levels } => serde_json::json!({ "leaves": leaves, "levels": levels }),
            ProofLayout::Batch(BatchLayout { copies, buckets, spare, seed }) => serde_json::json!({
                "leaves": leaves, "copies": copies, "buckets": buckets, "spare": spare, "seed": seed,
            }),
        }
    }

    /// Parses the name and the parameters of a layer; also returns the log's length.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Malformed`] for another layer, or invalid parameters.
    pub fn parse(name: &str, params: &Value) -> Result<(Self, u64)> {
        let refuse = |why: String| PeerMisbehaved::Malformed { what: "a log's layer", why };
        let none = |e: serde_json::Error| refuse(e.to_string());
        let (design, leaves) = match name {
            COLOR => {
                let ColorParams { leaves, layers, public } = json::from_value(params).map_err(none)?;
                (ProofLayout::Color { layers, public }, leaves)
            }
            TILE => {
                let TileParams { leaves, levels } = json::from_value(params).map_err(none)?;
                (ProofLayout::Tile { levels }, leaves)
            }
            BATCH => {
                let BatchParams { leaves, copies, buckets, spare, seed } =
                    json::from_value(params).map_err(none)?;
                (ProofLayout::Batch(BatchLayout { copies, buckets, spare, seed }), leaves)
            }
            _ => {
                let why = format!("this build knows {COLOR}, {TILE} and {BATCH}: upgrade sotto");
                return Err(refuse(why).into());
            }
        };
        if leaves == 0 || leaves > 1 << 40 {
            return Err(refuse("the log must have 1 to 2^40 leaves".into()).into());
        }
        if let ProofLayout::Batch(code) = design {
            code.sizes(leaves).check()?;
        }
        Ok((design, leaves))
    }

    /// Bytes of a row.
    pub fn row_bytes(self) -> usize {
        match self {
            ProofLayout::Color { .. } => color_proof::ROW_BYTES,
            ProofLayout::Tile { .. } => tile_proof::ROW_BYTES,
            ProofLayout::Batch(_) => batch_proof::ROW_BYTES,
        }
    }

    /// The levels of a log of `leaves` leaves whose complete nodes are public, in the order of
    /// `public`.
    pub fn public_levels(self) -> Vec<u8> {
        match self {
            ProofLayout::Color { layers, public } => (layers..layers.saturating_add(public)).rev().collect(),
            ProofLayout::Tile { levels } => vec![levels.saturating_mul(8)],
            ProofLayout::Batch(_) => Vec::new(),
        }
    }

    /// Rows of each of the layout's tables, in a log of `leaves` leaves.
    ///
    /// # Errors
    /// [`ParamsError::Field`](sotto_core::ParamsError::Field) for a tree of other than 1 to 40
    /// layers; those of [`CodeSizes::check`].
    pub fn shards(self, leaves: u64) -> Result<Vec<u64>> {
        match self {
            ProofLayout::Color { layers, .. } => {
                Ok(color_proof::shards(&Coloring::new(PerfectTree::new(2, layers)?), leaves))
            }
            ProofLayout::Tile { levels } => Ok(tile_proof::shards(levels.into(), leaves)),
            ProofLayout::Batch(code) => Ok(code.over(leaves)?.shards()),
        }
    }

    /// The table of each lookup of a proof, in a log of `leaves` leaves.
    ///
    /// # Errors
    /// The errors of [`CodeSizes::check`].
    pub fn visits(self, leaves: u64) -> Result<Vec<usize>> {
        match self {
            ProofLayout::Color { layers: tables, .. } | ProofLayout::Tile { levels: tables } => {
                Ok((0..tables.into()).collect())
            }
            ProofLayout::Batch(code) => Ok(code.over(leaves)?.visits()),
        }
    }

    /// Number of first tables that have about equally many rows and are visited once each: a scheme
    /// that fetches a row of each bucket has all of them in one table. Levels of tiles are of
    /// different lengths.
    pub fn alike(self) -> usize {
        match self {
            ProofLayout::Color { layers, .. } => layers.into(),
            ProofLayout::Tile { .. } => 0,
            ProofLayout::Batch(code) => code.copies * code.buckets,
        }
    }

    /// Number of hashes of the public levels, in a log of `leaves` leaves.
    pub fn public_hashes(self, leaves: u64) -> u64 {
        self.public_levels().iter().map(|level| leaves.checked_shr((*level).into()).unwrap_or(0)).sum()
    }

    /// The layer over a log, with its public hashes.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Count`] if the number of `public` hashes does not fit the log's length,
    /// and those of the layers.
    pub fn proofs(self, peaks: Peaks, public: &[Hash]) -> Result<ProofLayer> {
        let leaves = peaks.leaves();
        match self {
            ProofLayout::Color { layers, .. } => {
                let mut rest = public;
                let mut levels = Vec::new();
                for level in self.public_levels() {
                    let nodes = leaves.checked_shr(level.into()).unwrap_or(0);
                    let some = rest.split_at_checked(usize::try_from(nodes).unwrap_or(usize::MAX));
                    let (level, others) = some.ok_or_else(|| count(public, nodes))?;
                    levels.push(level.to_vec());
                    rest = others;
                }
                if !rest.is_empty() {
                    return Err(count(public, (public.len() - rest.len()) as u64).into());
                }
                Ok(ProofLayer::Color(ColorProof::new(
                    Coloring::new(PerfectTree::new(2, layers)?),
                    peaks,
                    levels,
                )?))
            }
            ProofLayout::Tile { levels } => {
                Ok(ProofLayer::Tile(TileProof::new(levels.into(), peaks, public.to_vec())?))
            }
            ProofLayout::Batch(_) if !public.is_empty() => Err(count(public, 0).into()),
            ProofLayout::Batch(code) => {
                let code = code.over(leaves)?;
                Ok(ProofLayer::Batch(Box::new(Compose(BatchProof::new(peaks)?, code))))
            }
        }
    }
}

fn count(public: &[Hash], want: u64) -> PeerMisbehaved {
    PeerMisbehaved::Count { what: "public hashes", got: public.len() as u64, want }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_known_without_their_hashes() {
        for leaves in [1, 200, 1000, 70_000] {
            let mut peaks = Peaks::new();
            (0..leaves).for_each(|_| peaks.append(Hash::default(), |_| ()));
            for design in [
                ProofLayout::Color { layers: 17, public: 0 },
                ProofLayout::Color { layers: 9, public: 8 },
                ProofLayout::Tile { levels: 1 },
                ProofLayout::Tile { levels: 2 },
                ProofLayout::Batch(BatchLayout::fit(leaves, PublicSeed([3; 32])).unwrap()),
            ] {
                let public = vec![Hash::default(); design.public_hashes(leaves) as usize];
                let shards = match design.proofs(peaks.clone(), &public).unwrap() {
                    ProofLayer::Color(layer) => layer.shards(),
                    ProofLayer::Tile(layer) => layer.shards(),
                    ProofLayer::Batch(layer) => layer.shards(),
                };
                assert_eq!(design.shards(leaves).unwrap(), shards, "{design:?}, {leaves}");
                assert!(design.visits(leaves).unwrap().iter().all(|shard| *shard < shards.len()));
            }
        }
    }

    #[test]
    fn what_is_named_is_parsed() {
        let code = ProofLayout::Batch(BatchLayout::fit(77, PublicSeed([3; 32])).unwrap());
        for design in [ProofLayout::Color { layers: 9, public: 3 }, ProofLayout::Tile { levels: 2 }, code] {
            assert_eq!(ProofLayout::parse(design.name(), &design.params(77)).unwrap(), (design, 77));
            assert!(ProofLayout::parse(design.name(), &design.params(0)).is_err());
            assert!(ProofLayout::parse("keyword/1", &design.params(77)).is_err());
        }
        let tile = ProofLayout::Tile { levels: 1 };
        assert!(ProofLayout::parse(COLOR, &tile.params(3)).is_err(), "another layer's parameters");
        let mut weak = code.params(77);
        weak["spare"] = 1.into();
        assert!(ProofLayout::parse(BATCH, &weak).is_err(), "it fails too often");
    }

    #[test]
    fn public_hashes_are_counted() {
        let peaks = |n: u64| Peaks::from_hashes(n, vec![[0; 32]; n.count_ones() as usize]).unwrap();
        let color = ProofLayout::Color { layers: 3, public: 2 };
        assert_eq!(color.public_levels(), [4, 3]);
        // 27 leaves have one node of 16 leaves and three of 8.
        for (hashes, fits) in [(3, false), (4, true), (5, false)] {
            assert_eq!(color.proofs(peaks(27), &vec![[0; 32]; hashes]).is_ok(), fits, "{hashes}");
        }
        let tile = ProofLayout::Tile { levels: 1 };
        for (hashes, fits) in [(1, false), (2, true), (3, false)] {
            assert_eq!(tile.proofs(peaks(600), &vec![[0; 32]; hashes]).is_ok(), fits, "{hashes}");
        }
        assert!(ProofLayout::Color { layers: 0, public: 0 }.proofs(peaks(1), &[]).is_err());
        assert!(ProofLayout::Color { layers: 40, public: 255 }.proofs(peaks(1), &[]).is_err());
    }
}
