//! How kernels go through memory: what a processor does best, as data.
//!
//! No shape changes what comes out, only how long it takes. Which is best is a matter of how a processor fetches ahead by
//! itself: Zen 4 reads a plain stream as fast as memory gives it, and each prefetch instruction takes a place in the queue of
//! its first cache that its own fetching needs; Zen 5 was measured to want them. So there is a small table for each kernel, a
//! default for each processor, and [`machine::try_shape`](crate::machine::try_shape) for a program that measures.
//!
//! | kernel | what its shape says |
//! |---|---|
//! | `scan` | planes in a bundle, groups in a block, how far ahead is fetched |
//! | `tiles` | queries in a bundle, what is fetched and where to |
//! | `select` | how far ahead is fetched, for few groups of queries and for many |

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Of the products of a matrix of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScanShape {
    /// Most planes in a bundle: 4 or 8.
    pub(crate) planes: usize,
    /// How many bytes ahead a lone bundle fetches, of up to three planes, of four, and of more; 0: not at all. The more
    /// planes, the longer a line takes, and the less far ahead is what the processor fetches by itself.
    pub(crate) ahead: [usize; 3],
    /// Groups in a block on which bundles take turns. This block, the next one and their share of the queries fit the first
    /// cache.
    pub(crate) block: usize,
    /// How many bytes beyond the end of a block the fetching of the next begins, where every bundle takes one turn.
    ///
    /// Why on Zen 5 the distance between what is fetched and what is read should be five lines more than a multiple of 16
    /// lines we cannot say. It matters in either place: for two queries 91 % of a plain read against 85 to 88 %, for one 93 %
    /// against 80 to 90 %.
    pub(crate) skew: usize,
}

/// Of the pass over tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TilesShape {
    /// Whether bundles are of two queries. Their sums leave registers for half the columns of a run, so that its lines are
    /// not read in the order of memory.
    pub(crate) pairs: bool,
    /// Whether a lone query fetches ahead of itself. Several always do.
    pub(crate) lone: bool,
    /// How many runs ahead is fetched: of 7 KiB each.
    pub(crate) runs: usize,
    /// Whether into the second cache, not the first.
    pub(crate) second: bool,
}

/// Of selected records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SelectShape {
    /// How many bytes ahead a tile of one or two groups fetches that goes through memory in order; 0: not at all.
    pub(crate) near: usize,
    /// The same for more groups.
    pub(crate) far: usize,
    /// Whether what tiles that take turns need next is fetched into the second cache, not the first.
    pub(crate) second: bool,
    /// Lines of sums while wide blocks pass by: of one group, and of two to four together.
    pub(crate) sums: [usize; 2],
}

/// One of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shapes {
    pub(crate) scan: ScanShape,
    pub(crate) tiles: TilesShape,
    pub(crate) select: SelectShape,
}

/// The shapes of a kernel, by their names.
pub(crate) type ShapeNames<T> = [(&'static str, T)];

pub(crate) const SCAN: &ShapeNames<ScanShape> = &[
    ("wide", ScanShape { planes: 8, ahead: [0, 101 * 64, 4096], block: 48, skew: 320 }),
    ("wide-fetched", ScanShape { planes: 8, ahead: [101 * 64, 101 * 64, 4096], block: 48, skew: 320 }),
    ("narrow-fetched", ScanShape { planes: 4, ahead: [101 * 64; 3], block: 48, skew: 320 }),
];

pub(crate) const TILES: &ShapeNames<TilesShape> = &[
    ("plain", TilesShape { pairs: false, lone: false, runs: 2, second: true }),
    ("fetched", TilesShape { pairs: true, lone: true, runs: 2, second: false }),
];

pub(crate) const SELECT: &ShapeNames<SelectShape> = &[
    ("plain", SelectShape { near: 0, far: 8192, second: true, sums: [256; 2] }),
    ("near", SelectShape { near: 4096, far: 8192, second: false, sums: [1024, 512] }),
];

/// Kernels that have shapes, and the names of these.
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

/// What was chosen while the program runs; [`NOTHING`] where the default holds.
static CHOSEN: [AtomicUsize; 3] = [const { AtomicUsize::new(NOTHING) }; 3];
const NOTHING: usize = usize::MAX;

/// The places in use: what was pinned, or else chosen, or else the processor's default.
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

/// Uses a shape from now on, unless one was pinned. `false` if there is no such shape.
pub(crate) fn choose(kernel: &str, name: &str) -> bool {
    let found = place(kernel, name);
    if let Some((kernel, place)) = found {
        CHOSEN[kernel].store(place, Ordering::Relaxed);
    }
    found.is_some()
}

/// Where a shape is: which kernel, and which of its shapes.
pub(crate) fn place(kernel: &str, name: &str) -> Option<(usize, usize)> {
    let place = names(kernel).iter().position(|known| *known == name)?;
    Some((KERNELS.iter().position(|known| *known == kernel)?, place))
}

/// What `SOTTO_SHAPES` pins: `scan=wide,tiles=plain`. What it names wrongly is not pinned.
fn pinned() -> [Option<usize>; 3] {
    let mut pinned = [None; 3];
    for pair in std::env::var("SOTTO_SHAPES").unwrap_or_default().split(',') {
        if let Some((kernel, at)) = pair.split_once('=').and_then(|(kernel, name)| place(kernel, name)) {
            pinned[kernel] = Some(at);
        }
    }
    pinned
}

/// A processor, and what is best for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Processor {
    pub(crate) name: &'static str,
    /// Whether its places come from a measurement; otherwise from what is known of the processor.
    pub(crate) measured: bool,
    /// Of the default in each kernel's table.
    pub(crate) places: [usize; 3],
}

/// Zen 4, measured on a guest of an EPYC: nothing that fetches is as fast as what does not.
const ZEN_4: Processor = Processor { name: "Zen 4", measured: true, places: [0, 0, 0] };
/// Zen 5, measured on a guest of an EPYC.
const ZEN_5: Processor = Processor { name: "Zen 5", measured: true, places: [2, 1, 1] };
/// Its first cache and its own fetching are those of Zen 4.
const ZEN_3: Processor = Processor { name: "Zen 3", measured: false, places: [0, 0, 0] };
/// Ten places in the queue of the first cache: as with Zen 4, they are better left to its own fetching.
const SKYLAKE: Processor = Processor { name: "Skylake-X", measured: false, places: [0, 0, 0] };
/// Twelve to sixteen places, and longer ways to memory: more than the processor's own fetching keeps busy.
const ICE_LAKE: Processor = Processor { name: "Ice Lake or later", measured: false, places: [1, 1, 1] };
/// Measured on a guest of a Xeon (model 207, Emerald Rapids): the pass over tiles takes 0.72 of the time where it fetches; the
/// scan and selections are as fast in every shape, within 4 %.
const SAPPHIRE: Processor = Processor { name: "Sapphire Rapids", measured: true, places: [1, 1, 1] };
const UNKNOWN: Processor = Processor { name: "unknown", measured: false, places: [1, 1, 1] };

/// The processor this runs on.
pub(crate) fn processor() -> Processor {
    known(vendor_family_model())
}

/// Families and models as Intel's and AMD's manuals number them.
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
    use core::arch::x86_64::__cpuid;
    let first = __cpuid(0);
    let vendor = [first.ebx, first.edx, first.ecx].map(u32::to_le_bytes);
    let vendor: &[u8] = match vendor.as_flattened() {
        b"AuthenticAMD" => b"AuthenticAMD",
        b"GenuineIntel" => b"GenuineIntel",
        _ => b"",
    };
    let signature = if first.eax > 0 { __cpuid(1).eax } else { 0 };
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
    fn processors_are_told_by_their_numbers() {
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
