//! Where epochs of a table come from.

use crate::{PastEpoch, TableEpoch};
use sotto_catalog::CatalogError;
use sotto_core::Epoch;
use sotto_db::DbError;
use std::sync::Arc;

/// Something that holds epochs of one table.
pub trait EpochSource: Send + Sync + 'static {
    /// What to call it in messages: a path, usually.
    fn name(&self) -> String;

    /// Which epochs there are now, in any order.
    ///
    /// # Errors
    /// [`SourceError`] if it cannot be read.
    fn epochs(&self) -> Result<Vec<Epoch>, SourceError>;

    /// Opens an epoch.
    ///
    /// # Errors
    /// [`SourceError`] if it cannot be read or served.
    fn open(&self, epoch: Epoch) -> Result<TableEpoch, SourceError>;

    /// The epochs before `newest` over which a way leads to it, the latest first; none unless said otherwise.
    fn past(&self, _newest: Epoch) -> Vec<Arc<PastEpoch>> {
        Vec::new()
    }
}

/// Why an epoch was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// Its folder or file cannot be read.
    #[error(transparent)]
    Disk(Box<DbError>),
    /// It is a file that is no good image.
    #[error("{0}")]
    Damaged(String),
    /// Its catalog is not valid, or its parameters are refused.
    #[error("the catalog is refused: {0}")]
    Catalog(#[from] CatalogError),
    /// The scheme refuses it.
    #[error("the scheme refuses it: {0}")]
    Scheme(#[from] sotto_core::Error),
    /// This build does not have its scheme.
    #[error("its scheme is {0}, which this build does not have; build with it, or encode with another")]
    UnknownScheme(String),
    /// Its scheme does not ask a server of this role.
    #[error(
        "its scheme {scheme} asks {servers} server(s), counted from 0, and this one is set up as server {role}; set `role` for it"
    )]
    Role {
        /// The scheme's id.
        scheme: String,
        /// How many servers it asks.
        servers: u32,
        /// The role of this one.
        role: u8,
    },
    /// The table is symmetric, and the key that evaluates for its clients is not there, or is another one.
    #[error("it is symmetric, and the key that opens its rows is needed: {0}")]
    OprfKey(String),
    /// Its parts contradict each other.
    #[error("the image contradicts itself: {0}; encode it again")]
    Inconsistent(String),
}

impl From<DbError> for SourceError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Image { .. } => SourceError::Damaged(error.to_string()),
            error => SourceError::Disk(Box::new(error)),
        }
    }
}
