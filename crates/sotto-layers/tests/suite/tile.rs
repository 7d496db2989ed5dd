//! Proofs from tables of tiles, at lengths around every edge of a tile.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_core::{Layer as _, Row};
use sotto_layers::TileProof;
use sotto_layers::tile_proof::ROW_BYTES;
use sotto_tree::log::{CompleteSubtree, Hash, Peaks, hash, verify};

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
