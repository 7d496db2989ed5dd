//! Where use cases come from.

use crate::SourceError;
use sotto_apple::service::UseCase;
use std::sync::Arc;

/// One open epoch of a use case's table.
#[derive(Debug, Clone)]
pub struct UseCaseEpoch {
    /// Name of the use case.
    pub name: String,
    /// Digest that tells this epoch from others.
    pub digest: [u8; 32],
    /// The table, ready to answer.
    pub use_case: Arc<UseCase>,
}

/// A source of the epochs of one use case.
pub trait UseCaseSource: Send + Sync + 'static {
    /// Name of the source in messages, usually a path.
    fn name(&self) -> String;

    /// The current epochs, the newest first: at least one, and at most `most`. Those that are
    /// `known` need not be opened again.
    ///
    /// # Errors
    /// [`SourceError`] if the newest epoch cannot be read or served.
    fn open_newest(&self, most: usize, known: &[UseCaseEpoch]) -> Result<Vec<UseCaseEpoch>, SourceError>;
}
