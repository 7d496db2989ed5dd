//! How long others are waited for, and who is told: a server that is busy, or another process that has the lock.

use super::TableEvent;
use super::event::{Notifier, WaitReason};
use crate::transport::retry::UNSAID;
use std::time::Duration;

/// What it is unless somebody says otherwise. Longer than the minute for which servers count what a client does.
pub(crate) const DEFAULT: Duration = Duration::from_secs(120);

/// How long, and who is told.
#[derive(Clone)]
pub(crate) struct WaitPolicy {
    pub(crate) limit: Duration,
    pub(crate) events: Notifier<TableEvent>,
}

impl WaitPolicy {
    /// Waits for what another process has: `take` tries for so long. `None` if that takes longer than the patience lasts.
    ///
    /// # Errors
    /// Those of `take`.
    pub(crate) fn turn<T, E>(
        &self,
        wait: WaitReason,
        mut take: impl FnMut(Duration) -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        let moment = self.limit.min(UNSAID);
        if let Some(taken) = take(moment)? {
            return Ok(Some(taken));
        }
        let left = self.limit - moment;
        if left.is_zero() {
            return Ok(None);
        }
        self.events.tell(TableEvent::Waiting(wait, left));
        take(left)
    }
}
