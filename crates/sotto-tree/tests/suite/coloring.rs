//! Properties of every coloring, checked at every node of small trees, and on samples of high ones.

use proptest::prelude::*;
use sotto_tree::coloring::sizes;
use sotto_tree::{ColorSlot, Coloring, PerfectTree};

/// Trees whose nodes are all checked.
const SMALL: &[(u16, u8)] = &[
    (2, 1),
    (2, 2),
    (2, 3),
    (2, 4),
    (2, 7),
    (2, 10),
    (2, 13),
    (3, 1),
    (3, 2),
    (3, 3),
    (3, 4),
    (3, 5),
    (3, 6),
    (3, 7),
    (3, 9),
    (4, 4),
    (4, 5),
    (4, 7),
    (5, 6),
    (6, 5),
    (7, 5),
    (8, 4),
    (16, 3),
    (128, 2),
    (256, 2),
];

fn coloring(arity: u16, height: u8) -> Coloring {
    Coloring::new(PerfectTree::new(arity, height).unwrap())
}

/// The layer of a node and its position in it, from its number.
fn layer(arity: u64, node: u64) -> (u32, u64) {
    let (mut first, mut depth) = (1, 0);
    while node > (first - 1) * arity + 1 {
        first = (first - 1) * arity + 2;
        depth += 1;
    }
    (depth, node - first)
}

/// The leaves under a node.
fn leaves(c: &Coloring, node: u64) -> std::ops::Range<u64> {
    let (depth, at) = layer(c.shape().arity(), node);
    let under = c.shape().arity().pow(c.shape().height() as u32 - depth);
    at * under..(at + 1) * under
}

/// The nodes of a leaf's path from the root's child down.
fn nodes(shape: PerfectTree, leaf: u64) -> Vec<u64> {
    let q = shape.arity();
    let digits = (0..shape.height() as u32).rev().map(|layers| leaf / q.pow(layers) % q);
    digits
        .scan(1, |node, s| {
            *node = *node * q - q + 2 + s;
            Some(*node)
        })
        .collect()
}

/// Every node is in one class, sizes are as promised, and classes tile the leaves: invariants 1, 2,
/// 3, 4 and 5.
fn check_classes(c: &Coloring) {
    let q = c.shape().arity();
    let classes = c.classes().unwrap();
    assert_eq!(classes.len(), c.shape().height());
    let mut seen = vec![false; c.shape().nodes() as usize + 2];
    for (class, size) in classes.iter().zip(c.sizes()) {
        assert_eq!(class.len() as u64, *size);
        assert_eq!(size % (q - 1).max(1), 1 % (q - 1).max(1), "a complete prefix code");
        let mut end = 0;
        for node in class.iter() {
            assert!(!std::mem::replace(&mut seen[*node as usize], true), "node {node} twice");
            // Classes tile: no node is above another, and each leaf has one of the class above it.
            let leaves = leaves(c, u64::from(*node));
            assert_eq!(leaves.start, end, "node {node}");
            end = leaves.end;
        }
        assert_eq!(end, c.shape().leaves());
    }
    assert!(!seen[0] && !seen[1] && seen[2..].iter().all(|seen| *seen), "every node but the root");
}

/// Checks that there is one row in each color.
fn check_colors(c: &Coloring, places: &[ColorSlot]) {
    let mut colors: Vec<u8> = places.iter().map(|place| place.color).collect();
    colors.sort_unstable();
    assert!(colors.iter().copied().eq(0..c.shape().height() as u8), "{places:?}");
    assert!(places.iter().all(|place| place.row < c.sizes()[usize::from(place.color)]));
}

/// The walk agrees with the classes, and the secret walk with the walk: invariants 7, 8 and 9.
fn check_paths(c: &Coloring) {
    let classes = c.classes().unwrap();
    for leaf in 0..c.shape().leaves() {
        let places = c.path(leaf).unwrap();
        check_colors(c, &places);
        for (place, node) in places.iter().zip(nodes(c.shape(), leaf)) {
            assert_eq!(u64::from(classes[usize::from(place.color)][place.row as usize]), node, "leaf {leaf}");
        }
        if leaf % 7 == 0 {
            assert_eq!(places, c.secret_path(leaf).unwrap(), "leaf {leaf}");
        }
    }
}

/// A log that grows leaf by leaf: the rows that are written to each color agree with the walk.
fn check_copaths(c: &Coloring) {
    let shape = c.shape();
    let classes = c.classes().unwrap();
    let mut color_of = vec![0; shape.nodes() as usize + 2];
    for (color, class) in classes.iter().enumerate() {
        class.iter().for_each(|node| color_of[*node as usize] = color);
    }
    let mut rows: Vec<Vec<u64>> = vec![Vec::new(); shape.height()];
    let counts = |rows: &[Vec<u64>]| rows.iter().map(|rows| rows.len() as u64).collect::<Vec<_>>();
    for leaf in 0..shape.leaves() {
        assert_eq!(c.copath_rows(leaf).unwrap(), counts(&rows), "{leaf} leaves");
        // The nodes that the leaf completes, the lowest first: each writes its hash to its sibling's color.
        for node in nodes(shape, leaf).into_iter().rev() {
            rows[color_of[node as usize ^ 1]].push(node);
            if node % 2 == 0 {
                break;
            }
        }
    }
    assert_eq!(c.copath_rows(shape.leaves()).unwrap(), counts(&rows));
    for leaf in 0..shape.leaves() {
        let places = c.copath(leaf).unwrap();
        check_colors(c, &places);
        for (place, node) in places.iter().zip(nodes(shape, leaf)) {
            assert_eq!(rows[usize::from(place.color)][place.row as usize], node ^ 1, "leaf {leaf}");
        }
        if leaf % 5 == 0 {
            assert_eq!(places, c.secret_copath(leaf).unwrap(), "leaf {leaf}");
        }
    }
}

#[test]
fn small_trees_are_colored_whole() {
    for (arity, height) in SMALL {
        check_classes(&coloring(*arity, *height));
    }
}

#[test]
fn every_path_of_a_small_tree_is_found() {
    for (arity, height) in SMALL {
        check_paths(&coloring(*arity, *height));
    }
}

#[test]
fn rows_of_proofs_are_written_once_and_stay() {
    for (_, height) in SMALL.iter().filter(|(arity, _)| *arity == 2) {
        check_copaths(&coloring(2, *height));
    }
}

#[test]
fn the_papers_example_comes_out() {
    let c = coloring(2, 3);
    assert_eq!(c.sizes(), [4, 5, 5]);
    let classes = c.classes().unwrap();
    let classes: Vec<&[u32]> = classes.iter().map(|class| &**class).collect();
    assert_eq!(classes, [[2, 6, 14, 15].as_slice(), &[8, 9, 10, 11, 3], &[4, 5, 12, 13, 7]]);
    // Leaf 11 is the fourth of the lowest layer.
    let place = |color, row| ColorSlot { color, row };
    assert_eq!(c.path(3).unwrap(), [place(0, 0), place(2, 1), place(1, 3)]);
}

#[test]
fn balanced_is_what_comes_out() {
    for (arity, heights) in [(2u16, 1..=40u8), (3, 4..=25), (4, 5..=20), (5, 6..=17), (7, 8..=14)] {
        for height in heights {
            let c = coloring(arity, height);
            let mut sorted = c.sizes().to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, sizes::balanced(c.shape()), "q = {arity}, h = {height}");
        }
    }
}

#[test]
fn rotation_is_balanced_where_turns_are_whole_and_nearly_so_elsewhere() {
    for (arity, height, off) in [
        (256, 2, 0.0),
        (256, 4, 0.0),
        (256, 3, 0.002),
        (256, 5, 0.0011),
        (128, 3, 0.008),
        (16, 4, 0.0),
        (16, 8, 0.0),
        (16, 5, 0.017),
        (16, 6, 0.056),
        (8, 5, 0.095),
        (3, 3, 0.0),
    ] {
        let c = coloring(arity, height);
        let mean = c.shape().nodes() as f64 / f64::from(height);
        let most = c.sizes().iter().copied().max().unwrap() as f64;
        assert!(most / mean - 1.0 <= off + 1e-6, "q = {arity}, h = {height}: {}", most / mean - 1.0);
    }
}

#[test]
fn few_states_make_every_tree() {
    for height in 1..=40 {
        let states = coloring(2, height).states();
        assert!(states <= 200, "h = {height}: {states}");
    }
    assert!(coloring(256, 5).states() <= 11);
}

#[test]
fn what_is_no_tree_or_no_leaf_is_refused() {
    let c = coloring(2, 5);
    assert!(c.path(32).is_err() && c.copath(32).is_err() && c.secret_copath(32).is_err());
    assert!(c.copath_rows(33).is_err() && c.copath_rows(32).is_ok());
    let ternary = coloring(3, 3);
    assert!(
        ternary.copath(0).is_err() && ternary.copath_rows(1).is_err() && ternary.secret_copath(0).is_err()
    );
    assert!(Coloring::with_sizes(vec![2, 3, 9]).is_err() && Coloring::with_sizes(Vec::new()).is_err());
    assert!(Coloring::with_sizes(vec![2; 300]).is_err());
    assert!(coloring(2, 32).classes().is_err(), "numbers of more than 32 bits");
}

/// Feasible sizes: some division of all nodes that keeps (C1), made from the least balanced one by
/// moves.
fn feasible() -> impl Strategy<Value = Vec<u64>> {
    (
        1usize..9,
        proptest::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0.0..1.0f64),
            0..40,
        ),
    )
        .prop_map(|(height, moves)| {
            let mut c: Vec<u64> = (1..=height as u32).map(|i| 1 << i).collect();
            for (from, to, part) in moves {
                let (from, to) = (from.index(height), to.index(height));
                let mut next = c.clone();
                let moved = (part * c[from] as f64) as u64;
                next[from] -= moved;
                next[to] += moved;
                next.sort_unstable();
                if sizes::feasible(2, &next) {
                    c = next;
                }
            }
            c
        })
}

proptest! {
    /// Theorem 2 of the paper: all feasible sizes have a coloring.
    #[test]
    fn any_feasible_sizes_are_reached(sizes in feasible()) {
        let c = Coloring::with_sizes(sizes.clone()).unwrap();
        prop_assert_eq!(c.sizes(), &sizes[..]);
        check_classes(&c);
        check_paths(&c);
        check_copaths(&c);
    }

    /// High trees: invariants that need no list of nodes.
    #[test]
    fn high_trees_keep_their_order(height in 20u8..=40, seed in any::<u64>()) {
        let c = coloring(2, height);
        let leaf = seed % (c.shape().leaves() - 1);
        let (path, copath) = (c.path(leaf).unwrap(), c.copath(leaf).unwrap());
        check_colors(&c, &path);
        check_colors(&c, &copath);
        prop_assert_eq!(&path, &c.secret_path(leaf).unwrap());
        prop_assert_eq!(&copath, &c.secret_copath(leaf).unwrap());
        // The next leaf's nodes are the same ones, or the next ones of their colors.
        for place in c.path(leaf + 1).unwrap() {
            let before = path.iter().find(|p| p.color == place.color).unwrap();
            prop_assert!(place.row == before.row || place.row == before.row + 1);
        }
        // A row exists once its hash is known: when the log has all leaves under the sibling.
        for (depth, place) in (1u32..).zip(&copath) {
            let under = u32::from(height) - depth;
            let end = ((leaf >> under ^ 1) + 1) << under;
            let color = usize::from(place.color);
            prop_assert!(c.copath_rows(end).unwrap()[color] > place.row);
            prop_assert!(c.copath_rows(end - 1).unwrap()[color] <= place.row);
        }
    }

    #[test]
    fn wide_trees_are_walked_alike(arity in 3u16..=256, seed in any::<u64>()) {
        let height = (1..=40).rev().find(|h| PerfectTree::new(arity, *h).is_ok()).unwrap();
        let c = coloring(arity, height.min(1 + (seed >> 60) as u8));
        let leaf = seed % c.shape().leaves();
        let places = c.path(leaf).unwrap();
        check_colors(&c, &places);
        prop_assert_eq!(places, c.secret_path(leaf).unwrap());
    }
}
