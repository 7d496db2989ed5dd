//! The kernels that answer linear-scan queries, compared with a plain read of the same bytes: the
//! upper limit of a scheme, apart from everything around its scan.

use super::Reader;
use crate::median::in_turns;
use serde::Serialize;
use sotto_core::ExpectOrDefault;
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_planes, scan_u32};
use std::hint::black_box;
use std::time::Duration;

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
