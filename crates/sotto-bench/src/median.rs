//! Medians of repeated timings: one interrupted repetition does not move them.

use std::time::Duration;

/// Timings of the same work.
#[derive(Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The middle one; of an even number, the later of the two. Zero if there is none.
    pub(crate) fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }

    /// The shortest. Zero if there is none.
    pub(crate) fn least(&self) -> Duration {
        self.0.iter().min().copied().unwrap_or_default()
    }
}

/// Milliseconds of a duration.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_least() {
        let mut samples = Samples::default();
        assert_eq!(samples.median(), Duration::ZERO);
        for n in [9, 1, 5, 700, 3] {
            samples.push(Duration::from_millis(n));
        }
        assert_eq!((ms(samples.median()), ms(samples.least())), (5.0, 1.0));
    }
}
