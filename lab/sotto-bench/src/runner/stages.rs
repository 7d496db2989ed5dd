//! Times of the stages of encoding, from the progress that an encoder reports anyway.

use super::step_timer::StepTimer;
use crate::options::{Progress, Watcher};
use crate::report::EncodeStage;
use std::sync::{Mutex, PoisonError};

/// A clock with a total for each stage.
pub(super) struct StageClock<'a> {
    case: &'a str,
    watcher: Watcher<'a>,
    totals: Mutex<StageTotals>,
}

struct StageTotals {
    current: Option<&'static str>,
    timer: StepTimer,
}

impl<'a> StageClock<'a> {
    pub(super) fn start(case: &'a str, watcher: Watcher<'a>) -> Self {
        let totals = StageTotals { current: None, timer: StepTimer::start() };
        StageClock { case, watcher, totals: Mutex::new(totals) }
    }

    /// Work is reported when it is done, so the time since the last report belongs to the stage that reports;
    /// except that a stage at 0 is only announced, and the time before it belongs to the one that ended.
    pub(super) fn report(&self, stage: &'static str, done: u64, total: u64) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let worked = if done == 0 { totals.current.unwrap_or(stage) } else { stage };
        totals.timer.done(worked);
        totals.current = Some(stage);
        drop(totals);
        (self.watcher)(Progress { case: self.case, step: stage, done, total });
    }

    /// Ends the last stage, and returns all of them, in order.
    pub(super) fn stop(&self) -> Vec<EncodeStage> {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stage) = totals.current {
            totals.timer.done(stage);
        }
        let stages = totals.timer.steps.iter();
        stages
            .map(|(name, spent)| EncodeStage { name: (*name).to_owned(), total_s: spent.as_secs_f64() })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    const MOMENT: Duration = Duration::from_millis(2);

    #[test]
    fn stages_may_take_turns_and_may_only_be_announced() {
        let reports = Mutex::new(Vec::new());
        let watch = |p: Progress<'_>| reports.lock().unwrap().push(p.to_string());
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
        assert_eq!(reports.into_inner().unwrap()[0], "case: layout 50 %");
    }
}
