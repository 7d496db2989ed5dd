//! Which kernels this machine runs, and how fast it reads memory.

use crate::simd;

/// The name of the backend in use: `scalar`, `avx2`, `avxvnni` or `avx512`.
pub fn backend() -> &'static str {
    simd::kernels().name()
}

/// Reads all bytes once, in order, as fast as the backend can, and returns their checksum.
///
/// This is the measure that a scan is held against: no scan of a matrix larger than the
/// caches can be faster. The checksum is the exclusive or of the little-endian 64-bit
/// words, the last one padded with zeros; it exists so that the reads cannot be
/// optimised away, and proves that every backend reads the same bytes.
pub fn read_pass(bytes: &[u8]) -> u64 {
    simd::kernels().read(bytes)
}
