//! The kernels that this machine runs, their shapes, and its memory bandwidth.

mod trial;

use crate::simd::{self, shapes};
pub use trial::try_shape;

/// The order in which a kernel accesses memory. All of a kernel's shapes give the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelShape {
    /// Name of the kernel: `scan`, `tiles` or `select`.
    pub kernel: &'static str,
    /// Name of the shape, one of the kernel's own.
    pub name: &'static str,
}

/// The shapes in use, one for each kernel that has any.
///
/// `SOTTO_SHAPES=scan=wide,tiles=plain` in the environment pins them; otherwise a shape is the last
/// one given to [`choose_shape`], or the [`processor`]'s default.
pub fn shapes() -> Vec<KernelShape> {
    let places = shapes::KERNELS.iter().zip(shapes::places());
    places.filter_map(|(kernel, place)| all_shapes(kernel).get(place).copied()).collect()
}

/// The default shapes of the [`processor`], one for each kernel that has any.
pub fn default_shapes() -> Vec<KernelShape> {
    let places = shapes::KERNELS.iter().zip(shapes::processor().places);
    places.filter_map(|(kernel, place)| all_shapes(kernel).get(place).copied()).collect()
}

/// All shapes of a kernel.
pub fn all_shapes(kernel: &str) -> Vec<KernelShape> {
    let Some(kernel) = shapes::KERNELS.iter().find(|known| **known == kernel) else { return Vec::new() };
    shapes::names(kernel).into_iter().map(|name| KernelShape { kernel, name }).collect()
}

/// Uses a shape from now on, unless another is pinned. Returns `false` if there is none of that
/// name.
pub fn choose_shape(kernel: &str, name: &str) -> bool {
    shapes::choose(kernel, name)
}

/// The kind of processor that determines default shapes, and whether they are from a measurement on
/// such a one.
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
/// A scan is compared with this time: no scan of a matrix larger than the caches can be faster. The
/// checksum is the exclusive or of the little-endian 64-bit words, the last one padded with zeros;
/// it keeps the reads from being optimized away, and proves that every backend reads the same
/// bytes.
pub fn read_pass(bytes: &[u8]) -> u64 {
    simd::kernels().read(bytes)
}
