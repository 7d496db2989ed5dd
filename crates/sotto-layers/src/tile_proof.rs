//! Merkle proofs by tile (the hash tiles of C2SP tlog-tiles): a row is 256 hashes of one level,
//! which are a subtree's leaves, so that one lookup gives eight layers of a proof, and at the
//! lowest level the leaf's own hash with them.
//!
//! | levels of tiles | lookups | public |
//! |---|---|---|
//! | 1 | one tile of leaves | hashes from level 8 on, one for each 256 leaves |
//! | 2 | that, and one tile of hashes of level 8 | hashes from level 16 on, one for each 65,536 leaves |
//!
//! Full tiles never change, and a longer log appends some; its last tile of each level may be
//! shorter, and then its row ends in zeros.

use sotto_core::{Misuse, PeerMisbehaved, Result, Row};
use sotto_tree::log::hash::{node, pick};
use sotto_tree::log::{Hash, Peaks, proof};
use subtle::{ConditionallySelectable, ConstantTimeLess};

/// Layers of a tile.
const LAYERS: usize = 8;
/// Hashes of a full tile.
const WIDTH: usize = 1 << LAYERS;
/// Bytes of a row.
pub const ROW_BYTES: usize = WIDTH * size_of::<Hash>();
/// Maximum levels of tiles.
const MAX_LEVELS: usize = 2;

/// The tile proof layer of a log with some length.
#[derive(Debug)]
pub struct TileProof {
    levels: usize,
    peaks: Peaks,
    /// Complete nodes from the lowest public level up.
    public: Vec<Vec<Hash>>,
}

/// A leaf, and the path from it to the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvedLeaf {
    /// The leaf's hash. [`proof::verify`] checks whether the proof leads from it to the root.
    pub leaf: Hash,
    /// The inclusion proof, from the leaf up: RFC 6962, 2.1.1.
    pub proof: Vec<Hash>,
}

/// The secret plan of one leaf.
#[derive(Debug)]
pub struct Plan {
    leaf: u64,
}

impl TileProof {
    /// Proofs in a log with these peaks: one or two levels of tiles, and all complete nodes of the
    /// first level above them, from left to right.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if the log is empty or has more than 2^40 leaves, or for another number of
    /// levels; [`PeerMisbehaved::Count`] if the number of public nodes does not fit the log's
    /// length.
    pub fn new(levels: usize, peaks: Peaks, public: Vec<Hash>) -> Result<Self> {
        if peaks.leaves() == 0 || peaks.leaves() > 1 << 40 || !(1..=MAX_LEVELS).contains(&levels) {
            return Err(
                Misuse::Rule("the log must have 1 to 2^40 leaves, and one or two levels of tiles").into()
            );
        }
        let (got, want) = (public.len() as u64, peaks.leaves() >> (LAYERS * levels));
        if got != want {
            return Err(PeerMisbehaved::Count { what: "public hashes", got, want }.into());
        }
        Ok(TileProof { levels, peaks, public: above(public) })
    }
}

/// Tiles of each level, in a log of `leaves` leaves.
pub(crate) fn shards(levels: usize, leaves: u64) -> Vec<u64> {
    (0..levels).map(|level| (leaves >> (LAYERS * level)).div_ceil(WIDTH as u64).max(1)).collect()
}

impl sotto_core::Layer for TileProof {
    /// The number of a leaf.
    type Request = u64;
    type Reply = ProvedLeaf;
    type Plan = Plan;

    fn shards(&self) -> Vec<u64> {
        shards(self.levels, self.peaks.leaves())
    }

    fn visits(&self) -> Vec<usize> {
        (0..self.levels).collect()
    }

    /// Above the lowest level the leaf's tile may have no complete node yet; then the last tile is
    /// fetched, as for any leaf near the log's end.
    fn plan(&self, leaf: &u64, _: &mut dyn rand_core::CryptoRng) -> Result<(Vec<u64>, Plan)> {
        let leaves = self.peaks.leaves();
        proof::check(*leaf, leaves)?;
        let row = |(level, rows): (usize, u64)| {
            let (own, last) = (leaf >> (LAYERS * (level + 1)), rows - 1);
            u64::conditional_select(&last, &own, own.ct_lt(&last))
        };
        Ok((self.shards().into_iter().enumerate().map(row).collect(), Plan { leaf: *leaf }))
    }

    fn assemble(&self, Plan { leaf }: Plan, rows: Vec<Row>) -> Result<ProvedLeaf> {
        let leaves = self.peaks.leaves();
        let mut complete = vec![Hash::default(); proof::height(leaves).max(LAYERS * self.levels)];
        let mut own = Hash::default();
        if rows.len() != self.levels {
            return Err(Misuse::Rule("there must be a row for each lookup").into());
        }
        for (t, row) in rows.iter().enumerate() {
            let tile = row.as_chunks::<32>().0;
            if row.len() != ROW_BYTES {
                return Err(Misuse::Rule("every row must have 256 hashes").into());
            }
            let at = leaf >> (LAYERS * t) & (WIDTH as u64 - 1);
            let here = complete.iter_mut().skip(LAYERS * t);
            for ((layer, sibling), l) in above(tile.to_vec()).iter().zip(here).zip(0..LAYERS) {
                // Incomplete nodes are made of zeros, and their values are not used.
                *sibling = pick(layer, at >> l ^ 1);
            }
            if t == 0 {
                own = pick(tile, at);
            }
        }
        let first = LAYERS * self.levels;
        for ((layer, sibling), level) in self.public.iter().zip(complete.iter_mut().skip(first)).zip(first..)
        {
            *sibling = pick(layer, leaf >> level ^ 1);
        }
        Ok(ProvedLeaf { leaf: own, proof: proof::assemble(leaf, &self.peaks, &complete)? })
    }
}

/// A level's nodes, and all complete nodes above them.
fn above(nodes: Vec<Hash>) -> Vec<Vec<Hash>> {
    let mut levels = vec![nodes];
    while let Some(below) = levels.last().filter(|below| below.len() > 1) {
        let next = below.as_chunks::<2>().0.iter().map(|[left, right]| node(left, right)).collect();
        levels.push(next);
    }
    levels
}
