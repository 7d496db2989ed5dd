//! Ancestral colorings (TreePIR): every path from the root to a leaf has each of `h` colors once,
//! so that a table for each color and one lookup in each of them give a whole proof.
//!
//! | module | contents |
//! |---|---|
//! | [`sizes`] | the possible numbers of nodes of each color, and balanced sizes |
//! | `split` | divides sizes among children: the Color-Splitting Algorithm, rotation for `q >= h`, and the trees in between |
//! | [`path`] | the rows of a leaf's path in its colors, and of the *siblings* of the path: the rows of a Merkle proof |
//! | `constant_time` | paths and copaths of a secret leaf |
//! | [`destinations`] | the colors to which a growing log writes its hashes |
//!
//! [`Coloring::classes`] lists whole color classes, the numbers of each color's nodes from left to
//! right. Neither building nor querying a table needs them, since rows go to their colors as they
//! come. They are what the paper's programs compute, and the reference that walks are tested
//! against.
//!
//! Nodes are numbered layer by layer, the root with 1, so that the children of `r` are
//! `q r - q + 2` to `q r + 1`. A node `d` layers below `r` is `q^d r` plus a constant: so the nodes
//! below a low node are a *template*, one for each low state, and high trees are a sequence of
//! templates.

mod constant_time;
pub mod destinations;
pub mod path;
pub mod sizes;
mod split;

use crate::shape::PerfectTree;
use path::{StateCache, States};
use sotto_core::{ParamsError, Result};
use sotto_math::affine::affine;
use sotto_pages::HugeWords;

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
    /// [`ParamsError::Field`] if no coloring has these sizes.
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

/// Approximate number of nodes in a template.
const TEMPLATE: u64 = 1 << 11;

/// The nodes of one place below a node `r`, from left to right: `factor * r + term`, modulo 2^32.
#[derive(Default)]
struct Template {
    factors: Vec<u32>,
    terms: Vec<u32>,
}

impl Coloring {
    /// The nodes of every color, on huge pages where the system grants them.
    ///
    /// # Errors
    /// [`ParamsError::Field`] if numbers of nodes have more than 32 bits; an error if the system
    /// refuses the memory.
    pub fn classes(&self) -> Result<Vec<HugeWords>> {
        if self.shape.nodes() >= u32::MAX.into() {
            let why = "must number nodes below 2^32";
            return Err(ParamsError::Field { field: "height", why: why.into() }.into());
        }
        let q = self.shape.arity() as u32;
        let low =
            (1..self.shape.height()).take_while(|h| crate::shape::below(q.into(), *h) <= TEMPLATE).count();
        let templates = templates(&self.states, q, low);
        let empty = |size: &u64| HugeWords::with_capacity(*size as usize);
        let mut classes: Vec<HugeWords> = self.sizes().iter().map(empty).collect::<Result<_, _>>()?;
        let colors: Vec<u8> = (0..classes.len() as u8).collect();
        Writer { states: &self.states, q, low, templates: &templates }.node(
            self.root,
            1,
            &colors,
            &mut classes,
        );
        Ok(classes)
    }
}

/// The templates of all low states, by state and place.
fn templates(states: &States, q: u32, low: usize) -> Vec<Vec<Template>> {
    let mut all: Vec<Vec<Template>> = Vec::new();
    for state in (0..states.len() as u32).map(|state| states.get(state)) {
        let mut of_places: Vec<Template> = state.sizes.iter().map(|_| Template::default()).collect();
        for (s, branch) in (0u32..).zip(&state.branches).filter(|_| state.sizes.len() <= low) {
            // Child s of r is q r + term.
            let term = (2 + s).wrapping_sub(q);
            let own = &mut of_places[usize::from(branch.place)];
            own.factors.push(q);
            own.terms.push(term);
            for (place, below) in branch.order.iter().zip(&all[branch.state as usize]) {
                let own = &mut of_places[usize::from(*place)];
                own.factors.extend(below.factors.iter().map(|factor| factor.wrapping_mul(q)));
                let terms = below.factors.iter().zip(&below.terms);
                own.terms.extend(terms.map(|(factor, t)| factor.wrapping_mul(term).wrapping_add(*t)));
            }
        }
        all.push(of_places);
    }
    all
}

struct Writer<'a> {
    states: &'a States,
    q: u32,
    /// Layers of a node's subtree that a template covers.
    low: usize,
    templates: &'a [Vec<Template>],
}

impl Writer<'_> {
    /// Writes the nodes below node `r`, whose list has these colors.
    fn node(&self, state: u32, r: u32, colors: &[u8], classes: &mut [HugeWords]) {
        if colors.len() <= self.low {
            for (color, template) in colors.iter().zip(&self.templates[state as usize]) {
                let nodes = classes[usize::from(*color)].next(template.factors.len());
                affine(&template.factors, &template.terms, r, nodes);
            }
            return;
        }
        for (s, branch) in (0u32..).zip(&self.states.get(state).branches) {
            let child = (self.q.wrapping_mul(r)).wrapping_add(2 + s).wrapping_sub(self.q);
            classes[usize::from(colors[usize::from(branch.place)])].extend([child]);
            let below: Vec<u8> = branch.order.iter().map(|place| colors[usize::from(*place)]).collect();
            self.node(branch.state, child, &below, classes);
        }
    }
}
