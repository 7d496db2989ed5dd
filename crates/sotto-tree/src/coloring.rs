//! Ancestral colorings (TreePIR): every path from the root to a leaf has each of `h` colors once,
//! so that a table for each color and one lookup in each of them give a whole proof.
//!
//! | module | contents |
//! |---|---|
//! | [`sizes`] | the possible numbers of nodes of each color, and balanced sizes |
//! | `states` | a coloring as a graph of some tens of states |
//! | `split` | divides sizes among children: the Color-Splitting Algorithm, rotation for `q >= h`, and the trees in between |
//! | [`path`] | the rows of a leaf's path in its colors, and of the *siblings* of the path: the rows of a Merkle proof |
//! | `constant_time` | paths and copaths of a secret leaf |
//! | [`destinations`] | the colors to which a growing log writes its hashes |
//! | [`classes`] | whole color classes as lists |

pub mod classes;
mod constant_time;
pub mod destinations;
pub mod path;
pub mod sizes;
mod split;
mod states;

use crate::shape::PerfectTree;
use sotto_core::Result;
use states::{StateCache, States};

/// A coloring of a perfect tree with `h` colors, a function of the tree's shape alone.
///
/// ```
/// use sotto_tree::{Coloring, PerfectTree};
///
/// // A tree of 16 leaves in four colors: a table for each, of about the same size.
/// let coloring = Coloring::new(PerfectTree::new(2, 4)?);
/// assert_eq!(coloring.sizes(), [7, 7, 8, 8]);
///
/// // A proof needs one row of each table, whichever leaf it is for.
/// let mut colors: Vec<u8> = coloring.copath(11)?.iter().map(|slot| slot.color).collect();
/// colors.sort();
/// assert_eq!(colors, [0, 1, 2, 3]);
/// # Ok::<(), sotto_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Coloring {
    shape: PerfectTree,
    states: States,
    root: u32,
}

/// The color of a node, and its row among the nodes of that color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColorSlot {
    /// The color, below the tree's height.
    pub color: u8,
    /// The row, below the color's size.
    pub row: u64,
}

impl Coloring {
    /// The most balanced coloring that is known for a tree.
    ///
    /// | tree | how | sizes |
    /// |---|---|---|
    /// | binary | the Color-Splitting Algorithm | [balanced](sizes::balanced) |
    /// | `q >= h` | rotation | balanced if `h` divides `q`, else within 10 %, within 0.8 % for `q >= 128` |
    /// | `2 < q < h` | shares | balanced |
    ///
    /// Takes microseconds to milliseconds, and at most some hundred kilobytes.
    pub fn new(shape: PerfectTree) -> Self {
        let mut states = States::new();
        let known = &mut StateCache::default();
        let (q, h) = (shape.arity() as usize, shape.height());
        let root = match q {
            2 => split::split(&mut states, known, sizes::balanced(shape)),
            _ if q >= h => split::rotate(&mut states, q, h),
            _ => split::share(&mut states, known, q, sizes::balanced(shape)),
        };
        Coloring { shape, states, root }
    }

    /// A coloring of a binary tree with sizes that the caller chooses, in ascending order.
    ///
    /// # Errors
    /// [`ParamsError::Field`](sotto_core::ParamsError::Field) if no coloring has these sizes.
    pub fn with_sizes(sizes: Vec<u64>) -> Result<Self> {
        let field = |why: &str| sotto_core::ParamsError::Field { field: "sizes", why: why.into() };
        let height = u8::try_from(sizes.len())
            .map_err(|_| field("must have at most as many colors as a tree has layers"))?;
        let shape = PerfectTree::new(2, height)?;
        if !sizes::feasible(2, &sizes) {
            return Err(field("must be feasible for a binary tree (Theorem 2 of TreePIR)").into());
        }
        let mut states = States::new();
        let root = split::split(&mut states, &mut StateCache::default(), sizes);
        Ok(Coloring { shape, states, root })
    }

    /// The shape of the colored tree.
    pub fn shape(&self) -> PerfectTree {
        self.shape
    }

    /// Nodes of each color.
    pub fn sizes(&self) -> &[u64] {
        &self.states.get(self.root).sizes
    }

    /// Number of distinct states in the whole tree, from which a walk's tables are made.
    pub fn states(&self) -> usize {
        self.states.len()
    }
}
