//! Kernels over memory, each in turns with a plain read of the same bytes; and kernels on data in
//! the caches, in turns with a plain read of as many bytes there, or with another kernel.

use crate::machine::{Reader, scan_rate};
use crate::timing::{in_turns, timed};
use crate::{BenchError, Options};
use sotto_math::aes::{Aes, double};
use sotto_math::bitslice::{GROUP, RUN_RECORDS, SelectionMatrices};
use sotto_math::gather::{PartitionRows, RowPicks, gather};
use sotto_math::machine::{KernelShape, all_shapes, read_pass, try_shape};
use sotto_math::modulus::Modulus;
use sotto_math::ntt::NttPlan;
use sotto_math::rader::{RaderPlan, WORDS};
use sotto_math::tiles::{Selectors, TileLayout, WordFormat};
use sotto_math::{bitslice, tiles};
use sotto_pages::{HugeBuffer, PageKind, pages_of};
use std::hint::black_box;
use std::time::Duration;

/// A kernel over memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kernel {
    /// A byte matrix times words of `planes` planes.
    Scan { planes: usize, queries: usize },
    /// Polynomials times selectors.
    Tiles { queries: usize },
    /// Records in bit slices, selected by bits.
    Select { queries: usize },
    /// Sums of a row of each partition.
    Gather,
    /// The default shape of a kernel, against the best of all its shapes.
    DefaultShape { kernel: &'static str },
}

/// A prime of 50 bits.
const PRIME: u64 = 1125899904679937;

/// Bytes of a record or row, for kernels that have them.
const RECORD: usize = 32;

/// The memory that kernels process, and its plain reader.
pub(super) struct ScanMemory {
    pub(super) reader: Reader,
    bytes: HugeBuffer,
    turns: usize,
}

impl ScanMemory {
    /// Memory that is larger than most last-level caches.
    pub(super) fn new(options: &Options) -> Result<Self, BenchError> {
        let mut bytes = HugeBuffer::zeroed(if options.quick { 64 << 20 } else { 256 << 20 })?;
        // Memory is written, since unwritten pages are all the one zero page. It is zeros, since
        // some kernels take only reduced words.
        bytes.fill(0);
        Ok(ScanMemory { reader: Reader::new(1)?, bytes, turns: if options.quick { 3 } else { 11 } })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn huge_pages(&self) -> bool {
        pages_of(&self.bytes).and_then(|pages| pages.kind()) == Some(PageKind::Huge)
    }

    /// The kernel's speed relative to a plain read; `None` if there is no such kernel.
    pub(super) fn ratio(&self, kernel: Kernel, defaults: &[KernelShape]) -> Option<f64> {
        // Both run within the reader's only thread, and so on one core.
        self.reader.install(|| match kernel {
            Kernel::Scan { planes, queries } => {
                Some(scan_rate(&self.reader, &self.bytes, self.turns, planes, queries).of_read_ratio)
            }
            Kernel::Tiles { queries } => self.tiles(queries),
            Kernel::Select { queries } => Some(self.select(queries)),
            Kernel::Gather => Some(self.gather()),
            Kernel::DefaultShape { kernel } => {
                self.shape(defaults.iter().find(|shape| shape.kernel == kernel)?)
            }
        })
    }

    fn against_read(&self, bytes: &[u8], work: impl FnMut()) -> f64 {
        let (work, read) = in_turns(self.turns, work, || self.reader.pass(bytes));
        quotient(read, work)
    }

    fn tiles(&self, queries: usize) -> Option<f64> {
        // Two polynomials to a ciphertext: what the fastest sets of Spiral's family have.
        let (rows, cols, comps) = (512, 64, 2);
        let form = WordFormat::new(&Modulus::new(PRIME)?)?;
        let smallest = TileLayout::new(form.packing(), 64, rows, cols)?;
        let lines = self.bytes.len() / usize::try_from(smallest.bytes()).ok()? * 64;
        let layout = TileLayout::new(form.packing(), lines, rows, cols)?;
        let bytes = self.bytes.get(..usize::try_from(layout.bytes()).ok()?)?;
        let selectors = Selectors::new(&form, &layout, comps);
        let mut sums = vec![vec![0; lines * cols * comps]; queries];
        let queries = vec![&selectors; queries];
        Some(self.against_read(bytes, || {
            let mut out: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
            tiles::scan(&form, &layout, bytes, 0..layout.blocks(), &queries, &mut out);
            black_box(&sums);
        }))
    }

    fn select(&self, queries: usize) -> f64 {
        // As many runs as a server makes selections for at a time.
        let (runs, groups) = (512, queries.div_ceil(GROUP));
        let selections: Vec<SelectionMatrices> = vec![[0x0102_0408_1020_4080; 64]; runs * groups];
        let mut sums = vec![0; groups * RECORD * 8];
        self.against_read(&self.bytes, || {
            for turn in self.bytes.chunks_exact(runs * RUN_RECORDS * RECORD) {
                bitslice::scan(turn, RECORD, queries, &selections, &mut sums);
            }
            black_box(&sums);
        })
    }

    fn gather(&self) -> f64 {
        let partition_rows = 2048;
        let partitions = self.bytes.len() / (partition_rows * RECORD);
        // The reads between empty the caches, so that the same rows can be taken again.
        let offsets: Vec<u16> =
            (0..partitions as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16).collect();
        let halves = vec![0x5a; partitions.div_ceil(8)];
        let rows = PartitionRows { bytes: &self.bytes, row_bytes: RECORD, partition_rows };
        let (mut zero, mut one) = ([0; RECORD], [0; RECORD]);
        self.against_read(&self.bytes, || {
            gather(rows, RowPicks { offsets: &offsets, halves: &halves }, [&mut zero, &mut one]);
            black_box((&zero, &one));
        })
    }

    fn shape(&self, default: &KernelShape) -> Option<f64> {
        let shapes = all_shapes(default.kernel);
        let mut times = vec![Duration::MAX; shapes.len()];
        for _ in 0..self.turns {
            for (shape, best) in shapes.iter().zip(&mut times) {
                let took = timed(|| _ = black_box(try_shape(*shape, &self.bytes)));
                *best = took.min(*best);
            }
        }
        let of_default = shapes.iter().zip(&times).find(|(shape, _)| *shape == default)?.1;
        Some(quotient(*times.iter().min()?, *of_default))
    }
}

/// The quotient of two times.
fn quotient(of: Duration, over: Duration) -> f64 {
    of.as_nanos() as f64 / over.as_nanos().max(1) as f64
}

/// A kernel in the caches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CachedKernel {
    /// The transform of `n` values, modulo a prime of 50 bits.
    Forward { n: usize },
    /// The inverse transform of `n` values.
    Inverse { n: usize },
    /// The transform of 8191, against that of 16384 modulo the same prime.
    Rader,
    /// AES under one key, of a counter.
    Aes,
    /// A level of a tree of seeds.
    Double,
}

/// Blocks of AES: 16 KiB.
const BLOCKS: usize = 1024;

/// A prime that is 1 modulo 8191 and 32768.
const BOTH: u64 = 1115595642470401;

/// The kernel's speed relative to its reference; `None` if it has no tables for its numbers.
///
/// `bytes` are the read data, whose first bytes soon are in the cache.
pub(super) fn cached_ratio(kernel: CachedKernel, bytes: &[u8], quick: bool) -> Option<f64> {
    let (turns, repeat) = if quick { (3, 20) } else { (41, 200) };
    let against = ReadBaseline { bytes, turns, repeat };
    match kernel {
        CachedKernel::Forward { n } | CachedKernel::Inverse { n } => {
            let plan = NttPlan::new(n, Modulus::new(PRIME)?)?;
            let mut buffer = vec![0; n + LINE_WORDS];
            let x = aligned(&mut buffer, n)?;
            match kernel {
                CachedKernel::Forward { .. } => against.read(n * 8, || plan.forward(black_box(&mut *x))),
                _ => against.read(n * 8, || plan.inverse(black_box(&mut *x))),
            }
        }
        CachedKernel::Rader => {
            let q = Modulus::new(BOTH)?;
            let (plan, long) = (RaderPlan::new(q)?, NttPlan::new(16384, q)?);
            let (mut short_words, mut long_words) =
                (vec![0; WORDS + LINE_WORDS], vec![0; 16384 + LINE_WORDS]);
            let (x, y) = (aligned(&mut short_words, WORDS)?, aligned(&mut long_words, 16384)?);
            Some(against.other(|| plan.forward(black_box(&mut *x)), || long.forward(black_box(&mut *y))))
        }
        CachedKernel::Aes => {
            let (key, mut out) = (Aes::new(&[1; 16]), vec![[0; 16]; BLOCKS]);
            let mut at = 0;
            against.read(BLOCKS * 16, || {
                key.grid(at, BLOCKS, 0, 1, black_box(&mut out));
                at += BLOCKS as u64;
            })
        }
        CachedKernel::Double => {
            let (keys, seeds) = ([Aes::new(&[1; 16]), Aes::new(&[2; 16])], vec![[3; 16]; BLOCKS / 2]);
            let mut out = vec![[0; 16]; BLOCKS];
            let [left, right] = &keys;
            against.read(BLOCKS * 16, || double(left, right, black_box(&seeds), black_box(&mut out)))
        }
    }
}

/// Words of a line of the cache.
const LINE_WORDS: usize = 8;

/// Words that begin at a cache line: otherwise the alignment would depend on the allocator, and the
/// ratio on the run.
fn aligned(buffer: &mut [u64], words: usize) -> Option<&mut [u64]> {
    let at = buffer.as_ptr().align_offset(8 * LINE_WORDS);
    buffer.get_mut(at..)?.get_mut(..words)
}

/// The data to read, the number of measurements, and the number of runs between two readings of the
/// clock.
struct ReadBaseline<'a> {
    bytes: &'a [u8],
    turns: usize,
    repeat: usize,
}

impl ReadBaseline<'_> {
    /// The ratio to a read of `bytes` bytes, as many as the kernel processes.
    fn read(&self, bytes: usize, work: impl FnMut()) -> Option<f64> {
        let bytes = self.bytes.get(..bytes)?;
        Some(self.other(work, || _ = black_box(read_pass(black_box(bytes)))))
    }

    fn other(&self, mut work: impl FnMut(), mut other: impl FnMut()) -> f64 {
        let works = || (0..self.repeat).for_each(|_| work());
        let others = || timed(|| (0..self.repeat).for_each(|_| other()));
        let (work, other) = in_turns(self.turns, works, others);
        quotient(other, work)
    }
}
