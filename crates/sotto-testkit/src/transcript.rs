//! What is seen of a client on the wire but for the queries' bytes: which requests, in which order, of which sizes.
//!
//! Two lookups that differ in what is wanted leave equal transcripts: of what is there, of what is not, of what is no wish at
//! all. Whoever publishes the table, or stands between, must not learn from who asks and who does not.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is seen on each line (a server, a connection, a table of several that are asked at the same time), in its order: the
/// request without its body, and the body's bytes.
pub type Transcript = BTreeMap<String, Vec<(String, usize)>>;

/// Takes down what is seen.
#[derive(Debug, Clone, Default)]
pub struct TranscriptRecorder(Arc<Mutex<Transcript>>);

impl TranscriptRecorder {
    /// Takes down one request.
    pub fn note(&self, line: impl Into<String>, request: impl Into<String>, body_bytes: usize) {
        self.seen().entry(line.into()).or_default().push((request.into(), body_bytes));
    }

    /// What was seen since the last time.
    pub fn take(&self) -> Transcript {
        std::mem::take(&mut *self.seen())
    }

    fn seen(&self) -> MutexGuard<'_, Transcript> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks that what is seen tells nothing of what was wanted. `look` makes a world, looks one wish up, notes what is seen after
/// the table was opened, and gives what came of it.
///
/// At least one wish must be granted and one refused, and something must be seen; else the check would show nothing.
pub fn tells_nothing<W: Debug, T, E: Debug>(
    world: &str,
    wishes: &[W],
    mut look: impl FnMut(&W, &TranscriptRecorder) -> Result<T, E>,
) {
    let (mut first, mut granted, mut refused) = (None, 0, 0);
    for wish in wishes {
        let transcript = TranscriptRecorder::default();
        let outcome = look(wish, &transcript).map(drop);
        *if outcome.is_ok() { &mut granted } else { &mut refused } += 1;
        let seen = transcript.take();
        assert!(!seen.is_empty(), "{world}: {wish:?} is met with silence: {outcome:?}");
        let (usual_wish, usual) = first.get_or_insert_with(|| (wish, seen.clone()));
        assert!(
            seen == *usual,
            "{world}: {wish:?} is told from {usual_wish:?} ({outcome:?}): {seen:?}, else {usual:?}"
        );
    }
    assert!(granted > 0 && refused > 0, "{world}: {granted} granted and {refused} refused show nothing");
}
