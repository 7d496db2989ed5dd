//! Field types that check themselves while they are read, so that the parser can point at the line.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use sotto_core::Goal;
use std::fmt;

/// Maximum number of repetitions of one batch size.
pub(super) const MAX_LOOKUPS: u64 = 10_000;
/// Maximum number of threads of a case.
pub(super) const MAX_THREADS: u64 = 1024;

/// A count of at least 1, written as a number or as a power: `1048576` or `"2^20"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count(pub(super) u64);

impl Count {
    fn of(text: &str) -> Option<u64> {
        let plain: String = text.chars().filter(|c| *c != '_').collect();
        match plain.split_once('^') {
            None => plain.parse().ok(),
            Some((base, exponent)) => base.parse::<u64>().ok()?.checked_pow(exponent.parse().ok()?),
        }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count of at least 1, such as 1000 or \"2^20\"")
            }
            fn visit_i64<E: Error>(self, n: i64) -> Result<Count, E> {
                match u64::try_from(n) {
                    Ok(n) if n > 0 => Ok(Count(n)),
                    _ => Err(E::custom(format!("expected a count of at least 1, got {n}"))),
                }
            }
            fn visit_u64<E: Error>(self, n: u64) -> Result<Count, E> {
                if n > 0 { Ok(Count(n)) } else { Err(E::custom("expected a count of at least 1, got 0")) }
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Count, E> {
                match Count::of(text) {
                    Some(n) if n > 0 => Ok(Count(n)),
                    _ => Err(E::custom(format!("expected a count such as 1000 or \"2^20\", got {text:?}"))),
                }
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// The counts as numbers, unless one of them is larger than `max`.
pub(super) fn small(counts: Vec<Count>, max: u64, name: &str) -> Result<Vec<usize>, String> {
    let fit = |n: Count| usize::try_from(n.0).ok().filter(|_| n.0 <= max);
    counts
        .into_iter()
        .map(|n| fit(n).ok_or_else(|| format!("{name} is {}, at most {max} is allowed", n.0)))
        .collect()
}

/// A BLAKE3 digest in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Digest(pub(super) String);

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hex = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if hex {
            Ok(Digest(text))
        } else {
            Err(D::Error::custom("expected a digest of 64 lower-case hexadecimal digits"))
        }
    }
}

/// A goal by its name, such as `query-bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GoalName(pub(super) Goal);

impl<'de> Deserialize<'de> for GoalName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = || Goal::ALL.map(Goal::name).join(", ");
        let found = Goal::ALL.into_iter().find(|goal| goal.name() == text);
        found
            .map(GoalName)
            .ok_or_else(|| D::Error::custom(format!("unknown goal {text:?}, expected one of {}", known())))
    }
}
