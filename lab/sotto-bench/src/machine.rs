//! The machine of a measurement: its facts, its memory bandwidth, and the memory of this process.
//!
//! A linear-scan scheme can be no faster than reading its table, so every scan is reported as a
//! share of a plain read *in the same minute*: on a shared host the same read varies by a quarter.

mod shapes;

pub use shapes::{KernelShapes, Shapes, Trial, machine as name};

use crate::timing::{Clock, Samples, in_turns, ns};
use crate::{BenchError, Options};
use rayon::prelude::*;
use serde::Serialize;
use sotto_core::ExpectOrDefault;
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_planes, scan_u32};
use sotto_pages::memory::{peak_resident, resident};
use sotto_pages::{HugeBuffer, memory, pages_of};
use sotto_plan::calibration::MemorySample;
use std::fs;
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The memory bandwidth of a machine, and the share of it that the scan kernels reach.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
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
    let scans = rates(&one, &huge, passes);
    drop(huge);
    let plain = vec![1u8; large];
    reads.push(one.rate("memory, ordinary pages", &plain, passes));
    drop(plain);
    let cached = vec![1u8; small];
    reads.push(one.rate("second-level cache", &cached, passes * 2000));
    Ok(MachineReport { format: "sotto-machine/1", machine, reads, shapes, scans })
}

/// Bytes of the buffers whose reading a calibration times: within the first caches, to far beyond the
/// last.
const READ_BYTES: [usize; 5] = [1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20];

/// Time for repeated reads of a buffer, of which the shortest counts.
const READ_TIME: Duration = Duration::from_millis(40);

/// Measures reads of memory for a calibration; those of buffers that would be a large share of free
/// memory are omitted.
///
/// # Errors
/// [`BenchError::Storage`] if memory is not available, [`BenchError::Threads`] if threads are not.
pub(crate) fn memory_samples(options: &Options, threads: usize) -> Result<Vec<MemorySample>, BenchError> {
    let [.., largest] = READ_BYTES;
    let buffer = touched(memory_size(options).min(largest))?;
    let [one, all] = [Reader::new(1)?, Reader::new(threads)?];
    let shortest = |reader: &Reader, clock: Clock, bytes: &[u8]| {
        let (mut times, start) = (Samples::default(), Instant::now());
        while times.len() < 2 || start.elapsed() < READ_TIME {
            let watch = clock.start();
            reader.pass(bytes);
            times.push(watch.elapsed());
        }
        ns(times.min())
    };
    let sample = |size: &usize| {
        let bytes = buffer.get(..*size)?;
        let read_ns = shortest(&one, Clock::Processor, bytes);
        let threads_ns = if threads == 1 { read_ns } else { shortest(&all, Clock::Wall, bytes) };
        Some(MemorySample { bytes: *size as u64, read_ns, threads_ns })
    };
    Ok(READ_BYTES.iter().filter_map(sample).collect())
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

/// The machine and the date of a measurement.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct MachineFacts {
    /// The processor's own name.
    pub cpu: String,
    /// Processor cores this process may use.
    pub cores_count: usize,
    /// Kernels that were chosen at run time.
    pub kernels: String,
    /// Bytes of main memory, where the system reports them.
    pub memory_bytes: Option<u64>,
    /// Bytes of second-level cache per core, where the system reports them.
    pub l2_bytes: Option<u64>,
    /// Operating system and architecture.
    pub system: String,
    /// Commit the program was built from, if the caller knows it.
    pub commit: Option<String>,
    /// Version of this crate.
    pub version: &'static str,
    /// Whether the program was built with optimization; figures of an unoptimized build mean nothing.
    pub optimized: bool,
    /// Day of the measurement, UTC.
    pub date: String,
}

impl MachineFacts {
    /// The facts of this machine, now.
    pub fn of_this(options: &Options) -> Self {
        MachineFacts {
            cpu: cpu().unwrap_or_else(|| format!("unknown {}", std::env::consts::ARCH)),
            cores_count: std::thread::available_parallelism().map_or(1, usize::from),
            kernels: sotto_math::machine::backend().to_owned(),
            memory_bytes: sotto_pages::memory::total(),
            l2_bytes: l2(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            commit: options.commit.clone(),
            version: env!("CARGO_PKG_VERSION"),
            optimized: !cfg!(debug_assertions),
            date: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or_else(|_| "unknown".into(), |d| day(d.as_secs())),
        }
    }

    /// The facts in one line for people.
    pub fn line(&self) -> String {
        let memory = self
            .memory_bytes
            .map_or(String::new(), |b| format!(", {:.0} GiB", b as f64 / (1u64 << 30) as f64));
        let commit = self.commit.as_deref().map_or(String::new(), |c| format!(", commit {c}"));
        let warning = if self.optimized { "" } else { ", UNOPTIMIZED BUILD: figures are meaningless" };
        format!(
            "{}, {} cores{memory}, {} kernels, {}, sotto {}{commit}, {}{warning}",
            self.cpu, self.cores_count, self.kernels, self.system, self.version, self.date
        )
    }
}

fn cpu() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    // A guest often hides the model's name; family and model number then still tell the generation.
    let numbers = field("cpu family").zip(field("model")).map(|(f, m)| format!(" (family {f} model {m})"));
    Some(field("model name")? + &numbers.unwrap_or_default())
}

fn l2() -> Option<u64> {
    let text = fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size").ok()?;
    let (number, unit) = text.trim().split_at_checked(text.trim().len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    match unit {
        "K" => Some(number << 10),
        "M" => Some(number << 20),
        _ => None,
    }
}

/// The day of a Unix time, by Howard Hinnant's `civil_from_days`.
fn day(seconds: u64) -> String {
    let z = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Watches memory growth since the watch began.
pub(crate) struct PeakMemory(Option<u64>);

impl PeakMemory {
    /// Begins a watch.
    pub(crate) fn watch() -> Self {
        // "5" resets the high-water mark (proc_pid_clear_refs(5)). Where that is forbidden an older, higher
        // mark would be read as this watch's, so there is no watch at all.
        let reset = fs::write("/proc/self/clear_refs", "5").is_ok();
        PeakMemory(if reset { resident() } else { None })
    }

    /// The maximum growth since the watch began.
    pub(crate) fn growth(&self) -> Option<u64> {
        Some(peak_resident()?.saturating_sub(self.0?))
    }
}

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
    fn rate(&self, what: &'static str, bytes: &[u8], passes: usize) -> ReadRate {
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
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
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
fn rates(reader: &Reader, memory: &[u8], passes: usize) -> Vec<ScanRate> {
    let scans = [(4, 1), (4, 2), (4, 4), (4, 8), (WIDE_PLANES, 1)];
    scans.map(|(planes, queries)| scan_rate(reader, memory, passes, planes, queries)).to_vec()
}

/// Scans memory for some queries, whose words have `planes` byte planes.
pub(crate) fn scan_rate(
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
        assert_eq!(serde_json::to_value(&report).unwrap()["format"], "sotto-machine/1");
    }

    #[test]
    fn days() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(951_782_400), "2000-02-29");
        assert_eq!(day(951_868_800), "2000-03-01");
        assert_eq!(day(1_798_761_599), "2026-12-31");
    }

    #[test]
    fn memory_that_is_touched_and_freed_is_seen_by_the_watch() {
        // Other tests of this process take memory, release it and begin watches meanwhile, so one
        // attempt may miss it; all do not.
        let look = || {
            let peak = PeakMemory::watch();
            drop(std::hint::black_box(vec![1u8; 64 << 20]));
            peak.growth()
        };
        let mut seen = Vec::new();
        for _ in 0..100 {
            match look() {
                Some(growth) if growth < 48 << 20 => seen.push(growth),
                _ => return,
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("64 MiB are not visible: {seen:?}");
    }
}
