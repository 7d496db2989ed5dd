//! Measures how long a client takes to verify one row against the root that its publisher signed,
//! for layouts of 2^20 rows of 256 bytes.
//!
//! ```sh
//! cargo run --release -p sotto-catalog --example verifying
//! ```
use sotto_catalog::{Packing, RowsRoot};
use sotto_core::{Record, Result};
use std::hint::black_box;
use std::time::Instant;

const ROWS: u64 = 1 << 20;
const ROW_BYTES: u64 = 256;

/// Scheme, rows and proof nodes that a lookup fetches, and bytes of a record.
const LAYOUTS: [(&str, u64, u32, u64); 3] =
    [("simplepir", 47, 5, 12_288), ("fspiral", 31, 6, 8192), ("dpf/2", 1, 10, 576)];

fn main() -> Result<()> {
    for (scheme, leaf_rows, path, record_bytes) in LAYOUTS {
        let root = RowsRoot { root: [0; 32].into(), leaf_rows, path: Some(path) };
        let packing = Packing::new(1, ROW_BYTES, ROWS.div_ceil(leaf_rows), record_bytes)?;
        let packing = packing.with_paths(leaf_rows, root.path_bytes())?.with_rows(ROWS)?;
        let tree = vec![1; root.tree_bytes(ROWS) as usize];
        let records = [Record::new(vec![7; record_bytes as usize])];
        let mut times = Vec::new();
        for row in 0..2001 {
            let start = Instant::now();
            black_box(root.verifies(&packing, row * 37, &records, &tree)?);
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        times.sort_by(f64::total_cmp);
        let (nodes, median) = (tree.len() / 32, times[times.len() / 2]);
        println!("{scheme}: {leaf_rows} rows, {path} nodes beside, a tree of {nodes}: {median:.1} us");
    }
    Ok(())
}
