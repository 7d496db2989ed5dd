//! Plain read passes over memory, with a given number of threads; and the kernels that answer
//! linear-scan queries, compared with a plain read of the same bytes: the upper limit of a scheme,
//! apart from everything around its scan.

use super::ReadRate;
use crate::BenchError;
use crate::timing::{Samples, in_turns};
use rayon::prelude::*;
use serde::Serialize;
use sotto_core::ExpectOrDefault;
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_planes, scan_u32};
use sotto_pages::pages_of;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Reads memory with a pool of its own, which is also the pool a measured server runs in.
pub(crate) struct Reader {
    pool: rayon::ThreadPool,
    threads: usize,
}

impl Reader {
    pub(crate) fn new(threads: usize) -> Result<Self, BenchError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("bench-{i}"))
            .build()
            .map_err(|why| BenchError::Threads { threads, why: why.to_string() })?;
        Ok(Reader { pool, threads })
    }

    /// Runs `work` in the pool.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }

    /// One pass over `bytes`: each thread reads one contiguous part, front to back.
    pub(crate) fn pass(&self, bytes: &[u8]) -> Duration {
        let part = bytes.len().div_ceil(self.threads).next_multiple_of(64).max(64);
        self.pool.install(|| {
            let start = Instant::now();
            let sum = if self.threads == 1 {
                sotto_math::machine::read_pass(bytes)
            } else {
                bytes.par_chunks(part).map(sotto_math::machine::read_pass).reduce(|| 0, u64::wrapping_add)
            };
            black_box(sum);
            start.elapsed()
        })
    }

    /// Median and best rate of `passes` passes, after one that is not counted.
    pub(super) fn rate(&self, what: &'static str, bytes: &[u8], passes: usize) -> ReadRate {
        self.pass(bytes);
        let mut samples = Samples::default();
        (0..passes).for_each(|_| samples.push(self.pass(bytes)));
        let size = bytes.len() as f64;
        ReadRate {
            what,
            buffer_bytes: bytes.len() as u64,
            pages: pages_of(bytes).and_then(|pages| pages.kind()).map(|kind| kind.to_string()),
            threads_count: self.threads,
            read_gb_per_s: size / samples.median().as_nanos().max(1) as f64,
            best_gb_per_s: size / samples.min().as_nanos().max(1) as f64,
        }
    }
}

/// Columns of the matrix: their square is a GiB, the size of the performance goals.
const COLUMNS: usize = 32_768;

/// Planes of a 56-bit word, the widest modulus that schemes here scan with.
const WIDE_PLANES: usize = 7;

/// One kernel, in turns with a plain read.
#[derive(Debug, Clone, Serialize)]
pub struct ScanRate {
    /// Name of the kernel.
    pub what: String,
    /// Queries answered in one pass.
    pub queries_count: usize,
    /// Bytes scanned in one pass.
    pub buffer_bytes: u64,
    /// Median of the passes: bytes scanned per second, however many queries.
    pub scan_gb_per_s: f64,
    /// Median of the plain reads between them.
    pub read_gb_per_s: f64,
    /// Scan rate over read rate.
    pub of_read_ratio: f64,
}

/// Scans `memory` as a byte matrix, for several numbers of queries and two widths of words.
pub(super) fn rates(reader: &Reader, memory: &[u8], passes: usize) -> Vec<ScanRate> {
    let scans = [(4, 1), (4, 2), (4, 4), (4, 8), (WIDE_PLANES, 1)];
    scans.map(|(planes, queries)| rate(reader, memory, passes, planes, queries)).to_vec()
}

/// Scans memory for some queries, whose words have `planes` byte planes.
pub(crate) fn rate(
    reader: &Reader,
    memory: &[u8],
    passes: usize,
    planes: usize,
    queries_count: usize,
) -> ScanRate {
    let layout = PanelLayout::new(memory.len() / COLUMNS / 64 * 64, COLUMNS);
    let panels = memory.get(..layout.bytes()).expect_or_default("the layout was made for this memory");
    // The values of the words do not affect the time; that they differ keeps the kernel honest.
    let words = |i: usize| -> Vec<u64> {
        (0..COLUMNS as u64).map(|c| (c + i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8).collect()
    };
    let queries: Vec<QueryPlanes> =
        (0..queries_count).map(|i| QueryPlanes::from_u64(&words(i), planes, &layout)).collect();
    let queries: Vec<&QueryPlanes> = queries.iter().collect();
    let read = || reader.pass(panels);
    let (scan, read) = if planes <= 4 {
        let mut sums = vec![vec![0u32; layout.padded_rows()]; queries_count];
        let scan = || {
            let mut out: Vec<&mut [u32]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
            scan_u32(panels, &layout, &queries, &mut out);
            black_box(&sums);
        };
        in_turns(passes, scan, read)
    } else {
        let mut sums = vec![vec![0i64; layout.padded_rows() * planes]; queries_count];
        let scan = || {
            let mut out: Vec<&mut [i64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
            scan_planes(panels, &layout, &queries, &mut out);
            black_box(&sums);
        };
        in_turns(passes, scan, read)
    };
    let rate = |time: Duration| panels.len() as f64 / time.as_nanos().max(1) as f64;
    ScanRate {
        what: format!("{}-bit words", 8 * planes),
        queries_count,
        buffer_bytes: panels.len() as u64,
        scan_gb_per_s: rate(scan),
        read_gb_per_s: rate(read),
        of_read_ratio: rate(scan) / rate(read),
    }
}
