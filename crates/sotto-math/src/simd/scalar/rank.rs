//! Comparisons of bytes.

/// Counts the values that are less than `x`, and those that equal it; `equal` receives a bit for
/// each of the latter.
pub(in crate::simd) fn tally(values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
    let mut counts = [0, 0];
    for (values, equal) in values.chunks(64).zip(equal) {
        // Sums of bytes over 64 values do not wrap.
        counts[0] += usize::from(values.iter().map(|&v| u8::from(v < x)).sum::<u8>());
        counts[1] += usize::from(values.iter().map(|&v| u8::from(v == x)).sum::<u8>());
        *equal = values.iter().zip(0..).fold(0, |bits, (&v, i)| bits | u64::from(v == x) << i);
    }
    counts
}

pub(super) fn compare(values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
    for (((values, &bound), less), equal) in values.iter().zip(bounds).zip(less).zip(equal) {
        let bits = |is: &dyn Fn(u8) -> bool| {
            values.iter().zip(0..).fold(0, |bits, (&v, k)| bits | u16::from(is(v)) << k)
        };
        *less = bits(&|v| v < bound);
        *equal = bits(&|v| v == bound);
    }
}
