//! A reader of images, from the page.

use crate::page::bits::{append, bytes};
use crate::page::client::{Numbers, moduli, whitened};
use crate::page::ring::Limb;

/// A record, taken out of an image without any key.
pub(crate) fn record(numbers: &Numbers, image: &[u8], index: u64) -> Vec<u8> {
    let (n, primes, _) = moduli(numbers.text("ring"));
    let limb = Limb::new(n, &primes);
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
        let line = tile * cols + group * tile_rows + (r - tile) * group_cols + (c - group);
        let at =
            |slot: usize| unit * rows * cols * n * 8 + (slot / 8 * rows * cols + line) * 64 + slot % 8 * 8;
        (0..n).map(|slot| u64::from_le_bytes(image[at(slot)..][..8].try_into().unwrap())).collect()
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
