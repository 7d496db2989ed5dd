//! Shapes: the orders in which kernels access memory, as data, and the best ones of each processor.
//!
//! A shape changes only the time of a kernel, never its results. The best shape depends on the
//! processor's own prefetching: Zen 4 reads a plain stream as fast as memory delivers it, and each
//! prefetch instruction takes an entry in the queue of its first-level cache that its own
//! prefetching needs; Zen 5 was measured to need them. So there is a small table for each kernel, a
//! default for each processor, and [`machine::try_shape`](crate::machine::try_shape) for a program
//! that measures.
//!
//! | kernel | what its shape defines |
//! |---|---|
//! | `scan` | planes in a bundle, groups in a block, the distance of prefetches |
//! | `tiles` | queries in a bundle, what is prefetched and into which cache |
//! | `select` | the distance of prefetches, for few groups of queries and for many |

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Shape of the products of a matrix of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScanShape {
    /// Largest number of planes in a bundle, 4 to 8: of a lone query, and of several. Alone, one
    /// bundle reads memory in order; beside others it also loads query bytes more often.
    pub(crate) planes: [usize; 2],
    /// Number of bytes ahead that a lone bundle prefetches, for up to three planes, for four, and
    /// for more; 0: no prefetches. The more planes, the longer a line takes, and the less far ahead
    /// the processor prefetches by itself.
    pub(crate) ahead: [usize; 3],
    /// Groups in a block on which bundles take turns. This block, the next one and their share of
    /// the queries fit the first-level cache.
    pub(crate) block: usize,
    /// Number of bytes beyond the end of a block where prefetching of the next begins, if every
    /// bundle takes one turn.
    ///
    /// We cannot explain why on Zen 5 the distance between prefetches and reads should be five
    /// lines more than a multiple of 16 lines. It matters in either place: for two queries 91 % of
    /// a plain read against 85 to 88 %, for one 93 % against 80 to 90 %.
    pub(crate) skew: usize,
}

/// Shape of the pass over tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TilesShape {
    /// Whether bundles are of two queries. Their sums leave registers for half the columns of a
    /// run, so its lines are not read in the order of memory.
    pub(crate) pairs: bool,
    /// Whether a lone query prefetches for itself. Several always do.
    pub(crate) lone: bool,
    /// Number of runs ahead that are prefetched, of 7 KiB each.
    pub(crate) runs: usize,
    /// Whether prefetches go into the second-level cache instead of the first.
    pub(crate) second: bool,
}

/// Shape of the sum of selected records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SelectShape {
    /// Number of bytes ahead that a tile of one or two groups that reads memory in order
    /// prefetches; 0: no prefetches.
    pub(crate) near: usize,
    /// Number of bytes ahead that a tile of more groups that reads memory in order prefetches.
    pub(crate) far: usize,
    /// Whether tiles that take turns prefetch into the second-level cache instead of the first.
    pub(crate) second: bool,
    /// Lines of sums while wide blocks are read: of one group, and of two to four together.
    pub(crate) sums: [usize; 2],
}

/// One shape of each kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shapes {
    pub(crate) scan: ScanShape,
    pub(crate) tiles: TilesShape,
    pub(crate) select: SelectShape,
}

/// The shapes of a kernel, by their names.
pub(crate) type ShapeNames<T> = [(&'static str, T)];

pub(crate) const SCAN: &ShapeNames<ScanShape> = &[
    ("wide", ScanShape { planes: [8; 2], ahead: [0, 101 * 64, 4096], block: 48, skew: 320 }),
    ("wide-fetched", ScanShape { planes: [8; 2], ahead: [101 * 64, 101 * 64, 4096], block: 48, skew: 320 }),
    ("narrow-fetched", ScanShape { planes: [7, 4], ahead: [101 * 64; 3], block: 64, skew: 320 }),
];

pub(crate) const TILES: &ShapeNames<TilesShape> = &[
    ("plain", TilesShape { pairs: false, lone: false, runs: 2, second: true }),
    ("fetched", TilesShape { pairs: true, lone: true, runs: 2, second: false }),
];

pub(crate) const SELECT: &ShapeNames<SelectShape> = &[
    ("plain", SelectShape { near: 0, far: 8192, second: true, sums: [256; 2] }),
    ("near", SelectShape { near: 4096, far: 8192, second: false, sums: [1024, 512] }),
    ("distant", SelectShape { near: 10240, far: 8192, second: false, sums: [1024, 512] }),
];

/// The names of a kernel's shapes; empty for a kernel without shapes.
pub(crate) fn names(kernel: &str) -> Vec<&'static str> {
    fn of<T>(table: &ShapeNames<T>) -> Vec<&'static str> {
        table.iter().map(|(name, _)| *name).collect()
    }
    match kernel {
        "scan" => of(SCAN),
        "tiles" => of(TILES),
        "select" => of(SELECT),
        _ => Vec::new(),
    }
}

/// The kernels, in the order of all lists of places.
pub(crate) const KERNELS: [&str; 3] = ["scan", "tiles", "select"];

/// The shapes at these places.
pub(crate) fn at([scan, tiles, select]: [usize; 3]) -> Shapes {
    let scan = SCAN.get(scan).unwrap_or(&SCAN[0]).1;
    let tiles = TILES.get(tiles).unwrap_or(&TILES[0]).1;
    Shapes { scan, tiles, select: SELECT.get(select).unwrap_or(&SELECT[0]).1 }
}

/// The shapes chosen while the program runs; [`NOTHING`] where the default holds.
static CHOSEN: [AtomicUsize; 3] = [const { AtomicUsize::new(NOTHING) }; 3];
const NOTHING: usize = usize::MAX;

/// The shapes in use by number: pinned, or else chosen, or else the processor's default.
pub(crate) fn places() -> [usize; 3] {
    static FIXED: OnceLock<([Option<usize>; 3], [usize; 3])> = OnceLock::new();
    let (pinned, default) = FIXED.get_or_init(|| (pinned(), processor().places));
    std::array::from_fn(|i| match (pinned[i], CHOSEN[i].load(Ordering::Relaxed)) {
        (Some(place), _) => place,
        (None, NOTHING) => default[i],
        (None, place) => place,
    })
}

/// The shapes in use.
pub(crate) fn shapes() -> Shapes {
    at(places())
}

/// Uses a shape from now on, unless one was pinned. Returns `false` if there is no such shape.
pub(crate) fn choose(kernel: &str, name: &str) -> bool {
    let chosen = place(kernel, name);
    if let Some((kernel, place)) = chosen {
        CHOSEN[kernel].store(place, Ordering::Relaxed);
    }
    chosen.is_some()
}

/// Finds a shape: the numbers of its kernel and of the shape.
pub(crate) fn place(kernel: &str, name: &str) -> Option<(usize, usize)> {
    let place = names(kernel).iter().position(|known| *known == name)?;
    Some((KERNELS.iter().position(|known| *known == kernel)?, place))
}

/// The shapes that `SOTTO_SHAPES` pins: `scan=wide,tiles=plain`. Unknown names are ignored.
fn pinned() -> [Option<usize>; 3] {
    let mut pinned = [None; 3];
    for pair in std::env::var("SOTTO_SHAPES").unwrap_or_default().split(',') {
        if let Some((kernel, at)) = pair.split_once('=').and_then(|(kernel, name)| place(kernel, name)) {
            pinned[kernel] = Some(at);
        }
    }
    pinned
}

/// A processor, and its best shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Processor {
    pub(crate) name: &'static str,
    /// Whether its shapes come from a measurement; otherwise from what is known of the processor.
    pub(crate) measured: bool,
    /// Number of the default shape in each kernel's table.
    pub(crate) places: [usize; 3],
}

/// Zen 4, measured on a guest of an EPYC: shapes without prefetches are the fastest.
const ZEN_4: Processor = Processor { name: "Zen 4", measured: true, places: [0, 0, 0] };
/// Zen 5, measured on a guest of an EPYC. Selections by one query from a table of 32 MiB, the size
/// of the last-level cache, take 0.8 of the time that they take with prefetches 4 KiB ahead; from
/// memory, the same within 4 %.
const ZEN_5: Processor = Processor { name: "Zen 5", measured: true, places: [2, 1, 2] };
/// Zen 3, whose first-level cache and own prefetching are those of Zen 4.
const ZEN_3: Processor = Processor { name: "Zen 3", measured: false, places: [0, 0, 0] };
/// Skylake-X, with ten entries in the queue of the first-level cache: as with Zen 4, they are
/// better left to its own prefetching.
const SKYLAKE: Processor = Processor { name: "Skylake-X", measured: false, places: [0, 0, 0] };
/// Ice Lake and later, with twelve to sixteen entries and longer latencies of memory: more than the
/// processor's own prefetching keeps busy.
const ICE_LAKE: Processor = Processor { name: "Ice Lake or later", measured: false, places: [1, 1, 1] };
/// Sapphire Rapids, measured on a guest of a Xeon (model 207, Emerald Rapids): the pass over tiles
/// takes 0.72 of the time with prefetches; the scan and selections are as fast in every shape,
/// within 4 %.
const SAPPHIRE: Processor = Processor { name: "Sapphire Rapids", measured: true, places: [1, 1, 1] };
const UNKNOWN: Processor = Processor { name: "unknown", measured: false, places: [1, 1, 1] };

/// Detects the processor.
pub(crate) fn processor() -> Processor {
    known(vendor_family_model())
}

/// Finds the processor by family and model, as Intel's and AMD's manuals number them.
fn known((vendor, family, model): (&[u8], u32, u32)) -> Processor {
    match (vendor, family, model) {
        (b"AuthenticAMD", 0x19, 0x10..=0x1F | 0x60..=0xAF) => ZEN_4,
        (b"AuthenticAMD", 0x19, _) => ZEN_3,
        (b"AuthenticAMD", 0x1A.., _) => ZEN_5,
        (b"GenuineIntel", 6, 0x55) => SKYLAKE,
        (b"GenuineIntel", 6, 0x8F | 0xCF) => SAPPHIRE,
        (b"GenuineIntel", 6, 0x6A..) => ICE_LAKE,
        _ => UNKNOWN,
    }
}

#[cfg(target_arch = "x86_64")]
fn vendor_family_model() -> (&'static [u8], u32, u32) {
    // SAFETY: every processor of this architecture has the instruction.
    #[allow(unused_unsafe, reason = "safe to call in newer versions of Rust")]
    let cpuid = |leaf| unsafe { core::arch::x86_64::__cpuid(leaf) };
    let first = cpuid(0);
    let vendor = [first.ebx, first.edx, first.ecx].map(u32::to_le_bytes);
    let vendor: &[u8] = match vendor.as_flattened() {
        b"AuthenticAMD" => b"AuthenticAMD",
        b"GenuineIntel" => b"GenuineIntel",
        _ => b"",
    };
    let signature = if first.eax > 0 { cpuid(1).eax } else { 0 };
    let family = (signature >> 8 & 0xF) + (signature >> 20 & 0xFF);
    (vendor, family, (signature >> 4 & 0xF) | (signature >> 12 & 0xF0))
}

#[cfg(not(target_arch = "x86_64"))]
fn vendor_family_model() -> (&'static [u8], u32, u32) {
    (b"", 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_identified_by_family_and_model() {
        let name = |vendor: &[u8], family, model| known((vendor, family, model)).name;
        assert_eq!(name(b"AuthenticAMD", 0x19, 0x11), "Zen 4");
        assert_eq!(name(b"AuthenticAMD", 0x19, 0x61), "Zen 4");
        assert_eq!(name(b"AuthenticAMD", 0x19, 0x01), "Zen 3");
        assert_eq!(name(b"AuthenticAMD", 0x19, 0x50), "Zen 3");
        assert_eq!(name(b"AuthenticAMD", 0x1A, 0x02), "Zen 5");
        assert_eq!(name(b"GenuineIntel", 6, 0x55), "Skylake-X");
        assert_eq!(name(b"GenuineIntel", 6, 0x8F), "Sapphire Rapids");
        assert_eq!(name(b"GenuineIntel", 6, 0xCF), "Sapphire Rapids");
        assert_eq!(name(b"GenuineIntel", 6, 0x6A), "Ice Lake or later");
        assert_eq!(name(b"AuthenticAMD", 0x17, 0x31), "unknown");
        assert_eq!(name(b"", 0, 0), "unknown");
    }

    #[test]
    fn every_processor_has_shapes_that_exist() {
        for known in [ZEN_3, ZEN_4, ZEN_5, SKYLAKE, ICE_LAKE, SAPPHIRE, UNKNOWN] {
            for (kernel, place) in KERNELS.iter().zip(known.places) {
                assert!(place < names(kernel).len(), "{} {kernel}", known.name);
            }
        }
        assert_eq!(place("tiles", "fetched"), Some((1, 1)));
        assert_eq!(place("tiles", "wide"), None);
        assert!(!choose("gauss", "wide"));
    }
}
