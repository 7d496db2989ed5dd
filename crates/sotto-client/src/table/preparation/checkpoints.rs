//! When a preparation is written down: often enough that little is lost with the process, and so seldom that writing does
//! not count next to taking rows.

use super::super::rows::ReceivedRows;
use crate::Result;
use crate::session::SessionSetup;
use crate::state::metadata::RowsVersion;
use crate::state::preparation_file::NextClientFiles;
use sotto_core::AnyCheckpoint;
use std::time::Duration;
use web_time::Instant;

/// The part of the rows after which a checkpoint is made.
const PART: u64 = 16;
/// The time after which one is made, whatever came.
const PERIOD: Duration = Duration::from_secs(60);

/// Writes a preparation down now and then.
pub(crate) struct CheckpointTimer {
    ahead: NextClientFiles,
    /// What the last checkpoint has of the rows, and when it was made.
    last: (u64, Instant),
}

impl CheckpointTimer {
    /// Goes on with a preparation, as far as it is.
    pub(crate) fn new(ahead: NextClientFiles, opening: &SessionSetup) -> Self {
        let done = opening.checkpoint().map_or(0, AnyCheckpoint::kept);
        CheckpointTimer { ahead, last: (done, Instant::now()) }
    }

    /// Hears that a part was taken.
    pub(crate) fn taken(&mut self, opening: &SessionSetup, taken: ReceivedRows) -> Result<()> {
        let (done, at) = self.last;
        let due = taken.done.saturating_sub(done) >= (taken.total / PART).max(1) || at.elapsed() >= PERIOD;
        if due { self.write(opening) } else { Ok(()) }
    }

    /// Writes the preparation down if it has come further than the last checkpoint.
    pub(crate) fn write(&mut self, opening: &SessionSetup) -> Result<()> {
        let (Some(half), Some(catalog)) = (opening.checkpoint(), opening.catalog()) else { return Ok(()) };
        if half.kept() > self.last.0 {
            self.ahead.save(RowsVersion::of(catalog), half)?;
            self.last.0 = half.kept();
        }
        self.last.1 = Instant::now();
        Ok(())
    }
}
