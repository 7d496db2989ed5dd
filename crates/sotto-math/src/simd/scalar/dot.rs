//! Products of rows of words and short vectors, one product at a time.

pub(super) fn dot(h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
    for (r, row) in h.chunks_exact(n).enumerate() {
        for (s, y) in s.iter().zip(y.iter_mut()) {
            y[r] = row
                .iter()
                .zip(*s)
                .fold(0, |sum: i64, (&h, &s)| sum.wrapping_add(i64::from(h).wrapping_mul(i64::from(s))));
        }
    }
}
