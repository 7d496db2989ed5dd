//! Rotation coloring, for trees with at least as many children to a node as layers: no search, and no failure.
//!
//! A node's list of `k` colors is rotated by one place from child to child. Below a child the whole
//! subtree is colored layer by layer, in the order of the rotated list. If `k` children of `q` make
//! a full rotation, `q mod k` are left over: they get a color each and do the same with the others.
//! Full rotations are exactly balanced, so sizes are balanced where `k` divides `q`; elsewhere they
//! differ by the contribution of the last children.

use super::states::{Child, States};

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
