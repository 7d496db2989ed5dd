//! The kernels that answer linear-scan queries, against a plain read of the same bytes: what a scheme could
//! reach at best, apart from everything around its scan.

use super::Reader;
use crate::median::Samples;
use serde::Serialize;
use sotto_core::Sure;
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_planes, scan_u32};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Columns of the matrix: the square of them is a GiB, the size the goals speak of.
const COLUMNS: usize = 32_768;

/// Planes of a 56-bit word, the widest modulus that schemes here scan with.
const WIDE_PLANES: usize = 7;

/// One kernel, in turns with a plain read.
#[derive(Debug, Clone, Serialize)]
pub struct ScanRate {
    /// Which kernel.
    pub what: &'static str,
    /// Queries answered in one pass.
    pub queries_count: usize,
    /// Bytes scanned in one pass.
    pub buffer_bytes: u64,
    /// Median of the passes: bytes scanned per second, however many queries.
    pub scan_gb_per_s: f64,
    /// Median of the plain reads between them.
    pub read_gb_per_s: f64,
    /// Their quotient.
    pub of_read_ratio: f64,
}

/// Scans `memory` as a byte matrix, for several numbers of queries and two widths of words.
pub(super) fn rates(reader: &Reader, memory: &[u8], passes: usize) -> Vec<ScanRate> {
    let layout = PanelLayout::new(memory.len() / COLUMNS / 64 * 64, COLUMNS);
    let panels = memory.get(..layout.bytes()).sure("the layout was made for this memory");
    // What the words are does not matter to the time; that they differ keeps the kernel honest.
    let words =
        |i: usize| (0..COLUMNS as u64).map(move |c| (c + i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut rates = Vec::new();
    for queries in [1, 2, 4, 8] {
        let narrow = |i| words(i).map(|word| (word >> 32) as u32).collect::<Vec<u32>>();
        let planes: Vec<QueryPlanes> =
            (0..queries).map(|i| QueryPlanes::from_u32(&narrow(i), 4, &layout)).collect();
        let mut sums = vec![vec![0u32; layout.padded_rows()]; queries];
        rates.push(in_turns(reader, panels, passes, ("32-bit words", queries), || {
            let mut out: Vec<&mut [u32]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
            scan_u32(panels, &layout, &planes.iter().collect::<Vec<_>>(), &mut out);
            black_box(&sums);
        }));
    }
    let wide = QueryPlanes::from_u64(&words(0).collect::<Vec<u64>>(), WIDE_PLANES, &layout);
    let mut sums = vec![0i64; layout.padded_rows() * WIDE_PLANES];
    rates.push(in_turns(reader, panels, passes, ("56-bit words", 1), || {
        scan_planes(panels, &layout, &[&wide], &mut [sums.as_mut_slice()]);
        black_box(&sums);
    }));
    rates
}

fn in_turns(
    reader: &Reader,
    bytes: &[u8],
    passes: usize,
    (what, queries_count): (&'static str, usize),
    mut scan: impl FnMut(),
) -> ScanRate {
    let (mut scans, mut reads) = (Samples::default(), Samples::default());
    scan();
    for _ in 0..passes {
        let start = Instant::now();
        scan();
        scans.push(start.elapsed());
        reads.push(reader.pass(bytes));
    }
    let rate = |time: Duration| bytes.len() as f64 / time.as_nanos().max(1) as f64;
    let (scan_gb_per_s, read_gb_per_s) = (rate(scans.median()), rate(reads.median()));
    let of_read_ratio = scan_gb_per_s / read_gb_per_s;
    ScanRate {
        what,
        queries_count,
        buffer_bytes: bytes.len() as u64,
        scan_gb_per_s,
        read_gb_per_s,
        of_read_ratio,
    }
}
