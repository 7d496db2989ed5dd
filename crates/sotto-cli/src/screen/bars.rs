//! Progress bars on stderr: one per stage, hidden when stderr is not a terminal or with `--json`.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What the numbers of a stage count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Things,
    Bytes,
}

impl Unit {
    fn template(self) -> &'static str {
        match self {
            Unit::Things => "  {msg:<18} [{bar:30}] {percent:>3} % {human_pos}/{human_len} {eta}",
            Unit::Bytes => {
                "  {msg:<18} [{bar:30}] {percent:>3} % {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec}"
            }
        }
    }
}

/// The bars of one command. Callable from any thread.
#[derive(Debug)]
pub(crate) struct Bars {
    quiet: bool,
    now: Mutex<Stages>,
}

/// The stage under way, and how long those before it took.
#[derive(Debug, Default)]
struct Stages {
    current: Option<Stage>,
    past: Vec<(String, Duration)>,
}

#[derive(Debug)]
struct Stage {
    name: String,
    began: Instant,
    bar: ProgressBar,
}

impl Stages {
    fn end(&mut self) {
        if let Some(stage) = self.current.take() {
            stage.bar.finish_and_clear();
            let took = stage.began.elapsed();
            // A stage that stops and goes on is one stage: its times add up.
            match self.past.iter_mut().find(|(name, _)| *name == stage.name) {
                Some((_, total)) => *total += took,
                None => self.past.push((stage.name, took)),
            }
        }
    }
}

impl Bars {
    /// Draws nothing, and keeps time all the same.
    pub(crate) fn quiet() -> Self {
        Bars::new(true)
    }

    pub(super) fn new(quiet: bool) -> Self {
        Bars { quiet, now: Mutex::default() }
    }

    /// Says how far `stage` is; a new name ends the stage before it.
    pub(crate) fn at(&self, stage: &str, done: u64, total: u64, unit: Unit) {
        let mut stages = self.now.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if stages.current.as_ref().is_none_or(|current| current.name != stage) {
            stages.end();
            let bar = self.bar(stage, total.max(done), unit);
            stages.current = Some(Stage { name: stage.to_owned(), began: Instant::now(), bar });
        }
        // What has no known end is timed and not drawn.
        if let Some(current) = stages.current.as_ref().filter(|_| total > 0) {
            // A new length is drawn at once, however often it comes; a new position at most ten times a second.
            let length = total.max(done);
            if current.bar.length() != Some(length) {
                current.bar.set_length(length);
            }
            current.bar.set_position(done);
        }
    }

    /// Ends the last stage; gives every stage's name and time, in order.
    pub(crate) fn finish(&self) -> Vec<(String, Duration)> {
        let mut stages = self.now.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        stages.end();
        std::mem::take(&mut stages.past)
    }

    fn bar(&self, stage: &str, length: u64, unit: Unit) -> ProgressBar {
        if self.quiet {
            return ProgressBar::hidden();
        }
        // A template that does not parse is a fault of this file, caught by the test below; a person
        // is better served by the default bar than by no result.
        let style = ProgressStyle::with_template(unit.template())
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> ");
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(10));
        bar.set_style(style);
        bar.set_message(stage.to_owned());
        bar
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        // An error leaves a half-drawn bar in the way of its own message.
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_timed_in_order_and_a_resumed_one_once() {
        let bars = Bars::quiet();
        for (stage, done) in [("read", 1), ("read", 2), ("hint", 1), ("read", 3)] {
            bars.at(stage, done, 3, Unit::Things);
        }
        let names: Vec<_> = bars.finish().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["read", "hint"]);
        assert!(bars.finish().is_empty(), "what was reported once is not reported again");
    }

    #[test]
    fn templates_parse() {
        for unit in [Unit::Things, Unit::Bytes] {
            assert!(ProgressStyle::with_template(unit.template()).is_ok(), "{unit:?}");
        }
    }
}
