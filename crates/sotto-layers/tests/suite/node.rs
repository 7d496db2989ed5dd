//! Proofs from a table of all hashes, by a batch code, of logs of every length.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_core::{Compose, Layer, Row};
use sotto_layers::BatchCode;
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::batch_code::permutation::Placement;
use sotto_layers::batch_proof::{self, BatchProof};
use sotto_prg::PublicSeed;
use sotto_tree::log::{Hash, Peaks, hash, verify};

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
