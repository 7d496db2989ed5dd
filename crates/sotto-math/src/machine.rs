//! The kernels that this machine runs, their shapes, and its memory bandwidth.

use crate::bitslice::{self, RUN_RECORDS, SelectionMatrices};
use crate::matrix::{PanelLayout, QueryPlanes, scan};
use crate::modulus::Modulus;
use crate::simd::{kernels, shapes};
use crate::tiles::{self, Selectors, TileLayout, WordFormat};

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

/// The name of the backend in use: `scalar`, `avx2`, `avxvnni`, `avx512`, `amx`, `neon` or
/// `neondot`.
pub fn backend() -> &'static str {
    kernels().name()
}

/// Whether scans of byte matrices use tiles of bytes (AMX), which multiply the planes of some forty
/// queries in the time in which a core reads the matrix.
pub fn has_amx() -> bool {
    backend() == "amx"
}

/// Reads all bytes once, in order, as fast as the backend can, and returns their checksum.
///
/// A scan is compared with this time: no scan of a matrix larger than the caches can be faster. The
/// checksum is the exclusive or of the little-endian 64-bit words, the last one padded with zeros;
/// it keeps the reads from being optimized away, and proves that every backend reads the same
/// bytes.
pub fn read_pass(bytes: &[u8]) -> u64 {
    kernels().read(bytes)
}

/// Runs a kernel over `bytes` in one of its shapes, once for one query and once over their first
/// half for two, and returns a checksum, which is the same for all shapes of the kernel.
///
/// Bytes that do not fill a whole row of the kernel's data are ignored; 16 MiB are enough for each
/// kernel. The time does not depend on the contents, so zeros will do.
pub fn try_shape(shape: KernelShape, bytes: &[u8]) -> u64 {
    let Some((_, place)) = shapes::place(shape.kernel, shape.name) else { return 0 };
    let shapes = shapes::at([place; 3]);
    let half = &bytes[..bytes.len() / 2];
    match shape.kernel {
        "scan" => scans(&shapes.scan, bytes, 1) ^ scans(&shapes.scan, half, 2),
        "tiles" => tiles(shapes.tiles, bytes, 1) ^ tiles(shapes.tiles, half, 2),
        _ => select(&shapes.select, bytes, 1) ^ select(&shapes.select, half, 32),
    }
}

/// Columns of the matrix: 2 MiB for a panel, as in a table of one GiB.
const COLS: usize = 1 << 15;

fn scans(shape: &shapes::ScanShape, bytes: &[u8], queries: usize) -> u64 {
    let layout = PanelLayout::new(64, COLS);
    let panels = bytes.len() / layout.panel_bytes();
    let bytes = &bytes[..panels * layout.panel_bytes()];
    let query = QueryPlanes::from_u32(&vec![0x0102_0304; COLS], 4, &layout);
    let mut sums = vec![vec![0; panels * 64]; queries];
    let mut out: Vec<&mut [u32]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
    scan::scan_u32_with(kernels(), shape, bytes, &layout, &vec![&query; queries], &mut out);
    sums.iter().flatten().fold(0, |sum, word| sum ^ u64::from(*word))
}

fn tiles(shape: shapes::TilesShape, bytes: &[u8], queries: usize) -> u64 {
    // A modulus of 50 bits, two polynomials in a ciphertext, as the fastest sets of Spiral's
    // family.
    let (rows, cols, comps) = (512, 64, 2);
    let Some(form) = Modulus::new(Q).and_then(|q| WordFormat::new(&q)) else { return 0 };
    let Some(smallest) = TileLayout::new(form.packing(), 64, rows, cols) else { return 0 };
    let lines = bytes.len() / smallest.bytes() as usize * 64;
    let Some(layout) = TileLayout::new(form.packing(), lines, rows, cols) else { return 0 };
    let bytes = &bytes[..layout.bytes() as usize];
    let selectors = Selectors::new(&form, &layout, comps);
    let mut sums = vec![vec![0; lines * cols * comps]; queries];
    let mut out: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
    let queries = vec![&selectors; queries];
    tiles::scan::scan_with((kernels(), shape), &form, &layout, bytes, 0..layout.blocks(), &queries, &mut out);
    sums.iter().flatten().fold(0, |sum, word| sum ^ word)
}

/// A prime of 50 bits.
const Q: u64 = 1125899904679937;

/// Runs that a server makes selections for at a time.
const RUNS: usize = 512;

fn select(shape: &shapes::SelectShape, bytes: &[u8], queries: usize) -> u64 {
    let (record_bytes, groups) = (32, queries.div_ceil(bitslice::GROUP));
    let selections: Vec<SelectionMatrices> = vec![[0x0102_0408_1020_4080; 64]; RUNS * groups];
    let mut sums = vec![0; groups * record_bytes * 8];
    for turn in bytes.chunks_exact(RUNS * RUN_RECORDS * record_bytes) {
        bitslice::scan_with(kernels(), shape, turn, record_bytes, queries, &selections, &mut sums);
    }
    sums.as_chunks::<8>().0.iter().fold(0, |sum, word| sum ^ u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_a_kernel_gives_the_same() {
        let bytes: Vec<u8> = (0..18u32 << 20).map(|i| (i.wrapping_mul(2654435761) >> 27) as u8 & 3).collect();
        for kernel in ["scan", "tiles", "select"] {
            let shapes = all_shapes(kernel);
            let sums: Vec<u64> = shapes.iter().map(|shape| try_shape(*shape, &bytes)).collect();
            assert!(shapes.len() > 1 && sums.iter().all(|sum| *sum == sums[0]), "{shapes:?}: {sums:x?}");
        }
    }
}
