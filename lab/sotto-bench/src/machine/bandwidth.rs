//! Plain read passes over memory, with a given number of threads.

use super::ReadRate;
use crate::BenchError;
use crate::median::Samples;
use rayon::prelude::*;
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
