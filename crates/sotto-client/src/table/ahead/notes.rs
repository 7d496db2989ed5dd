//! When a preparation is written down: often enough that little is lost with the process, and so seldom that writing does
//! not count next to taking rows.

use super::super::rows::Taken;
use crate::Result;
use crate::session::Opening;
use crate::state::about::At;
use crate::state::checkpoint::Ahead;
use sotto_core::AnyCheckpoint;
use std::time::Duration;
use web_time::Instant;

/// The part of the rows after which a checkpoint is made.
const PART: u64 = 16;
/// The time after which one is made, whatever came.
const PERIOD: Duration = Duration::from_secs(60);

/// Writes a preparation down now and then.
pub(crate) struct Notes {
    ahead: Ahead,
    /// What the last checkpoint has of the rows, and when it was made.
    last: (u64, Instant),
}

impl Notes {
    /// Goes on with a preparation, as far as it is.
    pub(crate) fn new(ahead: Ahead, opening: &Opening) -> Self {
        let done = opening.checkpoint().map_or(0, AnyCheckpoint::kept);
        Notes { ahead, last: (done, Instant::now()) }
    }

    /// Hears that a part was taken.
    pub(crate) fn taken(&mut self, opening: &Opening, taken: Taken) -> Result<()> {
        let (done, at) = self.last;
        let due = taken.done.saturating_sub(done) >= (taken.total / PART).max(1) || at.elapsed() >= PERIOD;
        if due { self.write(opening) } else { Ok(()) }
    }

    /// Writes the preparation down if it has come further than the last checkpoint.
    pub(crate) fn write(&mut self, opening: &Opening) -> Result<()> {
        let (Some(half), Some(catalog)) = (opening.checkpoint(), opening.catalog()) else { return Ok(()) };
        if half.kept() > self.last.0 {
            self.ahead.save(At::of(catalog), half)?;
            self.last.0 = half.kept();
        }
        self.last.1 = Instant::now();
        Ok(())
    }
}
