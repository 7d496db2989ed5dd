//! Kernels that go through memory, each in turns with a plain read of the same bytes.

use crate::machine::{Reader, scan_rate};
use crate::median::{in_turns, timed};
use crate::{BenchError, Options};
use sotto_math::bitslice::{self, GROUP, RUN_RECORDS, SelectionMatrices};
use sotto_math::gather::{PartitionRows, RowPicks, gather};
use sotto_math::machine::{KernelShape, all_shapes, try_shape};
use sotto_math::modulus::Modulus;
use sotto_math::tiles::{self, Selectors, TileLayout, WordFormat};
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
pub(super) const PRIME: u64 = 1125899904679937;

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
pub(super) fn quotient(of: Duration, over: Duration) -> f64 {
    of.as_nanos() as f64 / over.as_nanos().max(1) as f64
}
