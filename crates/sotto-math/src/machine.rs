//! Which kernels this machine runs, how they go through its memory, and how fast it reads that.

mod trial;

use crate::simd::{self, shapes};
pub use trial::try_shape;

/// A way for a kernel to go through memory. All of a kernel's shapes give the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelShape {
    /// `scan`, `tiles` or `select`.
    pub kernel: &'static str,
    /// One of the kernel's own names.
    pub name: &'static str,
}

/// The shapes in use, one for each kernel that has any.
///
/// `SOTTO_SHAPES=scan=wide,tiles=plain` in the environment pins them; else it is what [`choose_shape`] was given last, or
/// else the [`processor`]'s default.
pub fn shapes() -> Vec<KernelShape> {
    let places = shapes::KERNELS.iter().zip(shapes::places());
    places.filter_map(|(kernel, place)| all_shapes(kernel).get(place).copied()).collect()
}

/// The [`processor`]'s own, one for each kernel that has any.
pub fn default_shapes() -> Vec<KernelShape> {
    let places = shapes::KERNELS.iter().zip(shapes::processor().places);
    places.filter_map(|(kernel, place)| all_shapes(kernel).get(place).copied()).collect()
}

/// All shapes of a kernel.
pub fn all_shapes(kernel: &str) -> Vec<KernelShape> {
    let Some(kernel) = shapes::KERNELS.iter().find(|known| **known == kernel) else { return Vec::new() };
    shapes::names(kernel).into_iter().map(|name| KernelShape { kernel, name }).collect()
}

/// Uses a shape from now on, unless another is pinned. `false` if there is none of that name.
pub fn choose_shape(kernel: &str, name: &str) -> bool {
    shapes::choose(kernel, name)
}

/// The kind of processor that default shapes go by, and whether they come from a measurement on such a one.
pub fn processor() -> (&'static str, bool) {
    let processor = shapes::processor();
    (processor.name, processor.measured)
}

/// The name of the backend in use: `scalar`, `avx2`, `avxvnni`, `avx512`, `neon` or `neondot`.
pub fn backend() -> &'static str {
    simd::kernels().name()
}

/// Reads all bytes once, in order, as fast as the backend can, and returns their checksum.
///
/// This is the measure that a scan is held against: no scan of a matrix larger than the
/// caches can be faster. The checksum is the exclusive or of the little-endian 64-bit
/// words, the last one padded with zeros; it exists so that the reads cannot be
/// optimized away, and proves that every backend reads the same bytes.
pub fn read_pass(bytes: &[u8]) -> u64 {
    simd::kernels().read(bytes)
}
