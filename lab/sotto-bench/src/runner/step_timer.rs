//! Times of named steps, from reports that a step is done.

use std::time::{Duration, Instant};

/// A timer for steps: the time since the last step was done belongs to the next one.
pub(super) struct StepTimer {
    last: Instant,
    pub(super) steps: Vec<(&'static str, Duration)>,
}

impl StepTimer {
    pub(super) fn start() -> Self {
        StepTimer { last: Instant::now(), steps: Vec::new() }
    }

    pub(super) fn done(&mut self, step: &'static str) {
        let now = Instant::now();
        let spent = now.saturating_duration_since(self.last);
        self.last = now;
        self.add_time(step, spent);
    }

    /// Adds the steps of another query of the same lookup.
    pub(super) fn add(&mut self, other: &StepTimer) {
        other.steps.iter().for_each(|(step, spent)| self.add_time(step, *spent));
    }

    fn add_time(&mut self, step: &'static str, spent: Duration) {
        match self.steps.iter_mut().find(|(name, _)| *name == step) {
            Some((_, sum)) => *sum += spent,
            None => self.steps.push((step, spent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    #[test]
    fn time_goes_to_the_step_that_is_done() {
        let mut timer = StepTimer::start();
        for (step, millis) in [("a", 2), ("b", 4), ("a", 3)] {
            sleep(Duration::from_millis(millis));
            timer.done(step);
        }
        // Sleeps are never shorter than requested.
        let [(a, first), (b, second)] = timer.steps.as_slice() else { panic!("two steps") };
        assert_eq!((*a, *b), ("a", "b"));
        assert!(*first >= Duration::from_millis(5) && *second >= Duration::from_millis(4));
    }
}
