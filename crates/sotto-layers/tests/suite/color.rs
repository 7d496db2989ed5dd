//! Proofs from colored tables, at every length of a log and with any number of public layers.

use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_core::{Layer as _, Row};
use sotto_layers::ColorProof;
use sotto_tree::log::{CompleteSubtree, Hash, Peaks, hash, verify};
use sotto_tree::{Coloring, PerfectTree};

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
fn what_does_not_fit_is_refused() {
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
