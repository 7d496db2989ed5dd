//! The tables of a tree of hashes, and the rows of a proof: by colors (TreePIR), or by a batch code
//! over all nodes. The hashes of a binary tree are those of a log (RFC 6962); those of another one
//! are random bytes, since its nodes would depend on a commitment that is out of scope.

use crate::definition::ProofMethod;
use crate::runner::tree::SEED;
use sotto_core::{CryptoRng, ExpectOrDefault, Layer, Misuse, ParamsError, Result, Row};
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::batch_code::permutation::Placement;
use sotto_layers::{BatchCode, ColorProof, batch_code, color_proof};
use sotto_math::sha256;
use sotto_pages::HugeWords;
use sotto_prg::PublicSeed;
use sotto_tree::coloring::destinations::Destinations;
use sotto_tree::log::{CompleteSubtree, Hash, Peaks, hash, proof};
use sotto_tree::{ColorSlot, Coloring, PerfectTree};

/// The tables of hashes of a tree.
pub(super) struct Stack {
    layer: ProofRows,
    tables: Vec<Vec<u8>>,
}

/// The rows that a proof needs.
enum ProofRows {
    /// The siblings of a path in a binary tree.
    Siblings(ColorProof),
    /// The nodes of a path.
    Path(Coloring),
    /// The siblings or nodes of a path, each anywhere in its layer.
    Batch(Box<BatchCode>),
}

/// The secret plan of an open proof.
pub(super) enum ProofPlan {
    Siblings(color_proof::Plan),
    Path(Vec<ColorSlot>),
    Batch(batch_code::Plan),
}

/// The batch code for a path's nodes.
pub(super) fn sizes(shape: PerfectTree) -> Result<CodeSizes, ParamsError> {
    CodeSizes::fit(shape.nodes(), shape.height())
}

/// The batch code for a path's nodes, with a seed.
pub(super) fn code(shape: PerfectTree) -> Result<BatchCode> {
    let mut seed = [0; 32];
    SEED.stream("buckets", shape.nodes()).fill(&mut seed);
    BatchCode::new(sizes(shape)?, &PublicSeed(seed))
}

impl Stack {
    pub(super) fn new(nodes: &Nodes, method: ProofMethod) -> Result<Self> {
        let shape = nodes.shape();
        let (layer, tables) = match method {
            ProofMethod::Buckets => {
                let code = code(shape)?;
                let tables = buckets(nodes, &code)?;
                (ProofRows::Batch(Box::new(code)), tables)
            }
            ProofMethod::Colors if shape.arity() == 2 => {
                let coloring = Coloring::new(shape);
                let (tables, peaks) = siblings(nodes, &coloring)?;
                (ProofRows::Siblings(ColorProof::new(coloring, peaks, Vec::new())?), tables)
            }
            ProofMethod::Colors => {
                let coloring = Coloring::new(shape);
                let classes = coloring.classes()?;
                // Nodes are numbered from the root on, which is 1.
                let of =
                    |class: &HugeWords| class.iter().flat_map(|id| nodes.node(u64::from(*id) - 2)).collect();
                let tables = classes.iter().map(of).collect();
                (ProofRows::Path(coloring), tables)
            }
        };
        Ok(Stack { layer, tables })
    }

    /// The rows of each table, one after the other.
    pub(super) fn tables(&self) -> &[Vec<u8>] {
        &self.tables
    }

    /// The table of each lookup.
    pub(super) fn visits(&self) -> Vec<usize> {
        match &self.layer {
            ProofRows::Siblings(layer) => layer.visits(),
            ProofRows::Path(coloring) => (0..coloring.shape().height()).collect(),
            ProofRows::Batch(code) => code.visits(),
        }
    }

    /// A row for each lookup.
    pub(super) fn plan(
        &self,
        nodes: &Nodes,
        leaf: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<u64>, ProofPlan)> {
        match &self.layer {
            ProofRows::Siblings(layer) => {
                let (rows, plan) = layer.plan(&leaf, rng)?;
                Ok((rows, ProofPlan::Siblings(plan)))
            }
            ProofRows::Path(coloring) => {
                let places = coloring.secret_path(leaf)?;
                let row = |color: usize| places.iter().find(|place| usize::from(place.color) == color);
                let rows = (0..places.len()).map(|color| row(color).map_or(0, |place| place.row)).collect();
                Ok((rows, ProofPlan::Path(places)))
            }
            ProofRows::Batch(code) => {
                let (rows, plan) = code.plan(&Nodes::proof(nodes.shape(), leaf), rng)?;
                Ok((rows, ProofPlan::Batch(plan)))
            }
        }
    }

    /// The proof: of a binary tree from the leaf up, of another one from the root's child down.
    pub(super) fn assemble(&self, plan: ProofPlan, rows: Vec<Vec<u8>>) -> Result<Vec<Hash>> {
        let rows = rows.into_iter().map(Row::new);
        let hash =
            |row: &Row| row.as_slice().try_into().map_err(|_| Misuse::Rule("every row has a hash").into());
        match (&self.layer, plan) {
            (ProofRows::Siblings(layer), ProofPlan::Siblings(plan)) => layer.assemble(plan, rows.collect()),
            (ProofRows::Path(_), ProofPlan::Path(places)) => {
                let rows: Vec<Row> = rows.collect();
                let of = |place: &ColorSlot| {
                    rows.get(usize::from(place.color)).ok_or(Misuse::Rule("every color has a row"))
                };
                places.iter().map(|place| hash(of(place)?)).collect()
            }
            (ProofRows::Batch(code), ProofPlan::Batch(plan)) => {
                code.assemble(plan, rows.collect())?.iter().map(hash).collect()
            }
            _ => Err(Misuse::Rule("the plan is of this stack").into()),
        }
    }
}

/// Whether a proof belongs to the leaf.
pub(super) fn is_right(nodes: &Nodes, leaf: u64, hashes: &[Hash]) -> bool {
    let shape = nodes.shape();
    if shape.arity() != 2 {
        return Nodes::path(shape, leaf)
            .into_iter()
            .map(|place| nodes.node(place))
            .eq(hashes.iter().copied());
    }
    let own = nodes.leaves().get(leaf as usize).copied().expect_or_default("a leaf is one of the tree");
    proof::verify(&own, leaf, shape.leaves(), hashes, nodes.root()).is_ok()
}

/// Writes every hash to the color of its sibling, in the order in which a growing log would write
/// them.
fn siblings(nodes: &Nodes, coloring: &Coloring) -> Result<(Vec<Vec<u8>>, Peaks)> {
    /// Number of layers that are looked up at a time.
    const RUN: usize = 8;
    let run = RUN.min(nodes.shape().height() - 1);
    let destined = coloring.destinations(run)?;
    let mut tables: Vec<Vec<u8>> = coloring
        .sizes()
        .iter()
        .map(|size| Vec::with_capacity(*size as usize * color_proof::ROW_BYTES))
        .collect();
    let (mut peaks, mut to) = (Peaks::new(), Destinations::default());
    for (number, leaves) in (0..).zip(nodes.leaves().chunks(1 << run)) {
        destined.of(number, &mut to)?;
        let mut inside = to.inside.iter();
        peaks.extend(leaves, |CompleteSubtree { level, hash, .. }| {
            let color = match usize::from(level).checked_sub(run) {
                None => inside.next(),
                // The root's own hash is above all colors.
                Some(above) => to.above.get(above),
            };
            if let Some(table) = color.and_then(|color| tables.get_mut(usize::from(*color))) {
                table.extend_from_slice(&hash);
            }
        });
    }
    Ok((tables, peaks))
}

/// The buckets of a code, followed by the whole table if the code has spare lookups.
fn buckets(nodes: &Nodes, code: &BatchCode) -> Result<Vec<Vec<u8>>> {
    let placement = Placement::new(code);
    let mut rows = vec![0; code.bucket_rows() as usize];
    let mut tables = Vec::new();
    for (i, len) in code.shards().into_iter().enumerate() {
        if i < code.buckets() {
            placement.rows(i, 0, &mut rows)?;
            tables.push(rows.iter().flat_map(|row| nodes.node(*row)).collect());
        } else {
            debug_assert_eq!(len, nodes.all().len() as u64);
            tables.push(nodes.all().as_flattened().to_vec());
        }
    }
    Ok(tables)
}

/// All nodes of a perfect tree except for the root.
pub(super) struct Nodes {
    shape: PerfectTree,
    /// Nodes layer by layer from the top, from left to right.
    all: Vec<Hash>,
    root: Hash,
}

impl Nodes {
    pub(super) fn new(shape: PerfectTree) -> Self {
        let mut all = vec![[0; 32]; shape.nodes() as usize];
        if shape.arity() != 2 {
            SEED.stream("nodes", shape.arity()).fill(all.as_flattened_mut());
            return Nodes { shape, all, root: [0; 32] };
        }
        let first = first(shape, shape.height());
        for (i, leaf) in all.iter_mut().skip(first).enumerate() {
            *leaf = hash::leaf(&(i as u64).to_le_bytes());
        }
        for layer in (1..shape.height()).rev() {
            let (above, below) = all.split_at_mut(self::first(shape, layer + 1));
            let (_, parents) = above.split_at_mut(self::first(shape, layer));
            sha256::nodes(
                below
                    .as_chunks()
                    .0
                    .get(..parents.len())
                    .expect_or_default("a layer has two nodes for each above it"),
                parents,
            );
        }
        let mut root = [[0; 32]];
        sha256::nodes(
            all.as_chunks().0.get(..1).expect_or_default("a tree has two nodes under its root"),
            &mut root,
        );
        let [root] = root;
        Nodes { shape, all, root }
    }

    pub(super) fn shape(&self) -> PerfectTree {
        self.shape
    }

    /// The root of a binary tree.
    pub(super) fn root(&self) -> &Hash {
        &self.root
    }

    /// All nodes: layer by layer from the top, from left to right.
    pub(super) fn all(&self) -> &[Hash] {
        &self.all
    }

    pub(super) fn leaves(&self) -> &[Hash] {
        self.all.get(first(self.shape, self.shape.height())..).expect_or_default("a tree has leaves")
    }

    /// A node by its number among all.
    pub(super) fn node(&self, place: u64) -> Hash {
        self.all.get(place as usize).copied().expect_or_default("a place is that of a node")
    }

    /// The numbers of a leaf's path, from the root's child down.
    pub(super) fn path(shape: PerfectTree, leaf: u64) -> Vec<u64> {
        let (q, h) = (shape.arity(), shape.height());
        (1..=h).map(|layer| first(shape, layer) as u64 + leaf / q.pow((h - layer) as u32)).collect()
    }

    /// The numbers of the siblings of a path in a binary tree, from the leaf's up.
    pub(super) fn siblings(shape: PerfectTree, leaf: u64) -> Vec<u64> {
        // Every layer begins at an even number.
        Self::path(shape, leaf).into_iter().rev().map(|place| place ^ 1).collect()
    }

    /// The numbers of the nodes that prove a leaf.
    pub(super) fn proof(shape: PerfectTree, leaf: u64) -> Vec<u64> {
        if shape.arity() == 2 { Self::siblings(shape, leaf) } else { Self::path(shape, leaf) }
    }
}

/// The number of a layer's first node; layer 1 is that of the root's children.
fn first(shape: PerfectTree, layer: usize) -> usize {
    (1..layer).fold(0, |nodes, _| (nodes + 1) * shape.arity() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_tree_is_that_of_a_log() {
        for height in [1, 2, 5] {
            let nodes = Nodes::new(PerfectTree::new(2, height).unwrap());
            let mut peaks = Peaks::new();
            nodes.leaves().iter().for_each(|leaf| peaks.append(*leaf, |_| ()));
            assert_eq!((peaks.leaves(), &peaks.root()), (1 << height, nodes.root()));
            for leaf in 0..1 << height {
                let hashes: Vec<Hash> =
                    Nodes::proof(nodes.shape(), leaf).into_iter().map(|place| nodes.node(place)).collect();
                proof::verify(&nodes.leaves()[leaf as usize], leaf, 1 << height, &hashes, nodes.root())
                    .unwrap();
            }
        }
    }

    #[test]
    fn paths_lead_from_node_to_child() {
        let nodes = Nodes::new(PerfectTree::new(5, 3).unwrap());
        assert_eq!((nodes.all().len(), nodes.leaves().len()), (5 + 25 + 125, 125));
        let path = |leaf| Nodes::proof(nodes.shape(), leaf);
        assert_eq!(path(0), [0, 5, 30]);
        assert_eq!(path(124), [4, 29, 154]);
        assert_eq!(path(33), [1, 5 + 6, 30 + 33]);
        assert_ne!(nodes.node(3), nodes.node(4));
    }
}
