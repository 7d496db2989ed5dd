//! The scan, one byte at a time.

use crate::simd::args::{GROUP_BYTES, PANEL_ROWS, Planes};

pub(in crate::simd) fn scan(groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
    let mut rest = sums;
    for query in queries {
        let (mine, others) = rest.split_at_mut(query.planes * PANEL_ROWS);
        rest = others;
        for (group, dwords) in groups.chunks_exact(GROUP_BYTES).zip(query.dwords.chunks_exact(query.planes)) {
            for (plane, dword) in mine.chunks_exact_mut(PANEL_ROWS).zip(dwords) {
                let q = dword.to_le_bytes().map(i32::from);
                for (sum, cell) in plane.iter_mut().zip(group.as_chunks::<4>().0) {
                    let [a, b, c, d] = cell.map(|byte| i32::from(byte as i8));
                    // At most 4 * 128 * 255, so only the sum can wrap.
                    *sum = sum.wrapping_add(a * q[0] + b * q[1] + c * q[2] + d * q[3]);
                }
            }
        }
    }
}
