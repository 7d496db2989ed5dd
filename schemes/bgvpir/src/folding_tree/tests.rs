use super::*;
use std::convert::Infallible;

fn all_leaves(tree: &FoldingTree) -> Vec<u32> {
    [tree.leaves(Side::Left), tree.leaves(Side::Right)].concat()
}

/// One side's vector for a row, in clear.
fn side(tree: &FoldingTree, side: Side, folded: &[u64]) -> Vec<u64> {
    let mut at = tree.start(side);
    let leaves = tree.leaves(side).iter().map(|length| {
        at += *length as usize;
        folded[at - *length as usize..at].to_vec()
    });
    let Ok(out) = FoldingTree::unfold(leaves.collect(), &mut |x: &u64, y: &u64| Ok::<_, Infallible>(x * y));
    out
}

#[test]
fn the_papers_trees_have_the_papers_leaves() {
    // Section 1.1 of the design notes: three sizes, without pruning and pruned to the first level that fits 630 slots.
    for (z, leaves) in [(13, 26), (18, 36), (23, 46)] {
        let tree = FoldingTree::halving(z, 9).unwrap();
        assert_eq!((tree.folded(), tree.rows()), (leaves, 1 << z));
        assert!(all_leaves(&tree).iter().all(|length| *length == 2));
    }
    assert_eq!(all_leaves(&FoldingTree::halving(13, 1).unwrap()), [128, 64]);
    assert_eq!(all_leaves(&FoldingTree::halving(18, 2).unwrap()), [32, 16, 32, 16]);
    assert_eq!(all_leaves(&FoldingTree::halving(23, 2).unwrap()), [64, 64, 64, 32]);
    let products = |z, levels| {
        let tree = FoldingTree::halving(z, levels).unwrap();
        tree.products(Side::Left) + tree.products(Side::Right)
    };
    // Products below the root, as counted in runs of the published protocol.
    assert_eq!(
        [products(13, 9), products(13, 1), products(18, 9), products(18, 2), products(23, 2)],
        [252, 0, 1168, 1024, 6144]
    );
}

#[test]
fn what_is_folded_unfolds_to_one_row() {
    let trees = [
        FoldingTree::halving(2, 1),
        FoldingTree::halving(1, 1),
        FoldingTree::halving(5, 9),
        FoldingTree::new(&[1], &[1]),
        FoldingTree::new(&[7], &[3, 2]),
        FoldingTree::new(&[3, 1, 5], &[2, 2, 4]),
        FoldingTree::new(&[13], &[11]),
    ];
    for tree in trees.map(Option::unwrap) {
        for alpha in 0..tree.rows() {
            let mut folded = vec![0; tree.folded()];
            let ones = tree.fold(alpha);
            assert_eq!(ones.len(), all_leaves(&tree).len());
            ones.iter().for_each(|one| folded[*one as usize] = 1);
            assert_eq!(folded.iter().sum::<u64>() as usize, ones.len());
            let (u, v) = (side(&tree, Side::Left, &folded), side(&tree, Side::Right, &folded));
            assert_eq!((u.len() as u64, v.len() as u64), (tree.length(Side::Left), tree.length(Side::Right)));
            for row in 0..tree.rows() {
                let selected = u[(row / tree.length(Side::Right)) as usize]
                    * v[(row % tree.length(Side::Right)) as usize];
                assert_eq!(selected, u64::from(row == alpha), "{tree:?}: {row} of {alpha}");
            }
        }
    }
}

/// Whether some row's query has a column, beside its own, that reads a one in each leaf.
fn selects_elsewhere(tree: &FoldingTree, period: usize) -> bool {
    let leaves = all_leaves(tree);
    (0..tree.rows()).any(|alpha| {
        let mut query = vec![0; period];
        tree.fold(alpha).iter().for_each(|one| query[*one as usize] = 1);
        (1..period).any(|column| {
            let mut at = column;
            leaves.iter().all(|length| {
                at += *length as usize;
                (at - *length as usize..at).any(|slot| query[slot % period] == 1)
            })
        })
    })
}

/// The plain model, every row of every tree: unpruned ones, pruned ones, and some that halving does
/// not make.
#[test]
fn a_guard_leaves_other_columns_nothing() {
    let unpruned = (2..=10).map(|z| FoldingTree::halving(z, z));
    let pruned = [(4, 1), (6, 1), (8, 2), (9, 2)].map(|(z, levels)| FoldingTree::halving(z, levels));
    let others =
        [FoldingTree::new(&[5, 3], &[4]), FoldingTree::new(&[2, 7], &[3, 2]), FoldingTree::new(&[9], &[6])];
    for plain in unpruned.chain(pruned).chain(others) {
        let plain = plain.unwrap();
        let tree = plain.guarded().unwrap();
        assert_eq!((tree.folded(), tree.rows()), (plain.folded() + 1, plain.rows()));
        let enough = tree.guarded_slots();
        for period in (enough..enough + 4).chain([105, 210]) {
            assert!(tree.selects_nothing_else(period), "{tree:?}, {period}");
            assert!(!selects_elsewhere(&tree, period), "{tree:?}, {period}");
        }
        // Without a guard there is such a column in all of these, and in the tightest period with one.
        assert!(selects_elsewhere(&plain, 210) && !plain.selects_nothing_else(210), "{plain:?}");
        assert!(selects_elsewhere(&tree, tree.folded()), "{tree:?}");
        assert!(!tree.selects_nothing_else(enough - 1));
    }
}

#[test]
fn depth_and_products_are_those_of_unfolding() {
    for leaves in [vec![4], vec![2, 3], vec![2, 2, 2], vec![3, 2, 2, 5, 2]] {
        let tree = FoldingTree::new(&leaves, &[1]).unwrap();
        let vectors: Vec<Vec<u32>> = leaves.iter().map(|length| vec![0; *length as usize]).collect();
        let mut count = 0;
        let out = FoldingTree::unfold(vectors, &mut |x: &u32, y: &u32| {
            count += 1;
            Ok::<_, Infallible>(1 + x.max(y))
        });
        let Ok(out) = out;
        assert_eq!((out.len() as u64, count), (tree.length(Side::Left), tree.products(Side::Left)));
        assert_eq!(out.iter().max(), Some(&tree.depth(Side::Left)));
    }
}

/// Figure 3 of the paper, recomputed: 32 bits as 4 rows of 4 slots of 2 bits, row 3, all four columns; counted from 1 there.
#[test]
fn figure_3() {
    const ROWS: [[u64; 4]; 4] = [
        [0b10, 0b11, 0b01, 0b10],
        [0b00, 0b10, 0b10, 0b10],
        [0b11, 0b10, 0b01, 0b00],
        [0b01, 0b00, 0b11, 0b00],
    ];
    let tree = FoldingTree::halving(2, 1).unwrap();
    let (alpha, beta) = (2, 1);
    let mut s = [0; 4];
    tree.fold(alpha).iter().for_each(|one| s[*one as usize] = 1);
    assert_eq!(s, [0, 1, 1, 0]);
    let shifted: [u64; 4] = std::array::from_fn(|slot| s[(slot + 4 - beta) % 4]);
    assert_eq!(shifted, [0, 0, 1, 1]);
    let rotations: Vec<[u64; 4]> =
        (0..4).map(|k| std::array::from_fn(|slot| shifted[(slot + k) % 4])).collect();
    assert_eq!(rotations, [[0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1]]);
    // What each column reads, the row it selects, and what its slot of the answer holds.
    let columns: Vec<(Vec<u64>, Vec<u64>, u64)> = (0..4)
        .map(|column| {
            let read: Vec<u64> = rotations.iter().map(|c| c[column]).collect();
            let (u, v) = (side(&tree, Side::Left, &read), side(&tree, Side::Right, &read));
            let q: Vec<u64> = u.iter().flat_map(|x| v.iter().map(move |y| x * y)).collect();
            let answer = q.iter().zip(&ROWS).map(|(q, row)| q * row[column]).sum();
            (read, q, answer)
        })
        .collect();
    assert_eq!(columns[0], (vec![0, 0, 1, 1], vec![0, 0, 0, 0], 0));
    assert_eq!(columns[1], (vec![0, 1, 1, 0], vec![0, 0, 1, 0], 0b10));
    assert_eq!(columns[2], (vec![1, 1, 0, 0], vec![0, 0, 0, 0], 0));
    // The honest client also learns this entry of row 2, which symmetric tables must take into
    // account.
    assert_eq!(columns[3], (vec![1, 0, 0, 1], vec![0, 1, 0, 0], 0b10));
}

#[test]
fn trees_that_cannot_be() {
    assert_eq!(FoldingTree::new(&[], &[2]), None);
    assert_eq!(FoldingTree::new(&[2], &[0]), None);
    assert_eq!(FoldingTree::new(&[4097], &[2]), None);
    assert_eq!(FoldingTree::new(&[2; 17], &[2]), None);
    assert_eq!(FoldingTree::new(&[4096, 4096, 2], &[2]), None);
    assert!(FoldingTree::new(&[4096, 4096], &[4096]).is_some());
    assert_eq!(FoldingTree::halving(26, 1), None);
    assert!(FoldingTree::halving(24, 1).is_some());
}
