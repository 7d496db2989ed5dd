//! One stage of the work as the progress line shows it: how much is done, and the time that is left.

use crate::screen::units;
use std::time::{Duration, Instant};

/// Duration of work from which on there is a line, and of a stage from which on its rest is estimated.
pub(super) const DELAY: Duration = Duration::from_millis(500);

/// The unit of a stage's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StageUnit {
    Bytes,
    /// Things with this name.
    Count(&'static str),
    /// Steps of an algorithm, shown as a percentage.
    Share,
}

/// One stage of the work.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) name: String,
    /// Time when the stage first began, and how much was done then.
    pub(super) began: Instant,
    pub(super) first: u64,
    /// Time when the stage was last resumed, and its total time before.
    pub(super) since: Instant,
    pub(super) spent: Duration,
    pub(super) starts: u32,
    pub(super) done: u64,
    pub(super) total: u64,
    pub(super) unit: StageUnit,
}

impl Stage {
    /// The text of the line while this stage is shown.
    pub(super) fn text(&self, now: Instant) -> String {
        let Stage { name, done, total, .. } = self;
        let elapsed = now.saturating_duration_since(self.began);
        let mut facts = Vec::new();
        let known = *total > 0;
        let total = (*total).max(*done);
        match (self.unit, known) {
            (StageUnit::Bytes, true) => {
                facts.push(format!("{} of {}", units::bytes(*done), units::bytes(total)))
            }
            (StageUnit::Bytes, false) if *done > 0 => facts.push(units::bytes(*done)),
            (StageUnit::Count(things), true) => {
                facts.push(format!("{} of {} {things}", units::count(*done), units::count(total)));
            }
            (StageUnit::Count(things), false) if *done > 0 => {
                facts.push(format!("{} {things}", units::count(*done)));
            }
            _ => {}
        }
        if known {
            facts.extend(self.left(elapsed, total).map(|left| format!("{} left", span(left))));
            let share = *done as f64 / total as f64;
            let filled = (share * WIDTH as f64) as usize;
            let bar = format!("{}{}", "=".repeat(filled), " ".repeat(WIDTH - filled.min(WIDTH)));
            format!("  {name:<20} [{bar}] {:>3} %  {}", (share * 100.0) as u64, facts.join(", "))
        } else {
            facts.push(span(elapsed));
            format!("  {name:<20} {}", facts.join(", "))
        }
    }

    /// The time that the rest takes at the rate so far, with other stages in between.
    fn left(&self, elapsed: Duration, total: u64) -> Option<Duration> {
        let advanced = self.done.checked_sub(self.first).filter(|advanced| *advanced > 0)?;
        let rest = (total - self.done) as f64 / advanced as f64;
        (elapsed >= DELAY).then(|| Duration::try_from_secs_f64(elapsed.as_secs_f64() * rest).ok())?
    }
}

/// Characters of a full bar.
const WIDTH: usize = 24;

/// A duration as text: `8 s`, `3 min`, `2 h 5 min`.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_one_unit_or_two() {
        let text = |seconds| span(Duration::from_secs(seconds));
        assert_eq!([text(8), text(180), text(7500)], ["8 s", "3 min", "2 h 5 min"]);
    }
}
