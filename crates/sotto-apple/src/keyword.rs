//! Keyword tables: where a key's row lies, and rows as buckets.
//!
//! | module | what lives there |
//! |---|---|
//! | this one | hashes of keys, shards, and the two buckets of a key |
//! | [`bucket`] | the bytes of a bucket |
//! | [`place`] | which rows go to which buckets |
//! | [`table`] | the tables of a shard, ready to answer |

pub mod bucket;
pub mod place;
pub mod table;

use sha2::{Digest, Sha256};

/// Tables of a shard, each with a hash function of its own. A key's row lies in one of them.
pub const TABLES: usize = 2;

/// How often a second bucket is looked for.
const TRIES: u8 = 10;

/// The hash that a key is known by: a shard and its buckets follow from it, and buckets hold it in place of the key.
pub fn hash(key: &[u8]) -> u64 {
    first(Sha256::new().chain_update(key))
}

/// The shard of a key.
pub fn shard(hash: u64, shards: usize) -> usize {
    (hash % shards.max(1) as u64) as usize
}

/// The bucket of a key in each table. Where only one is found, both are that one.
pub fn buckets(hash: u64, count: usize) -> [usize; TABLES] {
    let bucket = |counter: u8| {
        let digest = Sha256::new().chain_update(hash.to_be_bytes()).chain_update([counter]);
        (first(digest) % count.max(1) as u64) as usize
    };
    let one = bucket(0);
    // What decides how often is public, but that it came out so is the key's: a second try is rare, and one in as many as there
    // are buckets.
    let other = (1..TRIES).map(bucket).find(|other| *other != one);
    [one, other.unwrap_or(one)]
}

fn first(digest: Sha256) -> u64 {
    let digest: [u8; 32] = digest.finalize().into();
    digest.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
