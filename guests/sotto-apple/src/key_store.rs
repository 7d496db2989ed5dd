//! Where the evaluation keys of users are kept.

use crate::config::ConfigDigest;
use sotto_bfv::mulpir::Keys;
use std::sync::Arc;

/// Evaluation keys of a client, with their time of creation.
#[derive(Debug, Clone)]
pub struct StoredKeys {
    /// Time of creation, by the client's own clock.
    pub timestamp: u64,
    /// The evaluation keys.
    pub keys: Arc<Keys>,
    /// Approximate bytes of the keys in memory.
    pub bytes: usize,
}

/// Decodes keys from the message that contained them.
pub type DecodeKeys<'a> = dyn Fn(&[u8]) -> Option<StoredKeys> + 'a;

/// Storage of evaluation keys, by user name and by the digest of what they are for.
pub trait KeyStore: Send + Sync {
    /// Time of creation of a user's keys, by the client's own clock. The keys themselves are not
    /// read.
    fn timestamp(&self, user: &str, id: &ConfigDigest) -> Option<u64>;

    /// Keys of a user. A store of messages calls `read` to decode the keys.
    fn get(&self, user: &str, id: &ConfigDigest, read: &DecodeKeys<'_>) -> Option<StoredKeys>;

    /// Stores the keys of a user in place of earlier ones, with the message that contained them.
    fn put(&self, user: &str, id: ConfigDigest, keys: StoredKeys, sent: &[u8]);
}
