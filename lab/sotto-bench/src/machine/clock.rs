//! Two clocks: wall time, and the processor time of this process. On a shared machine the second
//! measures the cost of work on one thread; the first measures what users wait for.

use std::time::{Duration, Instant};

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
