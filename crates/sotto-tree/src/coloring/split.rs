//! Divides the sizes below a node among its children: the Color-Splitting Algorithm for binary trees
//! (the paper's Algorithms 1 to 3), rotation for trees with at least as many children to a node as
//! layers, and shares for the trees in between.
//!
//! # Shares
//!
//! Here the paper's rule, which gives siblings at most two colors, has no solution for many trees:
//! three layers of a ternary tree need all three colors among the root's children. So siblings get
//! as many colors as balance requires.
//!
//! **How many children.** Let `w` be the mean size in a list of `k - 1` colors below a child. A
//! color that is a child's own is missing below that child, so with `a` children of its own it has
//! `a + (q - a) w` nodes on average. Requiring that to be its size `c` gives
//! `a = (q w - c) / (w - 1)`, and these sum to `q` exactly. They are rounded, the largest fractions
//! up.
//!
//! **How much below each.** Sizes are `1 + (q - 1) u` with whole *units* `u >= 1`, since below each
//! child a color is a complete prefix code. What remains is a table of units, colors by children,
//! with known row and column sums and no entry where a child has the color itself. Each color's
//! units are divided evenly, and then units move from children with too many to those with too few,
//! until all sums are right.
//!
//! Where that has no solution, the node is colored by rotation instead, and the coloring's sizes
//! are those that result.
//!
//! # Rotation
//!
//! There is no search, and no failure. A node's list of `k` colors is rotated by one place from child
//! to child. Below a child the whole subtree is colored layer by layer, in the order of the rotated
//! list. If `k` children of `q` make a full rotation, `q mod k` are left over: they get a color each
//! and do the same with the others. Full rotations are exactly balanced, so sizes are balanced where
//! `k` divides `q`; elsewhere they differ by the contribution of the last children.

use super::path::{Child, StateCache, States, sorted};
use crate::shape::below;

/// Maximum number of lists of sizes that are tried before the rest is colored by rotation.
const MAX_LISTS: usize = 1 << 14;

/// The state of a node with these sizes below it, in ascending order, or with those of a rotation.
pub(crate) fn share(states: &mut States, known: &mut StateCache, arity: usize, sizes: Vec<u64>) -> u32 {
    if let Some(state) = known.get(&sizes) {
        return state;
    }
    let owners = owners(arity, &sizes);
    let table = if known.len() < MAX_LISTS { units(arity, &sizes, &owners) } else { None };
    let state = match table {
        Some(table) => {
            let children = owners
                .iter()
                .enumerate()
                .map(|(child, own)| {
                    let list = (0u8..).zip(&table).filter(|(place, _)| place != own);
                    let sizes =
                        list.map(|(place, row)| (1 + (arity as u64 - 1) * row[child], place)).collect();
                    let (sizes, order) = sorted(sizes);
                    Child { place: *own, state: share(states, known, arity, sizes), order }
                })
                .collect();
            states.add(sizes.len(), children)
        }
        None => rotate(states, arity, sizes.len()),
    };
    known.insert(sizes, state);
    state
}

/// The place of each child's color.
fn owners(arity: usize, sizes: &[u64]) -> Vec<u8> {
    let (q, k) = (arity as u64, sizes.len());
    if k == 1 || sizes.first() == Some(&q) {
        return vec![0; arity];
    }
    // Everything is multiplied by k - 1, to stay with whole numbers: w - 1 is then `unit`.
    let others = below(q, k - 1);
    let unit = u128::from(others - (k as u64 - 1));
    let mut target: Vec<(u128, usize, usize)> = sizes
        .iter()
        .enumerate()
        .map(|(place, c)| {
            let a = (u128::from(q * others)).saturating_sub(u128::from(*c) * (k as u128 - 1));
            (a % unit, (a / unit) as usize, place)
        })
        .collect();
    // A color above its mean size has a negative share, so the whole parts may be too many already.
    let mut left = arity;
    for (_, whole, _) in &mut target {
        *whole = left.min(*whole);
        left -= *whole;
    }
    target.sort_by_key(|(fraction, _, place)| (std::cmp::Reverse(*fraction), *place));
    for i in 0..left {
        target[i % k].1 += 1;
    }
    target.sort_by_key(|(_, _, place)| *place);
    target.iter().flat_map(|(_, whole, place)| std::iter::repeat_n(*place as u8, *whole)).collect()
}

/// Units by place and child, none where the child has the color itself.
fn units(arity: usize, sizes: &[u64], owners: &[u8]) -> Option<Vec<Vec<u64>>> {
    let (q, k) = (arity as u64, sizes.len());
    let due = (below(q, k - 1) - (k as u64 - 1)) / (q - 1);
    let mut sums = vec![0; arity];
    let mut table = Vec::with_capacity(k);
    for (place, size) in sizes.iter().enumerate() {
        let mut open: Vec<usize> = (0..arity).filter(|s| usize::from(owners[*s]) != place).collect();
        let all = size.checked_sub(q)? / (q - 1);
        let children = open.len() as u64;
        if all < children || (children == 0 && all > 0) {
            return None;
        }
        // The remainder goes to the children that have least.
        open.sort_by_key(|s| (sums[*s], *s));
        let mut row = vec![0; arity];
        for (i, s) in (0..children).zip(open) {
            row[s] = all / children + u64::from(i < all % children);
            sums[s] += row[s];
        }
        table.push(row);
    }
    // Each round settles a child, or comes as close as possible.
    for _ in 0..4 * arity * k {
        let most = (0..arity).max_by_key(|s| sums[*s])?;
        let least = (0..arity).min_by_key(|s| sums[*s])?;
        if sums[most] == sums[least] {
            return (sums[most] == due).then_some(table);
        }
        let target = sums[most].checked_sub(due)?.min(due.checked_sub(sums[least])?);
        let moved = shift(&mut table, owners, most, least, target);
        if moved == 0 {
            return None;
        }
        sums[most] -= moved;
        sums[least] += moved;
    }
    None
}

/// Moves units from one child to another, about equally many of each color. Returns how many.
fn shift(table: &mut [Vec<u64>], owners: &[u8], from: usize, to: usize, target: u64) -> u64 {
    let has = |child: usize, place: usize| usize::from(owners[child]) == place;
    let mut rows: Vec<&mut Vec<u64>> = table
        .iter_mut()
        .enumerate()
        .filter(|(place, row)| !has(from, *place) && !has(to, *place) && row[from] > 1)
        .map(|(_, row)| row)
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(i128::from(row[from]) - i128::from(row[to])));
    let count = rows.len() as u64;
    let mut left = target;
    for (done, row) in (0..count).zip(rows) {
        let part = left.div_ceil(count - done).min(row[from] - 1);
        row[from] -= part;
        row[to] += part;
        left -= part;
    }
    target - left
}

/// Adds the states of a tree of `height` layers, and returns the root's.
pub(crate) fn rotate(states: &mut States, arity: usize, height: usize) -> u32 {
    let mut layered = States::LEAF;
    let mut rotated = States::LEAF;
    for k in 1..=height {
        let turns = arity / k * k;
        let children = (0..arity)
            .map(|s| {
                let left_over = s >= turns;
                let place = if left_over { s - turns } else { s % k };
                let others =
                    (1..k).map(|j| if left_over { j - usize::from(j <= place) } else { (place + j) % k });
                let state = if left_over { rotated } else { layered };
                Child { place: place as u8, state, order: others.map(|place| place as u8).collect() }
            })
            .collect();
        rotated = states.add(k, children);
        let in_layers = || Child { place: 0, state: layered, order: (1..k).map(|j| j as u8).collect() };
        layered = states.add(k, (0..arity).map(|_| in_layers()).collect());
    }
    rotated
}

/// The state of a node with these sizes below it, in ascending order and feasible.
pub(crate) fn split(states: &mut States, known: &mut StateCache, sizes: Vec<u64>) -> u32 {
    if let Some(state) = known.get(&sizes) {
        return state;
    }
    let lists = children(&sizes);
    // Two leaves, or two children with a color's only two nodes, share that color.
    let shared = sizes.first() == Some(&2);
    let children = (0u8..)
        .zip(lists)
        .map(|(side, list)| {
            let (sizes, order) = sorted(list);
            Child { place: if shared { 0 } else { side }, state: split(states, known, sizes), order }
        })
        .collect();
    let state = states.add(sizes.len(), children);
    known.insert(sizes, state);
    state
}

/// The lists of the left and the right child, while sizes are divided among them.
#[derive(Default)]
struct Halves {
    lists: [Vec<(u64, u8)>; 2],
    sums: [u64; 2],
}

impl Halves {
    fn give(&mut self, side: usize, size: u64, place: usize) {
        self.sums[side] += size;
        self.lists[side].push((size, place as u8));
    }
}

/// The sizes of the left and the right child, with the places of their colors.
fn children(sizes: &[u64]) -> [Vec<(u64, u8)>; 2] {
    let mut halves = Halves::default();
    let dealt = match sizes {
        [] | [_] => return halves.lists,
        [2, second, ..] => {
            halves.give(0, second / 2, 1);
            halves.give(1, second.div_ceil(2), 1);
            2
        }
        [first, second, others @ ..] => {
            halves.give(0, second - 1, 1);
            halves.give(1, first - 1, 0);
            if let Some(third) = others.first() {
                // The share that makes both sums equal.
                let shared = third + first - second;
                halves.give(0, shared.div_ceil(2), 2);
                halves.give(1, second - first + shared / 2, 2);
            }
            3
        }
    };
    for (place, size) in sizes.iter().enumerate().skip(dealt) {
        let larger = usize::from(halves.sums[0] >= halves.sums[1]);
        halves.give(larger, size.div_ceil(2), place);
        halves.give(1 - larger, size / 2, place);
    }
    halves.lists
}
