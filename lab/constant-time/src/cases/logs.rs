//! Proofs from transparency logs: the leaf is secret, and so is every hash that comes back.

use super::Case;
use super::layers::{look_up, placed};
use crate::secret::{hidden, pick, show, timed};
use sotto_core::{Compose, Layer};
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::batch_code::permutation::Placement;
use sotto_layers::batch_proof::{self, BatchProof};
use sotto_layers::{BatchCode, ColorProof, TileProof, tile_proof};
use sotto_prg::PublicSeed;
use sotto_tree::log::{CompleteSubtree, Hash, Peaks, hash, proof, verify};
use sotto_tree::{Coloring, PerfectTree};

/// A length with complete, partial and absent siblings.
const LEAVES: u64 = 600;

/// A leaf whose siblings are complete, one with a partial sibling, and one that has all kinds.
const SOME: [u64; 3] = [9, 300, LEAVES - 1];

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("log/proof", SOME.len(), proofs),
        Case::new("log/color", SOME.len(), || colors(10, 0)),
        Case::new("log/color-public", SOME.len(), || colors(8, 2)),
        Case::new("log/tile", SOME.len(), tiles),
        Case::new("log/node", SOME.len(), nodes),
    ]
}

/// The leaf of a round, or one of those whose proofs are as long as that of the first one.
fn leaf(round: usize) -> u64 {
    pick(SOME[round], 512)
}

/// A log: its complete nodes of each level from left to right, all of them in the order in which they become known, and its
/// right edge.
struct Log {
    levels: Vec<Vec<Hash>>,
    known: Vec<CompleteSubtree>,
    peaks: Peaks,
}

impl Log {
    fn new() -> Self {
        let mut log = Log { levels: vec![Vec::new(); 11], known: Vec::new(), peaks: Peaks::new() };
        for i in 0..LEAVES {
            log.peaks.append(hash::leaf(&i.to_be_bytes()), |node| {
                log.levels[usize::from(node.level)].push(node.hash);
                log.known.push(node);
            });
        }
        log
    }

    /// Verifies a proof of a secret leaf, and then once more in public.
    fn verify(&self, leaf: u64, mut proof: Vec<Hash>) {
        let (mut own, root) = (hidden(self.levels[0][leaf as usize]), self.peaks.root());
        // The reader learns the length of the proof.
        show(&mut proof);
        let mut verified = timed(|| verify(&own, hidden(leaf), LEAVES, &proof, &root));
        show(&mut verified);
        assert!(verified.is_ok(), "leaf {leaf}");
        show(proof.as_mut_slice());
        show(&mut own);
        verify(&own, leaf, LEAVES, &proof, &root).expect("verified before");
    }
}

/// The proof itself, from the siblings that there are.
fn proofs() -> impl FnMut(usize) {
    let log = Log::new();
    move |round| {
        let leaf = leaf(round);
        let sibling =
            |level: usize| log.levels[level].get((leaf >> level ^ 1) as usize).copied().unwrap_or_default();
        let complete: Vec<Hash> = (0..proof::height(LEAVES)).map(|level| hidden(sibling(level))).collect();
        let proof = timed(|| proof::assemble(hidden(leaf), &log.peaks, &complete));
        let proof = proof.expect("a leaf of the log");
        log.verify(leaf, proof);
    }
}

fn colors(layers: u8, public_layers: u8) -> impl FnMut(usize) {
    let log = Log::new();
    let coloring = Coloring::new(PerfectTree::new(2, layers).expect("a small tree"));
    let mut tables: Vec<Vec<Hash>> = vec![Vec::new(); layers.into()];
    let mut public = vec![Vec::new(); public_layers.into()];
    for CompleteSubtree { level, index, hash } in log.known.iter().copied() {
        if level < layers {
            let seeker = ((index ^ 1) << level) & ((1 << layers) - 1);
            let place = coloring.copath(seeker).expect("a leaf")[usize::from(layers - level) - 1];
            tables[usize::from(place.color)].push(hash);
        } else if level < layers + public_layers {
            public[usize::from(layers + public_layers - 1 - level)].push(hash);
        }
    }
    let layer = ColorProof::new(coloring, log.peaks.clone(), public).expect("the log's own hashes");
    move |round| {
        let leaf = leaf(round);
        let row = |shard: usize, row: u64| {
            tables[shard].get(row as usize).map_or(vec![0; 32], |hash| hash.to_vec())
        };
        log.verify(leaf, look_up(&layer, &hidden(leaf), row).expect("a leaf of the log"));
    }
}

fn tiles() -> impl FnMut(usize) {
    let log = Log::new();
    let layer = TileProof::new(1, log.peaks.clone(), log.levels[8].clone()).expect("the log's own hashes");
    move |round| {
        let leaf = leaf(round);
        let row = |_, row: u64| {
            let mut tile = log.levels[0].chunks(256).nth(row as usize).expect("a tile").concat();
            tile.resize(tile_proof::ROW_BYTES, 0);
            tile
        };
        let mut proved = look_up(&layer, &hidden(leaf), row).expect("a leaf of the log");
        show(&mut proved.leaf);
        assert!(proved.leaf == log.levels[0][leaf as usize]);
        log.verify(leaf, proved.proof);
    }
}

fn nodes() -> impl FnMut(usize) {
    let log = Log::new();
    let rows = batch_proof::rows(LEAVES);
    let layer = BatchProof::new(log.peaks.clone()).expect("a short log");
    let sizes = CodeSizes::fit(rows, layer.visits().len()).expect("a small batch");
    let code = BatchCode::new(sizes, &PublicSeed([4; 32])).expect("sizes that fit");
    let placement = Placement::new(&code);
    let layer = Compose(layer, code);
    move |round| {
        let leaf = leaf(round);
        let row = |bucket, row| {
            log.known.get(placed(&placement, bucket, row)).map_or(vec![0; 32], |node| node.hash.to_vec())
        };
        log.verify(leaf, look_up(&layer, &hidden(leaf), row).expect("a leaf of the log"));
    }
}
