//! Ancestral colorings (TreePIR): every path from the root to a leaf shows each of `h` colors once, so that a table for
//! each color and one lookup in each of them is a whole proof.
//!
//! | module | what lives there |
//! |---|---|
//! | [`sizes`] | how many nodes each color may have, and balanced sizes |
//! | `states` | a coloring as a graph of some tens of states |
//! | `halves` | binary trees: the Color-Splitting Algorithm |
//! | `rotation` | `q >= h`: closed form |
//! | `shares` | what lies between |
//! | [`path`] | where the nodes of a leaf's path lie in their colors |
//! | [`copath`] | where the *siblings* of a leaf's path lie: the rows of a Merkle proof |
//! | `oblivious` | the same for a leaf that nobody may learn |
//! | [`written`] | to which colors a growing log writes its hashes |
//! | [`classes`] | whole color classes, written down |

pub mod classes;
mod constant_time;
pub mod copath;
pub mod destinations;
mod halves;
pub mod path;
mod rotation;
mod shares;
pub mod sizes;
mod states;

use crate::shape::PerfectTree;
use sotto_core::Result;
use states::{StateCache, States};

/// A coloring of a perfect tree with `h` colors, made from the tree's shape alone: whoever knows it has the same.
#[derive(Debug)]
pub struct Coloring {
    shape: PerfectTree,
    states: States,
    root: u32,
}

/// Where a node lies: which color it has, and which of that color's rows it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColorSlot {
    /// Below the tree's height.
    pub color: u8,
    /// Below the color's size.
    pub row: u64,
}

impl Coloring {
    /// Balanced as well as is known.
    ///
    /// | tree | how | sizes |
    /// |---|---|---|
    /// | binary | the Color-Splitting Algorithm | [balanced](sizes::balanced) |
    /// | `q >= h` | rotation | balanced if `h` divides `q`, else within 10 %, within 0.8 % for `q >= 128` |
    /// | `2 < q < h` | shares | balanced |
    ///
    /// Takes microseconds to milliseconds, and some hundred kilobytes at most.
    pub fn new(shape: PerfectTree) -> Self {
        let mut states = States::new();
        let known = &mut StateCache::default();
        let (q, h) = (shape.arity() as usize, shape.height());
        let root = match q {
            2 => halves::split(&mut states, known, sizes::balanced(shape)),
            _ if q >= h => rotation::rotate(&mut states, q, h),
            _ => shares::share(&mut states, known, q, sizes::balanced(shape)),
        };
        Coloring { shape, states, root }
    }

    /// A binary tree's coloring with sizes of the caller's choice, in ascending order.
    ///
    /// # Errors
    /// [`ParamsError::Field`](sotto_core::ParamsError::Field) if there is none with these sizes.
    pub fn with_sizes(sizes: Vec<u64>) -> Result<Self> {
        let field = |why: &str| sotto_core::ParamsError::Field { field: "sizes", why: why.into() };
        let height = u8::try_from(sizes.len()).map_err(|_| field("more colors than a tree has layers"))?;
        let shape = PerfectTree::new(2, height)?;
        if !sizes::feasible(2, &sizes) {
            return Err(field("no binary tree can be colored so: see Theorem 2 of TreePIR").into());
        }
        let mut states = States::new();
        let root = halves::split(&mut states, &mut StateCache::default(), sizes);
        Ok(Coloring { shape, states, root })
    }

    /// The tree that is colored.
    pub fn shape(&self) -> PerfectTree {
        self.shape
    }

    /// Nodes of each color.
    pub fn sizes(&self) -> &[u64] {
        &self.states.get(self.root).sizes
    }

    /// Distinct situations in the whole tree: what a walk's tables are made of.
    pub fn states(&self) -> usize {
        self.states.len()
    }
}
