//! One key alone does not tell the index.
//!
//! No test shows that of a pseudo-random generator. What these find are mistakes in making keys: a correction that is
//! forgotten or applied on the wrong side leaves a bit of a key fixed, or fixed by the index.

use crate::setup::{client, params};
use sotto_core::{Client as _, RecordIndex, TwoServers};
use sotto_testkit::rng::seeded;

/// Keys for each index.
const KEYS: usize = 4096;

/// Counts, of `KEYS` keys for an index, in how many each bit is set.
fn counts(index: u64, server: usize) -> Vec<f64> {
    let params = params(1 << 14, 8);
    let (mut client, rng) = (client(&params), &mut seeded(&format!("shares {index}")));
    let mut counts = Vec::new();
    for _ in 0..KEYS {
        let (TwoServers(a, b), _) = client.query(RecordIndex(index), rng).unwrap();
        let key = crate::setup::bytes(&params, if server == 0 { &a } else { &b });
        counts.resize(8 * key.len(), 0.0);
        for (bit, count) in counts.iter_mut().enumerate() {
            *count += f64::from(key[bit / 8] >> (bit % 8) & 1);
        }
    }
    counts
}

/// Every bit of a key is set in half of all keys, for indices that take every turn of the tree at least once.
///
/// A count of 4,096 fair bits deviates by more than 6 standard deviations once in 2^29; 6 indices times 2 servers times
/// 1,299 bits are 2^13.9 counts. A bit that is set with probability 0.6 or more is seen with certainty (it deviates by
/// 12.8 standard deviations on average), one of 0.55 with a chance of 65 %.
#[test]
fn every_bit_of_a_key_is_set_half_the_time() {
    let depth = 5;
    for server in [0, 1] {
        for index in [0, (1 << 14) - 1, 0x1555, 0x2AAA, 511, 512] {
            let counts = counts(index, server);
            let first = counts.len() - 8 * (1 + 2usize * depth).div_ceil(8);
            for (bit, count) in counts.iter().enumerate() {
                match bit.checked_sub(first) {
                    // The root's control bit says which server this key is for.
                    Some(0) => assert_eq!(*count, (server * KEYS) as f64),
                    Some(over) if over > 2 * depth => assert_eq!(*count, 0.0, "bit {bit} is left over"),
                    _ => {
                        let sigmas = (count - KEYS as f64 / 2.0) / (KEYS as f64 / 4.0).sqrt();
                        assert!(sigmas.abs() < 6.0, "index {index}, server {server}, bit {bit}: {sigmas}");
                    }
                }
            }
        }
    }
}

/// Pairs of neighboring bits too, since a correction in the wrong place shows in two bits together.
#[test]
fn the_bits_that_one_level_corrects_are_independent_of_the_index_together() {
    let params = params(1 << 14, 8);
    let control = params.key_bytes() - 2;
    for index in [0, (1 << 14) - 1] {
        let (mut client, rng) = (client(&params), &mut seeded("pairs"));
        let mut seen = [[0u32; 4]; 5];
        for _ in 0..KEYS {
            let (TwoServers(a, _), _) = client.query(RecordIndex(index), rng).unwrap();
            let key = crate::setup::bytes(&params, &a);
            let bits = u16::from_le_bytes([key[control], key[control + 1]]);
            for (level, seen) in seen.iter_mut().enumerate() {
                seen[usize::from(bits >> (1 + 2 * level) & 3)] += 1;
            }
        }
        // Each pair is expected 1,024 times, with a standard deviation of 27.7.
        for (level, seen) in seen.iter().enumerate() {
            assert!(
                seen.iter().all(|count| count.abs_diff(1024) < 167),
                "index {index}, level {level}: {seen:?}"
            );
        }
    }
}

/// The two keys of a query differ in the root, and in nothing else.
#[test]
fn both_keys_hold_the_same_words() {
    let params = params(5000, 8);
    let [a, b] = crate::setup::keys(&params, 4321, "both");
    assert_eq!(a[..16], b[..16], "salt");
    assert_ne!(a[16..32], b[16..32], "root");
    let bits = a.len() - 2;
    assert_eq!(a[32..bits], b[32..bits], "words");
    assert_eq!([a[bits] ^ b[bits], a[bits + 1] ^ b[bits + 1]], [1, 0], "control bits");
}
