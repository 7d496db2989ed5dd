//! When a half-done preparation is written: often enough that little is lost with the process, and
//! rarely enough that writing costs little compared with receiving rows.

use super::super::rows::ReceivedRows;
use crate::Result;
use crate::session::SessionSetup;
use crate::state::metadata::RowsVersion;
use crate::state::preparation_file::NextClientFiles;
use sotto_core::AnyCheckpoint;
use std::time::Duration;
use web_time::Instant;

/// Divisor of the rows' size that gives the bytes between two checkpoints.
const PART: u64 = 16;
/// Time after which a checkpoint is made, however few bytes have arrived.
const PERIOD: Duration = Duration::from_secs(60);

/// Writes checkpoints of a preparation at intervals.
pub(crate) struct CheckpointTimer {
    ahead: NextClientFiles,
    /// Bytes of rows in the last checkpoint, and its time.
    last: (u64, Instant),
}

impl CheckpointTimer {
    /// Starts with the current progress of a preparation.
    pub(crate) fn new(ahead: NextClientFiles, opening: &SessionSetup) -> Self {
        let done = opening.checkpoint().map_or(0, AnyCheckpoint::kept);
        CheckpointTimer { ahead, last: (done, Instant::now()) }
    }

    /// Takes notice of a part that was absorbed, and writes a checkpoint if one is due.
    pub(crate) fn taken(&mut self, opening: &SessionSetup, taken: ReceivedRows) -> Result<()> {
        let (done, at) = self.last;
        let due = taken.done.saturating_sub(done) >= (taken.total / PART).max(1) || at.elapsed() >= PERIOD;
        if due { self.write(opening) } else { Ok(()) }
    }

    /// Writes a checkpoint if the preparation has advanced since the last one.
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
