//! Clocks, and medians of repeated timings: one interrupted repetition does not move them.
//!
//! There are two clocks: wall time, and the processor time of this process. On a shared machine the
//! second measures the cost of work on one thread; the first measures what users wait for.

use std::time::{Duration, Instant};

/// Timings of the same work.
#[derive(Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// Number of timings.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The median; of an even number, the later of the two middle ones. Zero if there is none.
    pub(crate) fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }

    /// The minimum. Zero if there is none.
    pub(crate) fn min(&self) -> Duration {
        self.0.iter().min().copied().unwrap_or_default()
    }
}

/// Medians of some work and of a reference, in turns, so that both meet the same neighbors on a
/// shared machine; after one turn of the work that is not counted.
pub(crate) fn in_turns(
    turns: usize,
    mut work: impl FnMut(),
    mut against: impl FnMut() -> Duration,
) -> (Duration, Duration) {
    let (mut works, mut others) = (Samples::default(), Samples::default());
    work();
    for _ in 0..turns {
        works.push(timed(&mut work));
        others.push(against());
    }
    (works.median(), others.median())
}

/// The time of some work.
pub(crate) fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Milliseconds of a duration.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Nanoseconds, at least one: a clock may measure no time for short work.
pub(crate) fn ns(time: Duration) -> f64 {
    (time.as_nanos() as f64).max(1.0)
}

/// A clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Clock {
    /// The time that passes.
    #[default]
    Wall,
    /// The processors' time of all threads of this process; elsewhere than on Unix, the time that passes.
    Processor,
}

/// A running time measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch {
    at: Instant,
    used: Option<Duration>,
}

impl Clock {
    /// Starts a measurement.
    pub(crate) fn start(self) -> Stopwatch {
        let used = if self == Clock::Processor { used() } else { None };
        Stopwatch { at: Instant::now(), used }
    }
}

impl Stopwatch {
    /// The time since the start.
    pub(crate) fn elapsed(self) -> Duration {
        match self.used.zip(self.used.and_then(|_| used())) {
            Some((before, now)) => now.saturating_sub(before),
            None => self.at.elapsed(),
        }
    }
}

/// Processor time of this process so far.
#[cfg(unix)]
fn used() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(unix))]
fn used() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_minimum() {
        let mut samples = Samples::default();
        assert_eq!(samples.median(), Duration::ZERO);
        for n in [9, 1, 5, 700, 3] {
            samples.push(Duration::from_millis(n));
        }
        assert_eq!((ms(samples.median()), ms(samples.min())), (5.0, 1.0));
    }

    #[test]
    fn sleep_takes_time_and_work_takes_the_processor() {
        let (wall, processor) = (Clock::Wall.start(), Clock::Processor.start());
        std::thread::sleep(Duration::from_millis(5));
        assert!(wall.elapsed() >= Duration::from_millis(5));
        let before = processor.elapsed();
        let mut x = 1u64;
        while wall.elapsed() < Duration::from_millis(20) {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(processor.elapsed() > before);
    }
}
