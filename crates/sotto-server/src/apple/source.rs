//! Where use cases come from.

use crate::SourceError;
use sotto_apple::service::UseCase;
use std::sync::Arc;

/// A table of a use case, open.
#[derive(Debug, Clone)]
pub struct UseCaseEpoch {
    /// The use case's name.
    pub name: String,
    /// What tells this table from another.
    pub digest: [u8; 32],
    /// The table, ready to answer.
    pub use_case: Arc<UseCase>,
}

/// Something that holds tables of one use case.
pub trait UseCaseSource: Send + Sync + 'static {
    /// What to call it in messages: a path, usually.
    fn name(&self) -> String;

    /// The tables that there are now, the newest first: one at least, and `most` at most. Those that are `known` are open
    /// already.
    ///
    /// # Errors
    /// [`SourceError`] if the newest cannot be read or served.
    fn open_newest(&self, most: usize, known: &[UseCaseEpoch]) -> Result<Vec<UseCaseEpoch>, SourceError>;
}
