//! How long others are waited for, and who is told: a server that is busy, or another process that has the lock.

use super::Event;
use super::event::{Voice, Wait};
use crate::transport::retry::UNSAID;
use std::time::Duration;

/// What it is unless somebody says otherwise. Longer than the minute for which servers count what a client does.
pub(crate) const USUAL: Duration = Duration::from_secs(120);

/// How long, and who is told.
#[derive(Clone)]
pub(crate) struct Patience {
    pub(crate) limit: Duration,
    pub(crate) events: Voice<Event>,
}

impl Patience {
    /// Waits for what another process has: `take` tries for so long. `None` if that takes longer than the patience lasts.
    ///
    /// # Errors
    /// Those of `take`.
    pub(crate) fn turn<T, E>(
        &self,
        wait: Wait,
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
        self.events.tell(Event::Waiting(wait, left));
        take(left)
    }
}
