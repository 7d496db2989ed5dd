//! Why a source of epochs cannot be read or served.

use sotto_catalog::CatalogError;
use sotto_db::DbError;

/// Why an epoch was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The epoch cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The folder or file of the epoch cannot be read.
    #[error(transparent)]
    Disk(Box<DbError>),
    /// The file is not a valid image.
    #[error("{0}")]
    Damaged(String),
    /// The catalog is not valid, or its parameters are refused.
    #[error("the catalog is refused: {0}")]
    Catalog(#[from] CatalogError),
    /// The scheme refuses the epoch.
    #[error("the scheme refuses the image: {0}")]
    Scheme(#[from] sotto_core::Error),
    /// The scheme is not part of this build.
    #[error("scheme {0} is not in this build; build with it, or encode with another scheme")]
    UnknownScheme(String),
    /// The scheme has no server of this role.
    #[error(
        "scheme {scheme} has {servers} server(s), counted from 0, and `role` is {role}; set `role` to one of them"
    )]
    Role {
        /// Id of the scheme.
        scheme: String,
        /// Number of servers that the scheme needs.
        servers: u32,
        /// Role of this server.
        role: u8,
    },
    /// The table is symmetric, and the key that evaluates for its clients is missing, or is another
    /// one.
    #[error("the table is symmetric and needs its OPRF key: {0}")]
    OprfKey(String),
    /// The parts of the epoch contradict each other.
    #[error("the image is inconsistent: {0}; encode it again")]
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
