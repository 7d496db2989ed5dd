//! Sampling by the cumulative table, one comparison at a time.

pub(in crate::simd) fn gauss(thresholds: &[u64], uniform: &[u64], out: &mut [i32]) {
    for (out, &uniform) in out.iter_mut().zip(uniform) {
        let t = uniform >> 1;
        // Both numbers are below 2^63, so the sign of the difference is the comparison: no branch,
        // and the whole table is read whatever the sample is.
        let magnitude = thresholds.iter().map(|&bound| 1 - (t.wrapping_sub(bound) >> 63) as i32).sum::<i32>();
        let sign = -((uniform & 1) as i32);
        *out = (magnitude ^ sign) - sign;
    }
}
