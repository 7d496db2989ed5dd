//! How long to wait for a busy server or for another process that has a lock, and which callback
//! reports it.

use super::TableEvent;
use super::event::{Notifier, WaitReason};
use crate::transport::retry::REPORT_AFTER;
use std::time::Duration;

/// Default maximum wait. It is longer than the minute over which servers count the requests of a
/// client.
pub(crate) const DEFAULT: Duration = Duration::from_secs(120);

/// The maximum wait, and the callback that reports it.
#[derive(Clone)]
pub(crate) struct WaitPolicy {
    pub(crate) limit: Duration,
    pub(crate) events: Notifier<TableEvent>,
}

impl WaitPolicy {
    /// Waits for what another process has: `take` tries for the given time. Returns `None` if it
    /// takes longer than the limit.
    ///
    /// # Errors
    /// The errors of `take`.
    pub(crate) fn wait_for<T, E>(
        &self,
        wait: WaitReason,
        mut take: impl FnMut(Duration) -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        let moment = self.limit.min(REPORT_AFTER);
        if let Some(taken) = take(moment)? {
            return Ok(Some(taken));
        }
        let left = self.limit - moment;
        if left.is_zero() {
            return Ok(None);
        }
        self.events.notify(TableEvent::Waiting(wait, left));
        take(left)
    }
}
