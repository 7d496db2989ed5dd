//! Where the epochs of a table come from.

pub use crate::source_error::SourceError;
use crate::{PastEpoch, TableEpoch};
use sotto_core::Epoch;
use std::sync::Arc;

/// A source of the epochs of one table.
pub trait EpochSource: Send + Sync + 'static {
    /// Name of the source in messages, usually a path.
    fn name(&self) -> String;

    /// The current epochs, in any order.
    ///
    /// # Errors
    /// [`SourceError`] if the source cannot be read.
    fn epochs(&self) -> Result<Vec<Epoch>, SourceError>;

    /// Opens an epoch.
    ///
    /// # Errors
    /// [`SourceError`] if the epoch cannot be read or served.
    fn open(&self, epoch: Epoch) -> Result<TableEpoch, SourceError>;

    /// The epochs before `newest` on a delta chain to it, the latest first; none by default.
    fn past(&self, _newest: Epoch) -> Vec<Arc<PastEpoch>> {
        Vec::new()
    }
}
