//! The pass over a table of values, on the threads of the current pool.

use super::table_product::TableProduct;
use crate::threads::items_per_thread;
use rayon::prelude::*;
use sotto_math::tiles::Selectors;

/// Makes the pass over a table, like [`pass_in`], in fresh memory.
///
/// # Panics
/// As [`pass_in`].
pub fn pass(table: &TableProduct, bytes: &[u8], queries: &[&[Selectors]]) -> Vec<Vec<Vec<u64>>> {
    pass_in(table, bytes, queries, &mut Vec::new)
}

/// Makes the pass over a table, and returns the sums of each query, limb by limb, in buffers from
/// `buffer`, whose contents do not matter.
///
/// `bytes` has the table's values modulo each prime, concatenated, and each query the selectors of
/// every limb.
///
/// # Panics
/// If `bytes` is not the table, or a query does not have the selectors of each limb.
pub fn pass_in(
    table: &TableProduct,
    bytes: &[u8],
    queries: &[&[Selectors]],
    buffer: &mut dyn FnMut() -> Vec<u64>,
) -> Vec<Vec<Vec<u64>>> {
    assert_eq!(bytes.len() as u64, table.bytes(), "the table");
    let (layout, block_words) = (table.layout(), table.block_words());
    let mut out: Vec<Vec<Vec<u64>>> = queries.iter().map(|_| Vec::new()).collect();
    for (limb, bytes) in bytes.chunks_exact(layout.bytes() as usize).enumerate() {
        let selectors: Vec<&Selectors> = queries.iter().map(|query| &query[limb]).collect();
        let mut one = || {
            let mut sums = buffer();
            sums.resize(block_words * layout.blocks(), 0);
            sums
        };
        let mut sums: Vec<Vec<u64>> = queries.iter().map(|_| one()).collect();
        // One range of blocks per thread: more streams at once would slow the memory down.
        let blocks_each = items_per_thread(layout.blocks());
        let part_count = layout.blocks().div_ceil(blocks_each);
        let mut parts: Vec<Vec<&mut [u64]>> = (0..part_count).map(|_| Vec::new()).collect();
        for sums in &mut sums {
            parts
                .iter_mut()
                .zip(sums.chunks_mut(blocks_each * block_words))
                .for_each(|(parts, part)| parts.push(part));
        }
        let bytes = bytes.par_chunks(blocks_each * layout.block_bytes());
        parts.into_par_iter().zip(bytes).enumerate().for_each(|(i, (mut out, bytes))| {
            let blocks = i * blocks_each..((i + 1) * blocks_each).min(layout.blocks());
            table.scan(limb, bytes, blocks, &selectors, &mut out);
        });
        out.iter_mut().zip(sums).for_each(|(out, sums)| out.push(sums));
    }
    out
}
