//! A reader of images, written from the specification.

use crate::page::client::{Numbers, moduli, whitened};
use crate::page::ring::{append, bytes};
use sotto_testkit::naive_ring::NaiveLimb;

/// Reads a record out of an image, without any key.
pub(crate) fn record(numbers: &Numbers, image: &[u8], index: u64) -> Vec<u8> {
    let (n, primes, _) = moduli(numbers.text("ring"));
    let limb = NaiveLimb::new(n, &primes);
    let (side, nu2, p) = (numbers.of("n") as usize, numbers.of("nu2"), numbers.of("p_log2") as u32);
    let (row, column) = ((index >> nu2) as usize, (index & ((1 << nu2) - 1)) as usize);
    let matrix = numbers.text("form") == "matrix";
    let rows = numbers.of("rows") as usize * if matrix { side } else { 1 };
    let cols = (if matrix { side } else { side * side }) << nu2;
    let record_bytes = numbers.of("record_bytes") as usize;

    // The words of polynomial (r, c) of a unit's region, slot by slot.
    let polynomial = |unit: usize, (r, c): (usize, usize)| -> Vec<u64> {
        let (tile, group) = (r - r % 32, c - c % 4);
        let (tile_rows, group_cols) = (32.min(rows - tile), 4.min(cols - group));
        let b = if primes.len() == 1 { 5 } else { 8 };
        let h = |rows: usize| rows - rows / b;
        let lines = cols * (rows / 32 * h(32) + h(rows % 32));
        let word = |row: usize, slot: usize| {
            let line = tile / 32 * h(32) * cols + group * h(tile_rows) + h(row) * group_cols + (c - group);
            let at = unit * lines * n * 8 + (slot / 8 * lines + line) * 64 + slot % 8 * 8;
            u64::from_le_bytes(image[at..][..8].try_into().unwrap())
        };
        let row = r - tile;
        let first = row - row % b;
        let shared = row % b == b - 1;
        let own = |word: u64| if b == 5 { word & 0x3_FFFF_FFFF_FFFF } else { word & 0xFFF_FFFF_0FFF_FFFF };
        let last = |slot: usize| {
            let free = (0..b - 1).map(|i| (i as u32, word(first + i, slot)));
            free.fold(0, |last, (i, word)| match (b, i) {
                (5, 3) => last | word >> 50,
                (5, _) => last | word >> 52 << (38 - 12 * i),
                _ => last | (word >> 28 & 0xF) << (24 - 4 * i) | (word >> 60) << (56 - 4 * i),
            })
        };
        (0..n).map(|slot| if shared { last(slot) } else { own(word(row, slot)) }).collect()
    };
    let residue = |word: u64| match primes.len() {
        1 => word,
        _ => limb.joined(&primes, &[word & 0xFFFF_FFFF, word >> 32]),
    };
    let mut out = Vec::new();
    for part in 0.. {
        if out.len() >= record_bytes {
            break;
        }
        let (unit, k) = (part / (side * side), part % (side * side));
        let cell = match matrix {
            true => (row * side + k / side, ((k % side) << nu2) + column),
            false => (row, (k << nu2) + column),
        };
        let slots: Vec<u64> = polynomial(unit, cell).into_iter().map(residue).collect();
        let data = |x: u64| u128::from(if x > limb.q / 2 { (1 << p) - (limb.q - x) } else { x });
        let data: Vec<u128> = limb.interpolate(&slots).into_iter().map(data).collect();
        let mut bits = Vec::new();
        append(&mut bits, &data, p);
        out.extend(whitened(numbers, index, part as u64, &bytes(&bits)));
    }
    out.truncate(record_bytes);
    out
}
