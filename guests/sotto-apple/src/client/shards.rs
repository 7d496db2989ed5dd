//! Shards of lookups: how much a shard reveals of its key, and what a server learned before.
//!
//! A lookup names its shard in the clear, and the unsigned configuration defines how the shard
//! follows from the key's hash. So a server that may choose the function, or change it from lookup
//! to lookup, chooses how many bits of the key it learns. The caller limits how much that may be
//! ([`ConfigPolicy::max_shards`]), over all functions under which the server was ever queried
//! ([`ShardHistory`]). A use case's function stays as it was first used until a person accepts
//! another one.

use crate::sets::WeakParams;
use serde::{Deserialize, Serialize};
use sotto_catalog::Hex;
use sotto_math::modulus::divide;
use sotto_oprf::p384::PublicKey;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Function from a key's hash to its shard: `(hash mod modulus) mod count`.
///
/// In `sha256:COUNT` both numbers are equal; `double-mod:MODULUS:COUNT` follows the shards of
/// another use case. In a symmetric table the function hashes the output of the OPRF under the
/// server's key, and that key is a part of it: `p384:KEY:sha256:COUNT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ShardFunction {
    /// Public key of the OPRF whose outputs are hashed, in hexadecimal digits; `None` if the table
    /// is not symmetric.
    public_key: Option<String>,
    modulus: u64,
    count: u64,
}

impl ShardFunction {
    /// The function that reveals nothing, since there is one shard.
    pub const ONE_SHARD: ShardFunction = ShardFunction { public_key: None, modulus: 1, count: 1 };

    /// Makes a function from numbers that are not zero. Every function that reveals nothing is
    /// [`Self::ONE_SHARD`].
    pub(super) fn new(public_key: Option<&PublicKey>, modulus: u64, count: u64) -> Self {
        let hex = |key: &PublicKey| Hex::from(*key.bytes()).to_string();
        let function = ShardFunction { public_key: None, modulus: modulus.max(1), count: count.max(1) };
        match function.parts() {
            1 => Self::ONE_SHARD,
            _ => ShardFunction { public_key: public_key.map(hex), ..function },
        }
    }

    /// Shard of a key with this hash.
    pub(super) fn shard(&self, hash: u64) -> usize {
        // Where nothing is revealed, nothing may depend on the key.
        if self.parts() == 1 {
            return 0;
        }
        divide(divide(hash, self.modulus).1, self.count).1 as usize
    }

    /// Upper bound on what a lookup reveals of its key: that it is one in this many parts, the
    /// inverse of the smallest shard's share of all keys.
    pub fn parts(&self) -> u64 {
        match self.modulus / self.count.max(1) {
            // Each remainder is a shard of its own.
            0 => self.modulus,
            smallest => self.modulus.div_ceil(smallest),
        }
    }

    /// Upper bound on what these functions reveal together of one key that is queried under all of
    /// them, in the unit of [`Self::parts`].
    fn parts_together<'a>(functions: impl Iterator<Item = &'a ShardFunction>) -> u64 {
        let mut by_key: BTreeMap<&Option<String>, Vec<&ShardFunction>> = BTreeMap::new();
        for function in functions.filter(|function| function.parts() > 1) {
            by_key.entry(&function.public_key).or_default().push(function);
        }
        // Outputs under two keys are independent.
        by_key.values().map(|functions| same_hash(functions)).fold(1, u64::saturating_mul)
    }
}

/// Upper bound on what functions of one hash reveal together. Functions with one modulus reveal
/// what their remainders reveal together; others reveal at most the remainder modulo the least
/// common multiple of the moduli.
fn same_hash(functions: &[&ShardFunction]) -> u64 {
    let modulus = functions.iter().fold(1, |all, function| least_common_multiple(all, function.modulus));
    let count = functions.iter().fold(1, |all, function| least_common_multiple(all, function.count));
    match functions.iter().all(|function| function.modulus == modulus) {
        true => ShardFunction { public_key: None, modulus, count }.parts(),
        false => modulus,
    }
}

/// Least common multiple, which saturates: a value over 64 bits exceeds what any caller accepts.
fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor.max(1)).saturating_mul(b)
}

impl fmt::Display for ShardFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShardFunction { public_key, modulus, count } = self;
        if let Some(key) = public_key {
            write!(f, "p384:{key}:")?;
        }
        match modulus == count {
            true => write!(f, "sha256:{count}"),
            false => write!(f, "double-mod:{modulus}:{count}"),
        }
    }
}

impl From<ShardFunction> for String {
    fn from(function: ShardFunction) -> Self {
        function.to_string()
    }
}

/// Error for text that is not a shard function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a shard function, such as sha256:57 or double-mod:57:10")]
pub struct NoShardFunction;

impl FromStr for ShardFunction {
    type Err = NoShardFunction;

    fn from_str(text: &str) -> Result<Self, NoShardFunction> {
        let (public_key, rest) = match text.strip_prefix("p384:").map(|rest| rest.split_once(':')) {
            Some(Some((key, rest))) => (Some(key.to_owned()), rest),
            Some(None) => return Err(NoShardFunction),
            None => (None, text),
        };
        let number = |text: &str| text.parse().ok().filter(|number: &u64| *number > 0);
        let numbers = match rest.split_once(':') {
            Some(("sha256", count)) => number(count).map(|count| (count, count)),
            Some(("double-mod", rest)) => {
                rest.split_once(':').and_then(|(modulus, count)| number(modulus).zip(number(count)))
            }
            _ => None,
        };
        let (modulus, count) = numbers.ok_or(NoShardFunction)?;
        let function = ShardFunction { public_key, modulus, count };
        // A function has one text form: what is printed is what is parsed.
        let is_canonical = function.to_string() == text;
        let is_hex = |key: &String| key.parse::<Hex<PUBLIC_KEY_BYTES>>().is_ok();
        let says_nothing = function.parts() == 1 && function != Self::ONE_SHARD;
        match is_canonical && !says_nothing && function.public_key.as_ref().is_none_or(is_hex) {
            true => Ok(function),
            false => Err(NoShardFunction),
        }
    }
}

impl TryFrom<String> for ShardFunction {
    type Error = NoShardFunction;

    fn try_from(text: String) -> Result<Self, NoShardFunction> {
        text.parse()
    }
}

/// Bytes of a public key: a compressed point of P-384.
const PUBLIC_KEY_BYTES: usize = 49;

/// Limits on what a caller accepts in a server's configuration.
#[derive(Debug, Clone)]
pub struct ConfigPolicy {
    /// Policy for parameters of less than 128 bits of security.
    pub weak: WeakParams,
    /// Largest number of parts among which the server may learn the one that contains a key, over
    /// all functions; 1 reveals nothing.
    pub max_shards: u64,
    /// New shard function of a use case, which a person has accepted. It is valid for one
    /// configuration, so that no key is queried under two functions in one call.
    pub accepted_change: Option<ShardFunction>,
}

/// Accepts one shard, and no weak parameters.
impl Default for ConfigPolicy {
    fn default() -> Self {
        ConfigPolicy { weak: WeakParams::Reject, max_shards: 1, accepted_change: None }
    }
}

/// Why a table's shards are refused. No query was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// Lookups would reveal more than the caller accepts.
    #[error("lookups with {function} reveal to the server which of {parts} parts a key is in{}, expected at most \
         {max} parts",
        if *.before { ", together with earlier lookups" } else { "" })]
    TooMany {
        /// Shard function of the use case.
        function: ShardFunction,
        /// Number of parts that the server would distinguish.
        parts: u64,
        /// Largest number of parts that is accepted.
        max: u64,
        /// Whether functions of other use cases, or of earlier configurations, contribute to the
        /// number.
        before: bool,
    },
    /// The use case was queried under another function before.
    #[error(
        "the shard function is {function}, expected {pinned}, which earlier lookups used: a lookup of the same key \
         under both reveals more"
    )]
    Changed {
        /// Function of the earlier lookups.
        pinned: ShardFunction,
        /// Function in the server's configuration.
        function: ShardFunction,
    },
}

/// Shard functions under which one server was queried, for each use case, to be kept from call to
/// call.
///
/// It is stored before a lookup is sent. A client that loses it lets the server start over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardHistory {
    /// Functions of each use case, the newest last.
    use_cases: BTreeMap<String, Vec<ShardFunction>>,
}

impl ShardHistory {
    /// Adds a use case's function if the caller accepts what it reveals.
    pub(super) fn admit(
        &mut self,
        use_case: &str,
        function: &ShardFunction,
        policy: &mut ConfigPolicy,
    ) -> Result<(), ShardError> {
        let accepted = policy.accepted_change.take();
        let pinned = self.use_cases.get(use_case).and_then(|functions| functions.last());
        if let Some(pinned) = pinned.filter(|pinned| *pinned != function)
            && accepted.as_ref() != Some(function)
        {
            return Err(ShardError::Changed { pinned: pinned.clone(), function: function.clone() });
        }
        if function.parts() > 1 {
            let known = self.use_cases.values().flatten();
            let parts = ShardFunction::parts_together(known.chain([function]));
            if parts > policy.max_shards {
                let before = parts > function.parts();
                let (function, max) = (function.clone(), policy.max_shards);
                return Err(ShardError::TooMany { function, parts, max, before });
            }
        }
        let functions = self.use_cases.entry(use_case.to_owned()).or_default();
        functions.retain(|known| known != function);
        functions.push(function.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(text: &str) -> ShardFunction {
        text.parse().unwrap()
    }

    /// Number of parts by the smallest class of hashes, counted.
    fn counted(functions: &[&str]) -> u64 {
        let functions: Vec<ShardFunction> = functions.iter().map(|text| function(text)).collect();
        let all = functions.iter().fold(1, |all, function| least_common_multiple(all, function.modulus));
        let mut classes: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
        for hash in 0..all {
            *classes.entry(functions.iter().map(|it| it.shard(hash)).collect()).or_default() += 1;
        }
        all.div_ceil(*classes.values().min().unwrap())
    }

    #[test]
    fn what_is_told_is_the_smallest_class_of_keys() {
        for text in ["sha256:1", "sha256:57", "double-mod:57:10", "double-mod:10:57", "double-mod:19:10"] {
            assert_eq!(function(text).parts(), counted(&[text]), "{text}");
        }
        assert_eq!(function("double-mod:19:10").parts(), 19, "one shard has one remainder, the others two");
        let exact: [&[&str]; 5] = [
            &["sha256:57", "double-mod:57:10"],
            &["sha256:4", "sha256:8"],
            &["sha256:64", "sha256:63"],
            &["double-mod:64:6", "double-mod:64:4"],
            &["double-mod:60:6", "double-mod:60:25", "sha256:60"],
        ];
        for functions in exact {
            let all: Vec<ShardFunction> = functions.iter().map(|text| function(text)).collect();
            assert_eq!(ShardFunction::parts_together(all.iter()), counted(functions), "{functions:?}");
        }
        // Combinations that are not counted exactly are overestimated.
        let mixed = ["double-mod:12:2", "double-mod:9:3"];
        let all = mixed.map(function);
        assert!(ShardFunction::parts_together(all.iter()) >= counted(&mixed));
        let most = [function("sha256:18446744073709551615"), function("sha256:18446744073709551614")];
        assert_eq!(ShardFunction::parts_together(most.iter()), u64::MAX);
    }

    #[test]
    fn a_function_has_one_text() {
        let key = "0a".repeat(PUBLIC_KEY_BYTES);
        for text in ["sha256:1", "sha256:57", "double-mod:57:10", &format!("p384:{key}:sha256:2")] {
            assert_eq!(function(text).to_string(), text);
        }
        let zero = format!("p384:{key}:sha256:1");
        for text in
            ["", "sha256:", "sha256:0", "sha256:+1", "sha256:01", "double-mod:5:5", "double-mod:1:7", &zero]
        {
            assert!(text.parse::<ShardFunction>().is_err(), "{text}");
        }
        assert!("p384:00:sha256:2".parse::<ShardFunction>().is_err());
        assert_eq!(ShardFunction::new(None, 1, 7), ShardFunction::ONE_SHARD, "tells nothing");
    }

    #[test]
    fn a_server_is_not_told_more_by_another_function() {
        let mut history = ShardHistory::default();
        let mut admit = |use_case: &str, text: &str, max_shards: u64, accepted: Option<&str>| {
            let accepted_change = accepted.map(function);
            let mut policy = ConfigPolicy { max_shards, accepted_change, ..ConfigPolicy::default() };
            let outcome = history.admit(use_case, &function(text), &mut policy);
            assert!(policy.accepted_change.is_none(), "it is good for one configuration");
            outcome
        };
        assert!(matches!(
            admit("a", "sha256:2", 1, None),
            Err(ShardError::TooMany { parts: 2, before: false, .. })
        ));
        admit("a", "sha256:57", 57, None).unwrap();
        assert!(
            matches!(admit("a", "sha256:57", 56, None), Err(ShardError::TooMany { .. })),
            "each call says how much"
        );
        assert!(matches!(admit("a", "sha256:56", 57, None), Err(ShardError::Changed { .. })));
        assert!(matches!(admit("a", "sha256:56", 57, Some("sha256:55")), Err(ShardError::Changed { .. })));
        let outcome = admit("a", "sha256:56", 57, Some("sha256:56"));
        assert!(matches!(outcome, Err(ShardError::TooMany { parts: 3192, before: true, .. })), "{outcome:?}");
        // Another use case of the server is queried for the same keys.
        assert!(matches!(admit("b", "sha256:56", 57, None), Err(ShardError::TooMany { parts: 3192, .. })));
        admit("b", "double-mod:57:10", 57, None).unwrap();
        admit("c", "sha256:1", 1, None).unwrap();
        // What was revealed is never forgotten.
        admit("a", "sha256:56", 3192, Some("sha256:56")).unwrap();
        assert!(matches!(admit("a", "sha256:56", 57, None), Err(ShardError::TooMany { parts: 3192, .. })));
        let kept = serde_json::to_string(&history).unwrap();
        assert_eq!(serde_json::from_str::<ShardHistory>(&kept).unwrap(), history);
        assert!(serde_json::from_str::<ShardHistory>(&kept.replace("sha256:57", "sha256:+57")).is_err());
    }
}
