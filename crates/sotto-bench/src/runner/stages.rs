//! Times of the stages of encoding, from the progress that an encoder reports anyway.

use crate::options::{Progress, Watcher};
use crate::report::EncodeStage;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A clock with one hand per stage.
pub(super) struct StageClock<'a> {
    case: &'a str,
    watcher: Watcher<'a>,
    hands: Mutex<StageTotals>,
}

struct StageTotals {
    last: Instant,
    current: Option<&'static str>,
    stages: Vec<(&'static str, Duration)>,
}

impl StageTotals {
    /// Adds the time since the last report to a stage.
    fn turn(&mut self, stage: &'static str) {
        let now = Instant::now();
        let spent = now.saturating_duration_since(self.last);
        self.last = now;
        match self.stages.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, sum)) => *sum += spent,
            None => self.stages.push((stage, spent)),
        }
    }
}

impl<'a> StageClock<'a> {
    pub(super) fn start(case: &'a str, watcher: Watcher<'a>) -> Self {
        let hands = StageTotals { last: Instant::now(), current: None, stages: Vec::new() };
        StageClock { case, watcher, hands: Mutex::new(hands) }
    }

    /// Work is reported when it is done, so the time since the last report belongs to the stage that reports;
    /// except that a stage at 0 is only announced, and the time before it belongs to the one that ended.
    pub(super) fn report(&self, stage: &'static str, done: u64, total: u64) {
        let mut hands = self.hands.lock().unwrap_or_else(PoisonError::into_inner);
        let worked = if done == 0 { hands.current.unwrap_or(stage) } else { stage };
        hands.turn(worked);
        hands.current = Some(stage);
        drop(hands);
        (self.watcher)(Progress { case: self.case, step: stage, done, total });
    }

    /// Ends the last stage, and returns all of them, in order.
    pub(super) fn stop(&self) -> Vec<EncodeStage> {
        let mut hands = self.hands.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stage) = hands.current {
            hands.turn(stage);
        }
        hands
            .stages
            .iter()
            .map(|(name, d)| EncodeStage { name: (*name).to_owned(), total_s: d.as_secs_f64() })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    const MOMENT: Duration = Duration::from_millis(2);

    #[test]
    fn stages_may_take_turns_and_may_only_be_announced() {
        let seen = Mutex::new(Vec::new());
        let watch = |p: Progress<'_>| seen.lock().unwrap().push(p.to_string());
        let clock = StageClock::start("case", &watch);
        for done in 1..=2 {
            sleep(MOMENT);
            clock.report("layout", done, 2);
            sleep(MOMENT);
            clock.report("hint", done, 2);
        }
        sleep(MOMENT);
        clock.report("sync", 0, 0);
        sleep(MOMENT);
        let stages = clock.stop();
        assert_eq!(stages.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["layout", "hint", "sync"]);
        // Sleeps are never shorter than requested: two, three and one of them.
        for (stage, sleeps) in stages.iter().zip([2.0, 3.0, 1.0]) {
            assert!(stage.total_s >= sleeps * 0.002, "{stage:?}");
        }
        assert_eq!(seen.into_inner().unwrap()[0], "case: layout 50 %");
    }
}
