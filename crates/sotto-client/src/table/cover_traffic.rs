//! Lookups in rounds of one size at fixed times, so that their number and times say nothing.

use crate::Result;
use crate::lookup::{Lookup, LookupResult};
use std::num::NonZeroUsize;
use std::time::Duration;
use web_time::Instant;

/// Cover traffic: rounds of as many lookups at fixed times, whether or not a caller looks anything up.
///
/// A server sees rounds of one size, one each interval. It does not see in which rounds a caller looks
/// something up, nor whether one is made again. It does see when the rounds begin and end, so a caller
/// decides on both before it knows what it looks up, and makes every round in between.
///
/// ```
/// use sotto_client::Lookup;
/// use sotto_client::table::CoverTraffic;
/// use std::num::NonZeroUsize;
/// use std::time::Duration;
///
/// # fn example(table: &mut sotto_client::Table) -> Result<(), Box<dyn std::error::Error>> {
/// let mut cover = CoverTraffic::new(NonZeroUsize::MIN, Duration::from_secs(30));
/// let mut waiting = vec![Lookup::Key("aria")];
/// for _ in 0..20 {
///     std::thread::sleep(cover.wait());
///     match cover.round(&waiting, |lookups| table.get_each(lookups)) {
///         // As many of the lookups as there are results are done.
///         Ok(results) => drop(waiting.drain(..results.len())),
///         Err(error) => eprintln!("again in the next round: {error}"),
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct CoverTraffic {
    lookups: NonZeroUsize,
    interval: Duration,
    /// Time of the next round; `None` before the first.
    next: Option<Instant>,
}

impl CoverTraffic {
    /// Rounds of `lookups` lookups each, one each `interval`.
    pub fn new(lookups: NonZeroUsize, interval: Duration) -> Self {
        CoverTraffic { lookups, interval, next: None }
    }

    /// Time until the next round, for the caller to sleep.
    pub fn wait(&self) -> Duration {
        self.next.map_or(Duration::ZERO, |next| next.saturating_duration_since(Instant::now()))
    }

    /// Makes a round: the first of the `waiting` lookups as far as they fit, filled up with lookups of
    /// row 0, by a function such as [`Table::get_each`](crate::Table::get_each). Returns a result for
    /// each of the lookups that it took.
    ///
    /// The next round is due one interval after this one was. If this one took longer, rounds that
    /// should have been made meanwhile are left out, so that no two follow at once.
    ///
    /// # Errors
    /// The error of the function. All lookups then still wait; made again in a later round, they are in
    /// queries with new randomness.
    pub fn round(
        &mut self,
        waiting: &[Lookup<'_>],
        look_up: impl FnOnce(&[Lookup<'_>]) -> Result<Vec<Result<LookupResult>>>,
    ) -> Result<Vec<Result<LookupResult>>> {
        let due = self.next.unwrap_or_else(Instant::now);
        let size = self.lookups.get();
        let mut lookups: Vec<_> = waiting.iter().take(size).copied().collect();
        let taken = lookups.len();
        lookups.resize(size, Lookup::Row(0));
        let results = look_up(&lookups);
        self.next = Some(self.after(due, Instant::now()));
        let mut results = results?;
        results.truncate(taken);
        Ok(results)
    }

    /// The first time after `now` that is whole intervals after `due`; `now` if there is no interval.
    fn after(&self, due: Instant, now: Instant) -> Instant {
        let late = now.saturating_duration_since(due).as_nanos();
        let intervals = late / self.interval.as_nanos().max(1) + 1;
        u32::try_from(intervals)
            .ok()
            .and_then(|intervals| self.interval.checked_mul(intervals))
            .and_then(|time| due.checked_add(time))
            .map_or(now, |next| next.max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn rounds_have_one_size_whatever_waits() {
        let mut cover = CoverTraffic::new(NonZeroUsize::new(3).unwrap(), Duration::from_millis(1));
        let (mut waiting, mut answered) = ((10..17).map(Lookup::Row).collect::<Vec<_>>(), Vec::new());
        for round in 0..5 {
            let results = cover.round(&waiting, |lookups| {
                assert_eq!(lookups.len(), 3);
                let row = |lookup: &Lookup<'_>| match *lookup {
                    Lookup::Row(row) => Ok(LookupResult { row: Some(row), value: None }),
                    _ => unreachable!(),
                };
                // What fails waits for the next round.
                if round == 1 {
                    Err(crate::lookup::by_row().into())
                } else {
                    Ok(lookups.iter().map(row).collect())
                }
            });
            let results = results.unwrap_or_default();
            waiting.drain(..results.len());
            answered.extend(results.into_iter().filter_map(|result| result.unwrap().row));
        }
        assert_eq!(answered, (10..17).collect::<Vec<_>>());
    }

    #[test]
    fn rounds_are_whole_intervals_apart() {
        let cover = CoverTraffic::new(NonZeroUsize::MIN, SECOND);
        let due = Instant::now();
        assert_eq!(cover.after(due, due), due + SECOND);
        assert_eq!(cover.after(due, due + SECOND / 2), due + SECOND);
        assert_eq!(cover.after(due, due + SECOND * 5 / 2), due + 3 * SECOND);
        let (none, later) = (CoverTraffic::new(NonZeroUsize::MIN, Duration::ZERO), due + SECOND);
        assert_eq!(none.after(due, later), later);
    }
}
