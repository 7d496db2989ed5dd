use super::*;
use crate::bgv::fixture::{encrypted, levels, on_every_ring, opened, plaintexts, secret, slots, slotwise};
use sotto_math::tiles::strips;

on_every_ring!(columns_are_sums_of_rows);

/// Tests more rows than a tile has, more columns than a group, and two queries in one pass.
fn columns_are_sums_of_rows<R: SlotRing>(rns: &RnsRing<R>) {
    let secret = secret(rns);
    let all = plaintexts(rns);
    let (rows, cols) = (33, 5);
    let held: Vec<Vec<u64>> = all.iter().map(|plaintext| slots(rns, plaintext)).collect();
    let plain = |row: usize, col: usize| (row * 3 + col) % all.len();
    for level in levels(rns).take(2) {
        let all_values: Vec<_> = all.iter().map(|plaintext| rns.from_plain(level, plaintext)).collect();
        let table = TableProduct::new(rns, level, rows, cols).unwrap();
        let bytes = table.layout().bytes() as usize;
        let mut tiles = vec![0; table.bytes() as usize];
        for (limb, tiles) in tiles.chunks_mut(bytes).enumerate() {
            let words = |(row, col)| {
                let values = &all_values[plain(row, col)];
                ((row, col), values[limb * rns.ring().words()..][..rns.ring().words()].to_vec())
            };
            for strip in strips(table.layout()) {
                let polynomials: Vec<_> = strip.polynomials().map(words).collect();
                let mut filled = vec![0; strip.block_bytes(table.layout()) * table.layout().blocks()];
                strip.put(table.layout(), &polynomials, &mut filled);
                for (block, bytes) in filled.chunks(strip.block_bytes(table.layout())).enumerate() {
                    let at = strip.offset(table.layout(), block) as usize;
                    tiles[at..at + bytes.len()].copy_from_slice(bytes);
                }
            }
        }
        let queries: Vec<Vec<Ciphertext>> = [0, 1]
            .map(|query| {
                let selector =
                    |row: usize| encrypted(rns, level, &secret, &all[(row + query) % 3], row as u64);
                (0..rows).map(selector).collect()
            })
            .into();
        let laid: Vec<Vec<Selectors>> = queries.iter().map(|query| table.selectors(query)).collect();
        let blocks = table.layout().blocks();
        let mut sums = vec![vec![vec![7; blocks * table.block_words()]; level.primes()]; 2];
        for (limb, tiles) in tiles.chunks(bytes).enumerate() {
            let laid: Vec<&Selectors> = laid.iter().map(|laid| &laid[limb]).collect();
            let mut out: Vec<&mut [u64]> = sums.iter_mut().map(|sums| sums[limb].as_mut_slice()).collect();
            table.scan(limb, tiles, 0..blocks, &laid, &mut out);
        }
        // The same rows as coefficients, a few columns at a time.
        let stored: Vec<Vec<u8>> = all
            .iter()
            .map(|plaintext| {
                let mut bytes = Vec::new();
                CoefficientFormat::new(rns.ring()).put(plaintext, &mut bytes);
                bytes
            })
            .collect();
        let by_limb: Vec<Vec<&Selectors>> =
            (0..level.primes()).map(|limb| laid.iter().map(|laid| &laid[limb]).collect()).collect();
        let room = &mut RowBuffers::default();
        for start in (0..cols).step_by(STREAMED_COLS) {
            let some = start..(start + STREAMED_COLS).min(cols);
            let streamed = table.stream(
                rns,
                some.clone(),
                &|row, col| stored[plain(row, col)].as_slice(),
                &by_limb,
                room,
            );
            for (query, sums) in sums.iter().enumerate() {
                let mine: Vec<&[u64]> = streamed.iter().map(|limb| limb[query].as_slice()).collect();
                let mine = table.columns(rns, &mine, some.len(), 0..some.len());
                let whole: Vec<&[u64]> = sums.iter().map(Vec::as_slice).collect();
                let whole = table.columns(rns, &whole, cols, some.clone());
                assert!(
                    mine.iter().zip(&whole).all(|(a, b)| a.part(0) == b.part(0) && a.part(1) == b.part(1))
                );
            }
        }
        for (query, (ciphers, sums)) in queries.iter().zip(&sums).enumerate() {
            let sums: Vec<&[u64]> = sums.iter().map(Vec::as_slice).collect();
            let columns = table.columns(rns, &sums, cols, 1..cols);
            for (column, col) in columns.iter().zip(1..) {
                let values: Vec<&[u64]> =
                    (0..rows).map(|row| all_values[plain(row, col)].as_slice()).collect();
                let mut sum = Ciphertext::zero(rns, level, 2);
                sum.part_mut(0).fill(1);
                product_sum(rns, &ciphers.iter().collect::<Vec<_>>(), &values, &mut sum);
                assert!(
                    (0..2).all(|part| sum.part(part) == column.part(part)),
                    "column {col}, query {query}"
                );
                let expected = (0..rows).fold(held[2].clone(), |sum, row| {
                    let [v, x] = [(row + query) % 3, plain(row, col)].map(|i| &held[i]);
                    slotwise(rns, 0, &sum, &slotwise(rns, 1, v, x))
                });
                assert_eq!(opened(rns, &secret, column), expected, "column {col}, query {query}");
            }
        }
    }
}
