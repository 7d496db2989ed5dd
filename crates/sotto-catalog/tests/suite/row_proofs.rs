//! Rows that are looked up together with the path that proves them.

use crate::catalog::plain;
use sotto_catalog::rows_root::{LeafHasher, MAX_ROWS, NODE_BYTES, Node, delta, parent, patch, root};
use sotto_catalog::{Catalog, CatalogError, Document, Packing, RowsRoot, TableKind};
use sotto_core::Record;

/// A table in records, as an encoder makes it.
struct ProvedTable {
    root: RowsRoot,
    packing: Packing,
    tree: Vec<u8>,
    /// Rows of each leaf, one after the other, and the leaf's path.
    leaves: Vec<(Vec<u8>, Vec<u8>)>,
    records: Vec<Vec<u8>>,
}

impl ProvedTable {
    fn new([rows, row_bytes, leaf_rows, record_bytes]: [u64; 4], path: u32) -> Self {
        let mut root = RowsRoot { root: [0; 32].into(), leaf_rows, path: Some(path) };
        let count = root.leaves(rows);
        let spans = (leaf_rows * row_bytes + root.path_bytes()).div_ceil(record_bytes);
        let packing = Packing::new(1, row_bytes, count * spans, record_bytes).unwrap();
        let packing = packing.with_paths(leaf_rows, root.path_bytes()).unwrap().with_rows(rows).unwrap();
        let row = |row: u64| {
            (0..row_bytes).map(move |byte| if row < rows { (row * 31 + byte + 1) as u8 } else { 0 })
        };
        let leaf = |leaf: u64| (leaf * leaf_rows..(leaf + 1) * leaf_rows).flat_map(row).collect::<Vec<u8>>();
        let mut leaves: Vec<_> = (0..count).map(|at| (leaf(at), Vec::new())).collect();
        // Missing leaves are zero.
        let mut level: Vec<Node> = leaves.iter().map(|(rows, _)| LeafHasher::of(rows)).collect();
        level.resize(level.len().next_multiple_of(1 << path), [0; NODE_BYTES]);
        for height in 0..path {
            for (at, (_, path)) in leaves.iter_mut().enumerate() {
                path.extend_from_slice(&level[at >> height ^ 1]);
            }
            level = level.as_chunks::<2>().0.iter().map(|[left, right]| parent(left, right)).collect();
        }
        let tree = level.concat();
        root.root = self::root(&tree);
        let mut records = vec![vec![0xee; record_bytes as usize]; (count * spans) as usize];
        for (at, (rows, path)) in (0..).zip(&leaves) {
            for (offset, bytes) in [(0, rows), (packing.path_offset(), path)] {
                for place in packing.leaf_places(at, offset, bytes.len()).unwrap() {
                    let to = &mut records[place.record as usize][place.offset as usize..];
                    to[..place.bytes.len()].copy_from_slice(&bytes[place.bytes]);
                }
            }
        }
        let tree = if root.needs_tree(rows) { tree } else { Vec::new() };
        ProvedTable { root, packing, tree, leaves, records }
    }

    fn lookup(&self, row: u64) -> Vec<Record> {
        let record = |at: u64| Record::new(self.records[at as usize].clone());
        self.packing.records_of(row).into_iter().map(|index| record(index.0)).collect()
    }

    fn verifies(&self, row: u64, records: &[Record]) -> bool {
        self.root.verifies(&self.packing, row, records, &self.tree).unwrap()
    }
}

/// Rows, bytes of a row, rows of a leaf and bytes of a record, and nodes of a path: several rows in a record, with
/// missing leaves and without; rows that span records, with space before the path; a single leaf, and a tree of
/// one node.
const SHAPES: [([u64; 4], u32); 7] = [
    ([20, 3, 2, 70], 2),
    ([64, 3, 4, 140], 4),
    ([9, 210, 1, 70], 2),
    ([5, 100, 1, 70], 1),
    ([5, 100, 1, 70], 3),
    ([5, 4, 8, 32], 0),
    ([7, 4, 1, 100], 3),
];

#[test]
fn every_row_is_proved_and_no_other_byte_is() {
    for (shape @ [rows, row_bytes, leaf_rows, record_bytes], path) in SHAPES {
        let table = ProvedTable::new(shape, path);
        let packing = &table.packing;
        assert_eq!(
            [packing.rows(), packing.row_bytes(), packing.rows_per_record(), packing.record_bytes()],
            shape
        );
        assert_eq!(packing.records(), table.records.len() as u64);
        assert_eq!(packing.path_bytes(), u64::from(path) * 32);
        let end = packing.records_per_row() as u64 * record_bytes;
        assert_eq!(packing.path_offset() + packing.path_bytes(), end);
        for row in 0..rows {
            let records = table.lookup(row);
            let (leaf, at) = (packing.leaf_index(row), row % leaf_rows * row_bytes);
            assert_eq!(leaf, row / leaf_rows);
            assert_eq!(packing.leaf(&records).unwrap(), table.leaves[leaf as usize]);
            let found = &table.leaves[leaf as usize].0[at as usize..(at + row_bytes) as usize];
            assert_eq!(packing.extract(row, &records).unwrap(), found);
            for other in 0..rows {
                assert_eq!(
                    table.verifies(other, &records),
                    other / leaf_rows == leaf,
                    "{shape:?} {row} {other}"
                );
            }
            for byte in 0..end {
                let mut bytes: Vec<_> = records.iter().map(|record| record.bytes().to_vec()).collect();
                bytes[(byte / record_bytes) as usize][(byte % record_bytes) as usize] ^= 1 << (byte % 8);
                let changed: Vec<_> = bytes.into_iter().map(Record::new).collect();
                // Bytes between rows and path are not read.
                let is_unused = (packing.rows_bytes()..packing.path_offset()).contains(&byte);
                assert_eq!(table.verifies(row, &changed), is_unused, "{shape:?} {row} {byte}");
            }
        }
        // A row past the end has the records of row 0.
        assert_eq!((packing.leaf_index(rows), packing.records_of(rows)), (0, packing.records_of(0)));
        assert!(
            table.verifies(rows, &table.lookup(rows)) && packing.extract(rows, &table.lookup(rows)).is_err()
        );
        let mut root = table.root;
        root.root.0[5] ^= 1;
        let is_small = table.leaves.len() <= 1 << path;
        assert_eq!(table.tree.is_empty(), is_small, "one node follows from the root");
        let found = root.verifies(packing, 0, &table.lookup(0), &table.tree).unwrap();
        assert_eq!(found, !is_small, "clients compare a tree with the root when they download it");
    }
}

#[test]
fn other_sizes_are_refused() {
    for (shape, path) in SHAPES {
        let table = ProvedTable::new(shape, path);
        let (rows, proof) = table.packing.leaf(&table.lookup(0)).unwrap();
        let proves = |proof: &[u8], tree: &[u8]| {
            table.root.proves(&table.packing, 0, LeafHasher::of(&rows), proof, tree)
        };
        assert!(proves(&proof, &table.tree).unwrap());
        for longer in [1, 32] {
            assert!(proves(&[&proof[..], &vec![0; longer]].concat(), &table.tree).is_err());
            assert!(proves(&proof, &[&table.tree[..], &vec![0; longer]].concat()).is_err());
        }
        if let Some(at) = proof.len().checked_sub(32) {
            assert!(proves(&proof[..at], &table.tree).is_err());
        }
        let mut records = table.lookup(0);
        records.push(records[0].clone());
        assert!(table.packing.leaf(&records).is_err());
        let none = RowsRoot { path: None, ..table.root };
        assert!(none.verifies(&table.packing, 0, &table.lookup(0), &table.tree).is_err());
        // Past the last leaf, and past the records of one.
        let (leaves, end) =
            (table.leaves.len() as u64, table.packing.path_offset() + table.packing.path_bytes());
        assert!(table.packing.leaf_places(leaves, 0, 1).is_err());
        assert!(table.packing.leaf_places(leaves - 1, end - 1, 1).is_ok());
        assert!(table.packing.leaf_places(leaves - 1, end - 1, 2).is_err());
        assert!(table.packing.leaf_places(0, u64::MAX, 2).is_err());
    }
}

#[test]
fn a_record_holds_a_leaf_and_its_path() {
    let packing = Packing::new(6, 10, 30, 84).unwrap();
    assert!(packing.with_paths(2, 64).is_ok());
    assert!(packing.with_paths(2, 65).is_err());
    assert!(packing.with_paths(0, 64).is_err());
    assert!(packing.with_paths(u64::MAX, 64).is_err());
    // A single row may span records, as long as there are enough.
    assert!(Packing::new(1, 10, 2, 84).unwrap().with_paths(1, 96).is_ok());
    assert!(Packing::new(2, 10, 2, 84).unwrap().with_paths(1, 96).is_err());
}

#[test]
fn equal_buckets_are_filled_with_rows() {
    // Four buckets of three records, each of five rows.
    let packing = Packing::new(40, 4, 12, 22).unwrap();
    assert_eq!(packing.filled(4).unwrap(), packing.with_rows(60).unwrap());
    assert!(packing.filled(0).is_err());
    // The rows do not divide by 3, and the records not by 8.
    assert!(packing.filled(3).is_err() && packing.filled(8).is_err());
    // Rows of three records, of which a bucket has two.
    let wide = Packing::new(8, 50, 24, 22).unwrap();
    assert_eq!(wide.filled(4).unwrap(), wide);
    assert!(Packing::new(4, 50, 16, 22).unwrap().filled(4).is_err());
}

#[test]
fn a_root_has_limits() {
    let (rows, refused) = (1 << 20, |root: RowsRoot, rows: u64| {
        let catalog = Catalog { rows, rows_root: root, kind: TableKind::Index, ..plain() };
        matches!(catalog.check(), Err(CatalogError::Invalid { field: "rows_root", .. }))
    });
    let root = |leaf_rows, path| RowsRoot { root: [0; 32].into(), leaf_rows, path };
    for (accepted, leaf_rows, path) in [
        (true, 1, None),
        (true, MAX_ROWS, None),
        (false, 0, None),
        (false, MAX_ROWS + 1, None),
        (true, MAX_ROWS, Some(40)),
        (false, MAX_ROWS, Some(41)),
        // 2^14 nodes, and twice as many.
        (true, 1, Some(6)),
        (false, 1, Some(5)),
        (true, 64, Some(0)),
        (false, 63, Some(0)),
    ] {
        assert_eq!(refused(root(leaf_rows, path), rows), !accepted, "{leaf_rows} {path:?}");
    }
    assert!(!refused(root(1, None), MAX_ROWS) && refused(root(1, Some(25)), MAX_ROWS));
}

#[test]
fn a_delta_turns_one_tree_into_another() {
    let old: Vec<u8> = (0..5 * 32).map(|byte| byte as u8).collect();
    let mut new = old.clone();
    (new[40], new[159]) = (0, 0);
    let changes = delta(&old, &new).unwrap();
    assert_eq!(changes.len(), 2 * 36);
    assert_eq!((&changes[..4], &changes[4..36]), (&[1, 0, 0, 0][..], &new[32..64]));
    let mut tree = old.clone();
    patch(&mut tree, &changes).unwrap();
    assert_eq!(tree, new);
    assert_eq!(delta(&new, &new), Some(Vec::new()));
    assert_eq!(delta(&old, &new[32..]), None);
    // A node past the end, and half of a change.
    assert!(patch(&mut tree, &[&[5, 0, 0, 0][..], &[0; 32]].concat()).is_err());
    assert!(patch(&mut tree, &changes[..71]).is_err());
}

#[test]
fn a_leaf_may_be_hashed_in_pieces() {
    let rows: Vec<u8> = (0..3000u32).map(|byte| byte as u8).collect();
    let mut hasher = LeafHasher::default();
    rows.chunks(1001).for_each(|piece| hasher.update(piece));
    assert_eq!(hasher.finish(), LeafHasher::of(&rows));
}
