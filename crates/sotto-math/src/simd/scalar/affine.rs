//! Evaluation of lines at a point, one at a time. Other backends compile the same loop for wider
//! registers.

#[inline(always)]
pub(in crate::simd) fn affine(factors: &[u32], terms: &[u32], x: u32, out: &mut [u32]) {
    for ((out, factor), term) in out.iter_mut().zip(factors).zip(terms) {
        *out = factor.wrapping_mul(x).wrapping_add(*term);
    }
}
