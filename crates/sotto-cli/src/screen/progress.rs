//! Progress of long work: one line on stderr, and none if stderr is no terminal or with `--json`.
//!
//! Work that ends within half a second draws nothing. After that the line stays until all of it is
//! done, and names the current stage, how much of it is done, in units of its own, and the time
//! left.

use crate::screen::units;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Interval at which the line is drawn.
const TICK: Duration = Duration::from_millis(100);
/// Time for which one of several alternating stages is shown, so that the line does not flicker.
const MIN_SHOWN: Duration = Duration::from_secs(2);

/// The progress line of one command, which any thread may update.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    /// Whether nothing is printed at all.
    quiet: bool,
    /// Whether there is a line.
    is_drawn: bool,
    now: Arc<Mutex<Stages>>,
}

/// All stages since the work began.
#[derive(Debug, Default)]
struct Stages {
    began: Option<Instant>,
    all: Vec<Stage>,
    /// Stage that is in progress.
    current: Option<usize>,
    /// Stage that is shown.
    shown: Option<usize>,
    line: Option<ProgressBar>,
    ticking: bool,
}

impl Stages {
    fn at(&mut self, name: &str, done: u64, total: u64, unit: StageUnit, now: Instant) {
        self.began.get_or_insert(now);
        let has_name = |stage: &Stage| stage.name == name;
        if self.current_stage().is_none_or(|stage| !has_name(stage)) {
            self.pause(now);
            let index = self.all.iter().position(has_name).unwrap_or_else(|| {
                let name = name.to_owned();
                let (began, since, spent) = (now, now, Duration::ZERO);
                self.all.push(Stage { name, began, first: done, since, spent, starts: 0, done, total, unit });
                self.all.len() - 1
            });
            self.current = Some(index);
            if let Some(stage) = self.all.get_mut(index) {
                (stage.since, stage.starts) = (now, stage.starts + 1);
            }
        }
        if let Some(stage) = self.current.and_then(|index| self.all.get_mut(index)) {
            // The stage starts again, as for a file that is read twice. A slightly smaller number
            // comes from threads that count together.
            if done < stage.done / 2 {
                (stage.began, stage.first) = (now, done);
            }
            (stage.done, stage.total) = (done, total);
        }
    }

    fn current_stage(&self) -> Option<&Stage> {
        self.all.get(self.current?)
    }

    fn pause(&mut self, now: Instant) {
        if let Some(stage) = self.current.take().and_then(|index| self.all.get_mut(index)) {
            stage.spent += now.saturating_duration_since(stage.since);
        }
    }

    /// The text of the line, if there is to be one.
    fn text(&mut self, now: Instant) -> Option<String> {
        let current = self.current?;
        if now.saturating_duration_since(self.began?) < DELAY {
            return None;
        }
        let returned = self.all.get(current).is_some_and(|stage| stage.starts > 1);
        let fresh = |stage: &Stage| now.saturating_duration_since(stage.since) < MIN_SHOWN;
        let keeps = self.shown.and_then(|shown| self.all.get(shown)).is_some_and(fresh);
        let shown = self.shown.filter(|_| returned && keeps).unwrap_or(current);
        self.shown = Some(shown);
        self.all.get(shown).map(|stage| stage.text(now))
    }

    fn draw(&mut self, now: Instant) {
        match self.text(now) {
            Some(text) => {
                let line = self.line.get_or_insert_with(line);
                line.set_message(text);
                line.tick();
            }
            None => self.clear(),
        }
    }

    fn clear(&mut self) {
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
        }
    }

    fn rest(&mut self) {
        self.pause(Instant::now());
        self.clear();
        (self.began, self.shown) = (None, None);
    }
}

fn line() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(20));
    // A template that does not parse is a fault of this file; another line is better than no
    // result.
    let style = ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar
}

/// Draws the line ten times a second for as long as the bars exist, even without news.
fn tick(stages: &Weak<Mutex<Stages>>) {
    while let Some(stages) = stages.upgrade() {
        stages.lock().unwrap_or_else(PoisonError::into_inner).draw(Instant::now());
        drop(stages);
        std::thread::sleep(TICK);
    }
}

impl ProgressLine {
    /// A line that is not drawn, but measures times.
    pub(crate) fn quiet() -> Self {
        ProgressLine::new(true)
    }

    pub(crate) fn new(quiet: bool) -> Self {
        ProgressLine { quiet, is_drawn: !quiet && std::io::stderr().is_terminal(), now: Arc::default() }
    }

    fn stages(&self) -> MutexGuard<'_, Stages> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how far `stage` is, out of `total`, or 0 if unknown; a new name ends the previous
    /// stage.
    pub(crate) fn at(&self, stage: &str, done: u64, total: u64, unit: StageUnit) {
        let mut stages = self.stages();
        stages.at(stage, done, total, unit, Instant::now());
        if self.is_drawn && !stages.ticking {
            stages.ticking = true;
            let weak = Arc::downgrade(&self.now);
            // Without a thread there is no line, and the work continues.
            let _ = std::thread::Builder::new().name("progress".into()).spawn(move || tick(&weak));
        }
    }

    /// Sets the progress of a stage of `sotto-db`, on a table of its own or on one of several.
    pub(crate) fn watch(&self, table: Option<(usize, usize)>, at: sotto_db::Progress) {
        let unit = match at.unit {
            sotto_db::ProgressUnit::Bytes => StageUnit::Bytes,
            sotto_db::ProgressUnit::Rows => StageUnit::Count("rows"),
            sotto_db::ProgressUnit::Tables => StageUnit::Count("tables"),
            _ => StageUnit::Share,
        };
        match table {
            None => self.at(at.stage, at.done, at.total, unit),
            Some((i, of)) => {
                self.at(&format!("table {} of {of}, {}", i + 1, at.stage), at.done, at.total, unit)
            }
        }
    }

    /// Removes the line until there is work again.
    pub(crate) fn rest(&self) {
        self.stages().rest();
    }

    /// Prints a note above the line, at once; nothing with `--json`.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.rest();
            eprintln!("note: {text}");
        }
    }

    /// Ends the last stage; returns every stage's name and time, in order.
    pub(crate) fn finish(&self) -> Vec<(String, Duration)> {
        let mut stages = self.stages();
        stages.rest();
        std::mem::take(&mut stages.all).into_iter().map(|stage| (stage.name, stage.spent)).collect()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        // A half-drawn line must not be in the way of an error message.
        self.finish();
    }
}

/// Duration of work from which on there is a line, and of a stage from which on its rest is estimated.
pub(crate) const DELAY: Duration = Duration::from_millis(500);

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
pub(crate) struct Stage {
    pub(crate) name: String,
    /// Time when the stage first began, and how much was done then.
    pub(crate) began: Instant,
    pub(crate) first: u64,
    /// Time when the stage was last resumed, and its total time before.
    pub(crate) since: Instant,
    pub(crate) spent: Duration,
    pub(crate) starts: u32,
    pub(crate) done: u64,
    pub(crate) total: u64,
    pub(crate) unit: StageUnit,
}

impl Stage {
    /// The text of the line while this stage is shown.
    pub(crate) fn text(&self, now: Instant) -> String {
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

    /// The line some seconds after the work began.
    fn after(stages: &mut Stages, began: Instant, seconds: f64) -> Option<String> {
        stages.text(began + Duration::from_secs_f64(seconds))
    }

    #[test]
    fn stages_are_timed_in_order_and_a_resumed_one_once() {
        let bars = ProgressLine::quiet();
        for (stage, done) in [("read", 1), ("read", 2), ("hint", 1), ("read", 3)] {
            bars.at(stage, done, 3, StageUnit::Share);
        }
        let names: Vec<_> = bars.finish().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["read", "hint"]);
        assert!(bars.finish().is_empty(), "what was reported once is not reported again");
    }

    #[test]
    fn a_line_counts_in_its_own_unit_and_says_how_long_it_takes() {
        let began = Instant::now();
        let text = |unit, done, total| {
            let mut stages = Stages::default();
            stages.at("read", 0, total, unit, began);
            stages.at("read", done, total, unit, began);
            after(&mut stages, began, 2.0).unwrap()
        };
        let bar = "read                 [======                  ]  25 %";
        assert_eq!(text(StageUnit::Count("rows"), 3, 12), format!("  {bar}  3 of 12 rows, 6 s left"));
        assert_eq!(
            text(StageUnit::Bytes, 1 << 20, 4 << 20),
            format!("  {bar}  1.00 MiB of 4.00 MiB, 6 s left")
        );
        assert_eq!(text(StageUnit::Share, 3, 12), format!("  {bar}  6 s left"));
        assert_eq!(
            text(StageUnit::Count("rows"), 0, 12).trim_end().rsplit("  ").next(),
            Some("0 of 12 rows")
        );
        // The total is unknown.
        assert_eq!(text(StageUnit::Bytes, 2048, 0), "  read                 2.00 KiB, 2 s");
        assert_eq!(text(StageUnit::Share, 0, 0), "  read                 2 s");
        // More than was announced.
        assert!(text(StageUnit::Count("rows"), 13, 12).contains("100 %  13 of 13 rows"));
    }

    #[test]
    fn what_takes_no_time_is_not_drawn() {
        let began = Instant::now();
        let mut stages = Stages::default();
        stages.at("catalog", 0, 0, StageUnit::Bytes, began);
        assert_eq!(after(&mut stages, began, 0.4), None);
        // The line is drawn although there was no news since.
        assert!(after(&mut stages, began, 0.6).is_some());
        stages.rest();
        assert_eq!(after(&mut stages, began, 9.0), None);
    }

    #[test]
    fn what_was_done_before_does_not_count_as_speed_and_turns_do_not_flicker() {
        let began = Instant::now();
        let second = |n: u64| began + Duration::from_secs(n);
        let mut stages = Stages::default();
        // Half of it was in a cache.
        stages.at("hint", 50, 100, StageUnit::Bytes, began);
        stages.at("hint", 75, 100, StageUnit::Bytes, second(5));
        assert!(after(&mut stages, began, 5.0).unwrap().ends_with("75 B of 100 B, 5 s left"));
        // It is read a second time.
        stages.at("hint", 0, 100, StageUnit::Bytes, second(20));
        stages.at("hint", 10, 100, StageUnit::Bytes, second(21));
        assert!(after(&mut stages, began, 21.0).unwrap().ends_with("10 B of 100 B, 9 s left"));
        let mut stages = Stages::default();
        for turn in 0..10 {
            stages.at("matrix", turn, 10, StageUnit::Share, second(turn));
            stages.at("hint", turn, 10, StageUnit::Share, second(turn));
        }
        stages.at("matrix", 10, 20, StageUnit::Share, second(10));
        // Ten of twenty in ten seconds, whichever stage was shown.
        let shown = after(&mut stages, began, 10.0).unwrap();
        assert!(shown.contains("matrix") && shown.ends_with("10 s left"), "{shown}");
        stages.at("hint", 10, 20, StageUnit::Share, second(10));
        assert!(after(&mut stages, began, 11.0).unwrap().contains("matrix"));
        assert!(after(&mut stages, began, 13.0).unwrap().contains("hint"));
    }

    #[test]
    fn spans_have_one_unit_or_two() {
        let text = |seconds| span(Duration::from_secs(seconds));
        assert_eq!([text(8), text(180), text(7500)], ["8 s", "3 min", "2 h 5 min"]);
    }
}
