//! Keyword tables: shards and buckets of keys, and the encoding of buckets.
//!
//! | module | contents |
//! |---|---|
//! | this one | hashes of keys, shards, and the two buckets of a key |
//! | [`bucket`] | the encoding of a bucket |
//! | [`cuckoo`] | places rows in buckets |
//! | [`table`] | the tables of a shard, ready to answer |

pub mod bucket;
pub mod cuckoo;
pub mod table;

use sha2::{Digest, Sha256};
use sotto_bfv::layout::equal;
use sotto_math::modulus::divide;

/// Number of tables of a shard, each with a hash function of its own. A key's row is in one of
/// them.
pub const TABLES: usize = 2;

/// Number of attempts to find a second bucket.
const TRIES: u8 = 10;

/// Hash of a key. Its shard and its buckets follow from it, and buckets contain it in place of the
/// key.
pub fn hash(key: &[u8]) -> u64 {
    first(Sha256::new().chain_update(key))
}

/// Shard of a key.
pub fn shard(hash: u64, shards: usize) -> usize {
    (hash % shards.max(1) as u64) as usize
}

/// Buckets of a key, one in each table. If no second bucket is found, both are the same.
pub fn buckets(hash: u64, count: usize) -> [usize; TABLES] {
    let one = bucket(hash, count, 0);
    let other = (1..TRIES).map(|counter| bucket(hash, count, counter)).find(|other| *other != one);
    [one, other.unwrap_or(one)]
}

/// Buckets of a secret key, in constant time: all attempts are made.
pub fn buckets_of_secret(hash: u64, count: usize) -> [usize; TABLES] {
    let one = bucket(hash, count, 0) as u64;
    let (mut other, mut open) = (one, u64::MAX);
    for counter in 1..TRIES {
        let tried = bucket(hash, count, counter) as u64;
        // All ones where this is the first attempt with another bucket.
        let take = open & !equal(tried, one);
        other ^= (other ^ tried) & take;
        open &= !take;
    }
    [one as usize, other as usize]
}

fn bucket(hash: u64, count: usize, counter: u8) -> usize {
    let digest = Sha256::new().chain_update(hash.to_be_bytes()).chain_update([counter]);
    divide(first(digest), count.max(1) as u64).1 as usize
}

fn first(digest: Sha256) -> u64 {
    let digest: [u8; 32] = digest.finalize().into();
    digest.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_keys_have_the_same_buckets() {
        let mut alike = 0;
        for count in [1, 2, 3, 7, 1000] {
            for i in 0..500u64 {
                let hash = hash(&i.to_le_bytes());
                let [one, other] = buckets(hash, count);
                assert_eq!(buckets_of_secret(hash, count), [one, other]);
                assert!(one < count && other < count && (one != other || count <= 2));
                alike += usize::from(one == other);
            }
        }
        assert!((500..520).contains(&alike), "one bucket has no other, two seldom");
    }
}
