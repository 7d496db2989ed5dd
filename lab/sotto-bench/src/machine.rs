//! The machine of a measurement: its facts, and its memory bandwidth.
//!
//! A linear-scan scheme can be no faster than reading its table, so every scan is reported as a
//! share of a plain read *in the same minute*: on a shared host the same read varies by a quarter.

mod bandwidth;
mod clock;
mod facts;
mod process;
mod scan;
mod shapes;

pub(crate) use bandwidth::Reader;
pub(crate) use clock::Clock;
pub use facts::MachineFacts;
pub(crate) use process::PeakMemory;
pub use scan::ScanRate;
pub(crate) use scan::rate as scan_rate;
pub use shapes::{KernelShapes, Shapes, Trial, machine as name};

use crate::{BenchError, Options};
use serde::Serialize;
use sotto_pages::{HugeBuffer, memory};
use std::io;

/// The memory bandwidth of a machine, and the share of it that the scan kernels reach.
#[derive(Debug, Clone, Serialize)]
pub struct MachineReport {
    /// Name and version of this format.
    pub format: &'static str,
    /// Facts of the machine.
    pub machine: MachineFacts,
    /// One line per buffer and number of threads.
    pub reads: Vec<ReadRate>,
    /// The shapes of kernels, chosen before the other measurements, which use them.
    pub shapes: Shapes,
    /// The scan kernels on one thread, each in turns with a plain read of the same bytes.
    pub scans: Vec<ScanRate>,
}

/// One measured read.
#[derive(Debug, Clone, Serialize)]
pub struct ReadRate {
    /// Name of the buffer.
    pub what: &'static str,
    /// Bytes read in one pass, all threads together.
    pub buffer_bytes: u64,
    /// The kind of pages of the buffer, where the system reports it.
    pub pages: Option<String>,
    /// Threads reading, each its own part.
    pub threads_count: usize,
    /// Median over the passes, in 10^9 bytes per second.
    pub read_gb_per_s: f64,
    /// Fastest pass.
    pub best_gb_per_s: f64,
}

/// Measures the memory bandwidth of this machine, with one thread and with more, and scans with
/// one.
///
/// # Errors
/// [`BenchError::Storage`] if memory is not available, [`BenchError::Threads`] if threads are not.
pub fn probe(options: &Options) -> Result<MachineReport, BenchError> {
    let machine = MachineFacts::of_this(options);
    let shapes = Shapes::measure()?;
    let passes = if options.quick { 5 } else { 15 };
    let large = memory_size(options);
    let small = machine.l2_bytes.unwrap_or(1 << 20) as usize / 2;
    let max = options.threads.unwrap_or(machine.cores_count).max(1);
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < max).collect();
    counts.push(max);

    let mut reads = Vec::new();
    let huge = touched(large)?;
    for threads in counts {
        let reader = Reader::new(threads)?;
        reads.push(reader.rate("memory, huge pages", &huge, passes));
    }
    let one = Reader::new(1)?;
    let scans = scan::rates(&one, &huge, passes);
    drop(huge);
    let plain = vec![1u8; large];
    reads.push(one.rate("memory, ordinary pages", &plain, passes));
    drop(plain);
    let cached = vec![1u8; small];
    reads.push(one.rate("second-level cache", &cached, passes * 2000));
    Ok(MachineReport { format: "sotto-machine/1", machine, reads, shapes, scans })
}

/// Memory on huge pages, all of it written: unwritten pages are all the one zero page, which would
/// be read from cache.
pub(crate) fn touched(bytes: usize) -> io::Result<HugeBuffer> {
    let mut buffer = HugeBuffer::zeroed(bytes)?;
    buffer.fill(0x5a);
    Ok(buffer)
}

/// Number of cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Bytes of a buffer that is far larger than any cache, and never a large share of free memory.
fn memory_size(options: &Options) -> usize {
    let size: u64 = if options.quick { 64 << 20 } else { 1 << 30 };
    let free = memory::available().unwrap_or(u64::MAX);
    size.min((free / 4).max(16 << 20)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_reads_with_one_thread_and_with_all() {
        let options = Options { quick: true, threads: Some(3), ..Options::default() };
        let report = probe(&options).unwrap();
        let threads: Vec<usize> = report.reads.iter().map(|r| r.threads_count).collect();
        assert_eq!(threads, [1, 2, 3, 1, 1]);
        assert!(report.reads.iter().all(|r| r.read_gb_per_s > 0.0 && r.best_gb_per_s >= r.read_gb_per_s));
        let scans: Vec<usize> = report.scans.iter().map(|s| s.queries_count).collect();
        assert_eq!(scans, [1, 2, 4, 8, 1]);
        assert!(report.scans.iter().all(|s| s.buffer_bytes > 0 && s.of_read_ratio > 0.0));
        assert_eq!(report.shapes.kernels.len(), 3);
        let text = report.table();
        assert!(report.shapes.kernels.iter().all(|kernel| text.contains(&kernel.shape)));
        assert!(text.contains("GB/s") && text.contains(&report.machine.kernels));
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(json["format"], "sotto-machine/1");
    }
}
