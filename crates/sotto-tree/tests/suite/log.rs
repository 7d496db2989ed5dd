//! Logs compared with the definitions of RFC 6962.

use proptest::prelude::*;
use sotto_tree::coloring::destinations::Destinations;
use sotto_tree::log::{
    CompleteSubtree, Hash, Peaks, TreeHead, assemble, hash, proof, subtree, verify, verify_growth,
};
use sotto_tree::{Coloring, PerfectTree};

fn leaves(count: u64) -> Vec<Hash> {
    (0..count).map(|i| hash::leaf(&i.to_be_bytes())).collect()
}

/// MTH of section 2.1, word by word.
fn mth(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => hash::empty(),
        [leaf] => *leaf,
        _ => {
            let k = 1 << (leaves.len() - 1).ilog2();
            hash::node(&mth(&leaves[..k]), &mth(&leaves[k..]))
        }
    }
}

/// PATH of section 2.1.1, word by word.
fn path(m: usize, leaves: &[Hash]) -> Vec<Hash> {
    if leaves.len() < 2 {
        return Vec::new();
    }
    let k = 1 << (leaves.len() - 1).ilog2();
    let (mut below, other) = if m < k {
        (path(m, &leaves[..k]), mth(&leaves[k..]))
    } else {
        (path(m - k, &leaves[k..]), mth(&leaves[..k]))
    };
    below.push(other);
    below
}

fn hex(text: &str) -> Hash {
    std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
}

#[test]
fn known_roots_come_out() {
    assert_eq!(hash::empty(), hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    // The first test vectors of the certificate-transparency project.
    assert_eq!(hash::leaf(b""), hex("6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"));
    assert_eq!(
        hash::node(&hash::leaf(b""), &hash::leaf(&[0])),
        hex("fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125")
    );
}

#[test]
fn a_log_that_grows_has_the_defined_root_at_every_length() {
    let all = leaves(70);
    let mut peaks = Peaks::new();
    for (n, leaf) in all.iter().enumerate() {
        assert_eq!(peaks.root(), mth(&all[..n]), "{n} leaves");
        let mut subtrees = Vec::new();
        peaks.append(*leaf, |node| subtrees.push(node));
        for CompleteSubtree { level, index, hash } in subtrees {
            let range = (index << level) as usize..((index + 1) << level) as usize;
            assert_eq!(hash, mth(&all[range]), "level {level}, node {index}");
        }
    }
}

#[test]
fn leaves_appended_together_complete_the_same_subtrees() {
    let all = leaves(1200);
    let (mut one_by_one, mut single) = (Vec::new(), Peaks::new());
    all.iter().for_each(|leaf| single.append(*leaf, |node| one_by_one.push(node)));
    for lengths in
        [vec![1200], vec![1, 1199], vec![3, 2, 250, 1, 0, 256, 688], vec![256, 512, 432], vec![7; 171]]
    {
        let (mut subtrees, mut peaks, mut rest) = (Vec::new(), Peaks::new(), all.as_slice());
        for length in &lengths {
            let (now, later) = rest.split_at(rest.len().min(*length));
            peaks.extend(now, |node| subtrees.push(node));
            rest = later;
        }
        peaks.extend(rest, |node| subtrees.push(node));
        assert!(subtrees == one_by_one && peaks == single, "in runs of {lengths:?}");
    }
}

#[test]
fn complete_subtrees_have_the_defined_root() {
    let all = leaves(512);
    for count in (0..10).map(|height| 1 << height) {
        assert_eq!(subtree::root(&all[..count]).unwrap(), mth(&all[..count]), "{count} leaves");
    }
    for count in [0, 3, 5, 255, 511] {
        assert!(subtree::root(&all[..count]).is_err(), "{count} leaves are not complete");
    }
}

/// The tables of a colored log: each hash at the color and row at which its sibling's leaves look
/// it up.
struct Tables {
    coloring: Coloring,
    peaks: Peaks,
    rows: Vec<Vec<Hash>>,
}

impl Tables {
    /// Tables that are written leaf by leaf in runs of four leaves.
    fn new(height: u8, leaves: &[Hash]) -> Self {
        let coloring = Coloring::new(PerfectTree::new(2, height).unwrap());
        let (mut peaks, mut rows) = (Peaks::new(), vec![Vec::new(); height.into()]);
        let run = usize::from(height > 2) * 2;
        let destined = coloring.destinations(run).unwrap();
        let mut to = Destinations::default();
        for (number, leaves) in leaves.chunks(1 << run).enumerate() {
            destined.of(number as u64, &mut to).unwrap();
            let mut inside = to.inside.iter();
            for leaf in leaves {
                peaks.append(*leaf, |CompleteSubtree { level, hash, .. }| {
                    let color = match usize::from(level).checked_sub(run) {
                        None => inside.next(),
                        Some(above) => to.above.get(above),
                    };
                    // Only the root has no color.
                    assert!(color.is_some() || level == height, "level {level}");
                    color.into_iter().for_each(|color| rows[usize::from(*color)].push(hash));
                });
            }
        }
        Tables { coloring, peaks, rows }
    }

    /// One row of each color, by level from the leaf up; rows that are not written yet are zeros.
    fn siblings(&self, leaf: u64) -> Vec<Hash> {
        let places = self.coloring.copath(leaf).unwrap();
        let row = |(color, row): (u8, u64)| self.rows[usize::from(color)].get(row as usize).copied();
        places.iter().rev().map(|place| row((place.color, place.row)).unwrap_or_default()).collect()
    }
}

fn check(height: u8, count: u64) {
    let all = leaves(count);
    let tables = Tables::new(height, &all);
    let written: Vec<u64> = tables.rows.iter().map(|rows| rows.len() as u64).collect();
    assert_eq!(written, tables.coloring.copath_rows(count).unwrap());
    let root = tables.peaks.root();
    for leaf in 0..count {
        let made = assemble(leaf, &tables.peaks, &tables.siblings(leaf)).unwrap();
        assert_eq!(made, path(leaf as usize, &all), "leaf {leaf} of {count}");
        verify(&all[leaf as usize], leaf, count, &made, &root).unwrap();
    }
}

/// Invariant 10, at every length.
#[test]
fn one_row_of_each_color_makes_a_proof() {
    for height in 1..=5 {
        for count in 1..=1 << height {
            check(height, count);
        }
    }
    check(9, 300);
    check(9, 512);
}

#[test]
fn the_proof_of_the_last_leaf_of_before_shows_that_a_log_goes_on() {
    let all = leaves(70);
    for before in 1..=70 {
        let (leaf, then) = (&all[before - 1], mth(&all[..before]));
        for count in before..=70 {
            let (now, proof) = (mth(&all[..count]), path(before - 1, &all[..count]));
            let head = |leaves: usize, root| TreeHead { leaves: leaves as u64, root };
            verify_growth(leaf, head(before, &then), head(count, &now), &proof).unwrap();
            // Another leaf anywhere in the earlier log makes another log.
            let mut other = all[..before].to_vec();
            other[before / 2][0] ^= 1;
            let other = mth(&other);
            assert!(
                verify_growth(leaf, head(before, &other), head(count, &now), &proof).is_err(),
                "{before} {count}"
            );
            assert!(
                verify_growth(leaf, head(before, &then), head(count, &then), &proof).is_err() || now == then
            );
        }
    }
    let [zero, one, two] = [0, 1, 2].map(|leaves| TreeHead { leaves, root: &all[0] });
    assert!(
        verify_growth(&all[0], zero, one, &[]).is_err() && verify_growth(&all[0], two, one, &[]).is_err()
    );
}

#[test]
fn what_is_no_proof_is_refused() {
    let all = leaves(11);
    let root = mth(&all);
    let good = path(6, &all);
    verify(&all[6], 6, 11, &good, &root).unwrap();
    assert!(verify(&all[5], 6, 11, &good, &root).is_err(), "another entry");
    assert!(verify(&all[6], 7, 11, &good, &root).is_err(), "another place");
    assert!(verify(&all[6], 6, 11, &good[1..], &root).is_err(), "a hash less");
    assert!(verify(&all[6], 6, 11, &[&good[..], &[root]].concat(), &root).is_err(), "a hash more");
    assert!(verify(&all[6], 11, 11, &good, &root).is_err(), "no such leaf");
    assert!(verify(&all[6], 0, 0, &[], &root).is_err(), "no leaf at all");
    for i in 0..good.len() {
        let mut bad = good.clone();
        bad[i][31] ^= 1;
        assert!(verify(&all[6], 6, 11, &bad, &root).is_err(), "hash {i} changed");
    }
    assert!(Peaks::from_hashes(11, vec![root; 2]).is_err() && Peaks::from_hashes(11, vec![root; 3]).is_ok());
    assert!(assemble(11, &Peaks::from_hashes(11, vec![root; 3]).unwrap(), &[root; 4]).is_err());
    assert!(assemble(3, &Peaks::from_hashes(11, vec![root; 3]).unwrap(), &[root; 3]).is_err());
}

proptest! {
    #[test]
    fn destinations_agree_with_the_places_of_proofs(height in 3u8..=30, layers in 0usize..9, seed in any::<u64>()) {
        let coloring = Coloring::new(PerfectTree::new(2, height).unwrap());
        let layers = layers.min(usize::from(height) - 1);
        let number = seed % (1 << (usize::from(height) - layers));
        let mut to = Destinations::default();
        coloring.destinations(layers).unwrap().of(number, &mut to).unwrap();
        prop_assert_eq!(to.inside.len(), (2 << layers) - 2);
        // A leaf's row at a level is in the color to which its sibling there writes.
        let first = number << layers;
        for (above, color) in to.above.iter().enumerate() {
            let level = layers + above;
            let looks = coloring.copath(first ^ 1 << level).unwrap();
            prop_assert_eq!(looks[usize::from(height) - 1 - level].color, *color);
        }
        let mut inside = to.inside.iter();
        for leaf in first..first + (1 << layers) {
            for level in 0..=(leaf.trailing_ones() as usize) {
                if level >= layers { break; }
                let looks = coloring.copath(leaf ^ 1 << level).unwrap();
                prop_assert_eq!(Some(&looks[usize::from(height) - 1 - level].color), inside.next());
            }
        }
    }

    #[test]
    fn no_bytes_make_verifying_panic(leaf: u64, count: u64, proof in proptest::collection::vec(any::<[u8; 32]>(), 0..70)) {
        prop_assert!(verify(&[0; 32], leaf, count, &proof, &[1; 32]).is_err());
        prop_assert!(proof::height(count) <= 64);
    }
}
