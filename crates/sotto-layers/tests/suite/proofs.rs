//! Proofs from tables of tiles, at lengths around every edge of a tile.

use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_core::{Compose, Layer, Row};
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::batch_code::permutation::Placement;
use sotto_layers::batch_proof::{self, BatchProof};
use sotto_layers::tile_proof::ROW_BYTES;
use sotto_layers::{BatchCode, ColorProof, TileProof};
use sotto_prg::PublicSeed;
use sotto_tree::log::{CompleteSubtree, Hash, Peaks, hash, verify};
use sotto_tree::{Coloring, PerfectTree};

/// Complete nodes of each level, from left to right.
fn levels(count: u64) -> (Vec<Vec<Hash>>, Peaks) {
    let (mut peaks, mut levels) = (Peaks::new(), vec![Vec::new(); 20]);
    for i in 0..count {
        peaks.append(hash::leaf(&i.to_be_bytes()), |CompleteSubtree { level, hash, .. }| {
            levels[usize::from(level)].push(hash)
        });
    }
    (levels, peaks)
}

fn rows(nodes: &[Hash]) -> Vec<Row> {
    let mut rows: Vec<Row> = nodes.chunks(256).map(|nodes| Row::new(nodes.concat())).collect();
    if rows.is_empty() {
        rows.push(Row::default());
    }
    rows.iter_mut().for_each(|row| row.resize(ROW_BYTES, 0));
    rows
}

fn check(count: u64, tiles: usize, some: impl Iterator<Item = u64>) {
    let (levels, peaks) = levels(count);
    let root = peaks.root();
    let layer = TileProof::new(tiles, peaks, levels[8 * tiles].clone()).unwrap();
    let tables: Vec<Vec<Row>> = (0..tiles).map(|t| rows(&levels[8 * t])).collect();
    assert!(tables.iter().map(|table| table.len() as u64).eq(layer.shards()));
    let rng = &mut ChaCha20Rng::from_seed([3; 32]);
    for leaf in some.filter(|leaf| *leaf < count) {
        let (rows, plan) = layer.plan(&leaf, rng).unwrap();
        let fetched =
            layer.visits().into_iter().zip(rows).map(|(shard, row)| tables[shard][row as usize].clone());
        let proved = layer.assemble(plan, fetched.collect()).unwrap();
        assert_eq!(proved.leaf, hash::leaf(&leaf.to_be_bytes()), "leaf {leaf} of {count}");
        verify(&proved.leaf, leaf, count, &proved.proof, &root).unwrap();
    }
}

#[test]
fn every_leaf_is_proved_with_one_tile() {
    for count in [1, 2, 3, 100, 255, 256, 257, 511, 512, 513, 700] {
        check(count, 1, 0..count);
    }
}

#[test]
fn leaves_are_proved_with_two_tiles() {
    for count in [1, 255, 256, 257, 600, 65_535, 65_536, 65_537, 65_536 + 256, 131_072 + 300] {
        check(count, 2, (0..count).step_by(997).chain(count.saturating_sub(300)..count));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (levels, peaks) = levels(600);
    assert!(TileProof::new(1, Peaks::new(), Vec::new()).is_err(), "an empty log");
    assert!(TileProof::new(1, peaks.clone(), Vec::new()).is_err(), "public hashes are missing");
    assert!(TileProof::new(0, peaks.clone(), levels[0].clone()).is_err(), "no tiles");
    assert!(TileProof::new(3, peaks.clone(), Vec::new()).is_err(), "too many levels");
    let layer = TileProof::new(1, peaks, levels[8].clone()).unwrap();
    let rng = &mut ChaCha20Rng::from_seed([4; 32]);
    assert!(layer.plan(&600, rng).is_err(), "no such leaf");
    let mut plan = || layer.plan(&599, rng).unwrap().1;
    assert!(layer.assemble(plan(), Vec::new()).is_err(), "no row");
    assert!(layer.assemble(plan(), vec![Row::new(vec![0; 8191])]).is_err(), "a short row");
    // Any row gives a proof, even one that does not verify.
    let lie = layer.assemble(plan(), vec![Row::new(vec![7; ROW_BYTES])]).unwrap();
    let (root, leaf) = (levels_root(), hash::leaf(&599u64.to_be_bytes()));
    assert!(verify(&leaf, 599, 600, &lie.proof, &root).is_err());
    assert!(verify(&lie.leaf, 599, 600, &lie.proof, &root).is_err());
}

fn levels_root() -> Hash {
    levels(600).1.root()
}

fn leaf(i: u64) -> Hash {
    hash::leaf(&i.to_be_bytes())
}

/// All hashes of a log in the order in which they become known, and its right edge.
fn log(leaves: u64) -> (Vec<Hash>, Peaks) {
    let (mut peaks, mut rows) = (Peaks::new(), Vec::new());
    (0..leaves).for_each(|i| peaks.append(leaf(i), |node| rows.push(node.hash)));
    rows.truncate(batch_proof::rows(leaves) as usize);
    (rows, peaks)
}

fn fetch(rows: &[Hash], asked: &[u64]) -> Vec<Row> {
    asked.iter().map(|row| Row::new(rows[*row as usize].to_vec())).collect()
}

#[test]
fn every_leaf_of_small_logs() {
    let rng = &mut ChaCha20Rng::from_seed([1; 32]);
    for leaves in 1..70 {
        let (rows, peaks) = log(leaves);
        assert_eq!(rows.len() as u64, batch_proof::rows(leaves));
        let root = peaks.root();
        let layer = BatchProof::new(peaks).unwrap();
        assert_eq!(layer.shards(), [rows.len() as u64]);
        for i in 0..leaves {
            let (asked, plan) = layer.plan(&i, rng).unwrap();
            assert_eq!(asked.len(), layer.visits().len());
            let proof = layer.assemble(plan, fetch(&rows, &asked)).unwrap();
            verify(&leaf(i), i, leaves, &proof, &root).unwrap();
        }
        assert!(layer.plan(&leaves, rng).is_err());
    }
    assert!(BatchProof::new(Peaks::new()).is_err());
}

#[test]
fn a_longer_log_appends() {
    for leaves in 1..70 {
        let (before, after) = (log(leaves).0, log(leaves + 1).0);
        assert_eq!(after[..before.len()], before);
    }
}

#[test]
fn siblings_come_in_one_round() {
    let rng = &mut ChaCha20Rng::from_seed([2; 32]);
    let leaves = 5000;
    let (rows, peaks) = log(leaves);
    let root = peaks.root();
    let sizes = CodeSizes::fit(rows.len() as u64, batch_proof::height(leaves)).unwrap();
    let code = BatchCode::new(sizes, &PublicSeed([4; 32])).unwrap();
    let placement = Placement::new(&code);
    let layer = Compose(BatchProof::new(peaks).unwrap(), code);
    assert_eq!((sizes.items, layer.shards().len() > 1), (13, true));
    for i in [0, 1, 4095, 4096, 4990, 4998, 4999] {
        let (asked, plan) = layer.plan(&i, rng).unwrap();
        let fetched = layer.visits().into_iter().zip(asked).map(|(bucket, row)| {
            let mut number = [0];
            placement.rows(bucket, row, &mut number).unwrap();
            let hash = rows.get(number[0] as usize).copied().unwrap_or_default();
            Row::new(hash.to_vec())
        });
        let fetched = fetched.collect();
        let proof = layer.assemble(plan, fetched).unwrap();
        verify(&leaf(i), i, leaves, &proof, &root).unwrap();
    }
}

/// A log's tables, each hash at the color and row that the definition gives.
struct Log {
    layer: ColorProof,
    leaves: Vec<Hash>,
    root: Hash,
    tables: Vec<Vec<Hash>>,
}

impl Log {
    fn new(count: u64, layers: u8, public_layers: u8) -> Self {
        let coloring = Coloring::new(PerfectTree::new(2, layers).unwrap());
        let leaves: Vec<Hash> = (0..count).map(|i| hash::leaf(&i.to_be_bytes())).collect();
        let (mut peaks, mut tables) = (Peaks::new(), vec![Vec::new(); layers.into()]);
        let mut public = vec![Vec::new(); public_layers.into()];
        for leaf in &leaves {
            peaks.append(*leaf, |CompleteSubtree { level, index, hash }| {
                if level < layers {
                    // A leaf under the sibling, whose path has this node as a sibling.
                    let seeker = ((index ^ 1) << level) & ((1 << layers) - 1);
                    let place = coloring.copath(seeker).unwrap()[usize::from(layers - level) - 1];
                    tables[usize::from(place.color)].push(hash);
                } else if level < layers + public_layers {
                    public[usize::from(layers + public_layers - 1 - level)].push(hash);
                }
            });
        }
        let root = peaks.root();
        let layer = ColorProof::new(coloring, peaks, public).unwrap();
        for (table, rows) in tables.iter_mut().zip(layer.shards()) {
            assert!(table.len() as u64 == rows || (table.is_empty() && rows == 1));
            table.resize(rows as usize, [0; 32]);
        }
        Log { layer, leaves, root, tables }
    }

    fn prove(&self, leaf: u64, rng: &mut ChaCha20Rng) -> Vec<Hash> {
        let (rows, plan) = self.layer.plan(&leaf, rng).unwrap();
        assert_eq!(rows.len(), self.layer.visits().len());
        let fetched = self
            .layer
            .visits()
            .into_iter()
            .zip(rows)
            .map(|(shard, row)| Row::new(self.tables[shard][row as usize].to_vec()));
        self.layer.assemble(plan, fetched.collect()).unwrap()
    }
}

#[test]
fn every_leaf_is_proved_at_every_length() {
    let rng = &mut ChaCha20Rng::from_seed([7; 32]);
    for (layers, public) in [(1, 0), (3, 0), (5, 0), (3, 2), (1, 4), (4, 1)] {
        for count in 1..=1 << (layers + public) {
            let log = Log::new(count, layers, public);
            for leaf in 0..count {
                let proof = log.prove(leaf, rng);
                verify(&log.leaves[leaf as usize], leaf, count, &proof, &log.root).unwrap();
            }
        }
    }
}

/// Every shard gets one lookup, whatever the leaf: and where the leaf needs none, any row equally
/// likely.
#[test]
fn idle_lookups_go_everywhere() {
    let rng = &mut ChaCha20Rng::from_seed([8; 32]);
    let log = Log::new(17, 5, 0);
    assert_eq!(log.layer.visits(), [0, 1, 2, 3, 4]);
    // The last leaf has one sibling only, the tree of all others: four lookups are dummies.
    let mut seen: Vec<Vec<u32>> = log.layer.shards().iter().map(|rows| vec![0; *rows as usize]).collect();
    for _ in 0..4000 {
        for (seen, row) in seen.iter_mut().zip(log.layer.plan(&16, rng).unwrap().0) {
            seen[row as usize] += 1;
        }
    }
    let uniform = |seen: &Vec<u32>| {
        let mean = 4000.0 / seen.len() as f64;
        // Six standard deviations.
        seen.iter().all(|n| (f64::from(*n) - mean).abs() < 6.0 * mean.sqrt())
    };
    let (idle, used): (Vec<_>, Vec<_>) = seen.into_iter().partition(uniform);
    assert_eq!((idle.len(), used.len()), (4, 1), "{used:?}");
    assert_eq!(used[0].iter().filter(|n| **n > 0).count(), 1);
}

#[test]
fn colors_refuse_what_does_not_fit() {
    let coloring = || Coloring::new(PerfectTree::new(2, 3).unwrap());
    let peaks = |n: u64| Peaks::from_hashes(n, vec![[0; 32]; n.count_ones() as usize]).unwrap();
    assert!(ColorProof::new(coloring(), peaks(0), Vec::new()).is_err(), "an empty log");
    assert!(ColorProof::new(coloring(), peaks(9), Vec::new()).is_err(), "longer than the tree");
    assert!(
        ColorProof::new(Coloring::new(PerfectTree::new(3, 3).unwrap()), peaks(5), Vec::new()).is_err(),
        "ternary"
    );
    assert!(ColorProof::new(coloring(), peaks(9), vec![Vec::new()]).is_err(), "a public hash is missing");
    assert!(ColorProof::new(coloring(), peaks(9), vec![vec![[0; 32]; 2]]).is_err(), "one too many");
    let layer = ColorProof::new(coloring(), peaks(8), Vec::new()).unwrap();
    let rng = &mut ChaCha20Rng::from_seed([9; 32]);
    assert!(layer.plan(&8, rng).is_err(), "no such leaf");
    let (_, plan) = layer.plan(&7, rng).unwrap();
    assert!(layer.assemble(plan, vec![Row::new(vec![0; 32]); 2]).is_err(), "a row is missing");
    let (_, plan) = layer.plan(&7, rng).unwrap();
    assert!(layer.assemble(plan, vec![Row::new(vec![0; 31]); 3]).is_err(), "no hash");
}

proptest! {
    /// A longer log only appends.
    #[test]
    fn shards_only_grow(height in 1u8..=6, n in 1u64..63) {
        let n = n.min((1 << height) - 1);
        let (shorter, longer) = (Log::new(n, height, 0), Log::new(n + 1, height, 0));
        for (color, (before, after)) in shorter.tables.iter().zip(&longer.tables).enumerate() {
            let written = shorter.layer.shards()[color] as usize;
            // A row of zeros stands for an empty color.
            if before != &[[0; 32]] {
                prop_assert_eq!(&before[..written], &after[..written]);
            }
        }
    }
}
