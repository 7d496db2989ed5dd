//! The number of queries of a pass, from the times of the passes before.
//!
//! Queries of a pass share the reading of the table, and each has work of its own. With more
//! queries in a pass a server answers more of them per second, and each waits longer. So a pass
//! takes queries until their own work is four times the shared work: then a server answers 80 % of
//! what it could answer at most. For point functions over gigabytes that is the largest number
//! allowed, since a pass for 32 takes little longer than one for a single query; for schemes that
//! expand each query it is the smallest.

use std::time::Duration;

/// Number of queries that a pass takes whatever the times are.
pub(crate) const FEWEST: usize = 8;

/// Own work of all queries of a pass over the shared work, at which a pass is long enough.
const OWN_OVER_SHARED: f64 = 4.0;

/// What remains of a pass's weight after another one.
const KEPT: f64 = 0.875;

/// Times of passes over a table by their number of queries: a line by least squares, in which the
/// latest passes weigh most.
#[derive(Debug, Default)]
pub(crate) struct PassTimes {
    weight: f64,
    /// Weighted sums of the number of queries, its square, the time in seconds, and the product of
    /// number and time.
    queries: f64,
    squares: f64,
    seconds: f64,
    products: f64,
    /// Queries whose own work is as long as the shared work, once that is known.
    balance: Option<f64>,
    /// Number of queries of the largest pass: no time is predicted for more than twice as many.
    largest: usize,
}

impl PassTimes {
    /// Adds the time of a pass.
    pub(crate) fn add(&mut self, queries: usize, took: Duration) {
        let (n, t) = (queries as f64, took.as_secs_f64());
        let terms = [(1.0, &mut self.weight), (n, &mut self.queries), (n * n, &mut self.squares)];
        let times = [(t, &mut self.seconds), (n * t, &mut self.products)];
        terms.into_iter().chain(times).for_each(|(term, sum)| *sum = *sum * KEPT + term);
        self.largest = self.largest.max(queries);
        let mean = self.queries / self.weight;
        let variance = self.squares / self.weight - mean * mean;
        // Passes of one size say nothing of others.
        if variance > 0.25 {
            let own = (self.products / self.weight - mean * self.seconds / self.weight) / variance;
            let shared = self.seconds / self.weight - own * mean;
            self.balance = Some(if own > 0.0 { (shared / own).max(0.0) } else { f64::INFINITY });
        }
    }

    /// The number of queries that the next pass may take, if the configuration allows `max`.
    pub(crate) fn limit(&self, max: usize) -> usize {
        let fewest = FEWEST as f64;
        let wanted = match self.balance {
            Some(balance) => balance * OWN_OVER_SHARED,
            // A larger pass shows whether it takes longer, if all before had as many as they could.
            None if self.weight > 0.0 && self.queries >= fewest * self.weight => 2.0 * fewest,
            None => fewest,
        };
        // An infinite number is the largest integer.
        (wanted as usize).min(2 * self.largest).max(FEWEST).min(max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times after passes of these sizes, with `shared` and `own` in milliseconds.
    fn times(sizes: &[usize], shared: f64, own: f64) -> PassTimes {
        let mut times = PassTimes::default();
        sizes.iter().for_each(|n| times.add(*n, Duration::from_secs_f64((shared + own * *n as f64) / 1e3)));
        times
    }

    #[test]
    fn passes_grow_until_own_work_is_four_times_the_shared_work() {
        assert_eq!(times(&[1, 8], 20.0, 5.0).limit(32), 16);
        assert_eq!(times(&[1, 8, 8, 3], 15.0, 0.04).limit(32), 16, "twice the largest");
        assert_eq!(times(&[1, 8, 16], 15.0, 0.04).limit(32), 32);
        assert_eq!(times(&[1, 8], 20.0, 20.0).limit(32), FEWEST);
        // No slower with more queries.
        assert_eq!(times(&[1, 16], 20.0, 0.0).limit(32), 32);
        assert_eq!(times(&[1, 2], 20.0, 0.0).limit(32), FEWEST);
    }

    #[test]
    fn what_is_configured_is_the_most() {
        assert_eq!(times(&[1, 8], 15.0, 0.04).limit(4), 4);
        assert_eq!(PassTimes::default().limit(1), 1);
    }

    #[test]
    fn passes_of_one_size_change_nothing() {
        assert_eq!(times(&[1; 50], 15.0, 0.04).limit(32), FEWEST);
        assert_eq!(times(&[FEWEST; 50], 15.0, 0.04).limit(32), 2 * FEWEST, "to learn more");
        let mut known = times(&[1, 8], 15.0, 0.04);
        (0..1000).for_each(|_| known.add(32, Duration::from_millis(16)));
        assert_eq!(known.limit(32), 32);
    }

    #[test]
    fn later_passes_count_more() {
        let mut times = times(&[1, 8, 16, 32], 15.0, 0.04);
        (0..40).for_each(|i| times.add(1 + i % 8, Duration::from_millis(20 + 20 * (1 + i as u64 % 8))));
        assert_eq!(times.limit(32), FEWEST);
    }
}
