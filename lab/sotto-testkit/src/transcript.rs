//! The observable traffic of a client without the queries' bytes: requests, their order, their
//! sizes.
//!
//! Two different lookups have equal transcripts: of a present row, of a missing one, of an invalid
//! one. The publisher of a table, or an observer of the network, must not learn anything from which
//! requests are made.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The observed traffic of each connection (a server, or a table of several that are queried at the
/// same time), in order: the request without its body, and the body's bytes.
pub type Transcript = BTreeMap<String, Vec<(String, usize)>>;

/// Records observed traffic.
#[derive(Debug, Clone, Default)]
pub struct TranscriptRecorder(Arc<Mutex<Transcript>>);

impl TranscriptRecorder {
    /// Records one request.
    pub fn note(&self, line: impl Into<String>, request: impl Into<String>, body_bytes: usize) {
        self.seen().entry(line.into()).or_default().push((request.into(), body_bytes));
    }

    /// Takes the traffic recorded since the last call.
    pub fn take(&self) -> Transcript {
        std::mem::take(&mut *self.seen())
    }

    fn seen(&self) -> MutexGuard<'_, Transcript> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks that traffic does not depend on the lookup. `look` sets up a client, makes one lookup,
/// records the traffic after the table was opened, and returns the result.
///
/// At least one lookup must succeed and one must be refused, and some traffic must be recorded;
/// otherwise the check would show nothing.
pub fn tells_nothing<W: Debug, T, E: Debug>(
    world: &str,
    lookups: &[W],
    mut look: impl FnMut(&W, &TranscriptRecorder) -> Result<T, E>,
) {
    let (mut first, mut granted, mut refused) = (None, 0, 0);
    for lookup in lookups {
        let transcript = TranscriptRecorder::default();
        let outcome = look(lookup, &transcript).map(drop);
        *if outcome.is_ok() { &mut granted } else { &mut refused } += 1;
        let seen = transcript.take();
        assert!(!seen.is_empty(), "{world}: {lookup:?} is met with silence: {outcome:?}");
        let (first_lookup, usual) = first.get_or_insert_with(|| (lookup, seen.clone()));
        assert!(
            seen == *usual,
            "{world}: {lookup:?} is told from {first_lookup:?} ({outcome:?}): {seen:?}, else {usual:?}"
        );
    }
    assert!(granted > 0 && refused > 0, "{world}: {granted} granted and {refused} refused show nothing");
}
