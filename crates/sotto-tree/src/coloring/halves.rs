//! The Color-Splitting Algorithm for binary trees (the paper's Algorithms 1 to 3).

use super::states::{Child, StateCache, States, sorted};

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
