//! The options of a table of keys, and the reasons why it cannot be built.

use super::form::KeyForm;
use sotto_core::{Error, SumElement};
use sotto_prg::PublicSeed;

/// Maximum number of keys, so that keys and slots can be numbered.
pub(super) const MAX_KEYS: u64 = 1 << 31;

/// The options of a table of keys.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// The form of keys.
    pub form: KeyForm,
    /// Bytes of the longest possible key, in that form.
    pub key_bytes: u32,
    /// The lengths of values.
    pub width: ValueWidth,
    /// Number of rows that may have a key, each of which is fetched.
    pub probes: u32,
    /// Keys in a row; `None` for a number that fits the width of values.
    pub slots: Option<u32>,
    /// For a band, the number of its strips and the elements that are added.
    pub strips: Option<(u64, SumElement)>,
    /// Number of keys that the table has space for, if more than it starts with.
    pub room: u64,
    /// log2 of the accepted probability that a missing key is found.
    pub false_positive_log2: f64,
    /// The key of the hash. It is public, but must be unknown when keys are chosen.
    pub seed: PublicSeed,
}

/// The space of a slot for a value. A longer value is refused, never truncated or spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueWidth {
    /// The length of the longest value of the data.
    Longest,
    /// At most this many bytes, so that longer values can come later.
    UpTo(u32),
}

impl BuildOptions {
    /// Keys of a form, with the defaults that suit most tables.
    pub fn new(form: KeyForm, seed: PublicSeed) -> Self {
        BuildOptions {
            form,
            key_bytes: form.default_bytes(),
            width: ValueWidth::Longest,
            probes: 2,
            slots: None,
            strips: None,
            room: 0,
            false_positive_log2: -64.0,
            seed,
        }
    }
}

/// The reason why a table cannot be built. Keys are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A key without bytes.
    #[error("key {entry} is empty")]
    EmptyKey {
        /// The number of the key.
        entry: u64,
    },
    /// A key above the maximum length.
    #[error("key {entry} has {bytes} bytes, above the maximum of {most}")]
    LongKey {
        /// The number of the key.
        entry: u64,
        /// Bytes of the key.
        bytes: u64,
        /// Maximum bytes of a key.
        most: u64,
    },
    /// A value above the maximum length.
    #[error("the value of key {entry} has {bytes} bytes, above the maximum of {most}")]
    LongValue {
        /// The number of the key.
        entry: u64,
        /// Bytes of the value.
        bytes: u64,
        /// Maximum bytes of a value.
        most: u64,
    },
    /// A key that occurs twice.
    #[error("key {second} is the same as key {first}")]
    Duplicate {
        /// The number of its first occurrence.
        first: u64,
        /// The number of its second occurrence.
        second: u64,
    },
    /// More keys, or space for more, than a table can have.
    #[error("the table has more than {most} slots")]
    TooMany {
        /// Maximum number of keys.
        most: u64,
    },
    /// A table without keys.
    #[error("the table has no keys")]
    NoKeys,
    /// No choice of rows has a slot for every key.
    #[error("{rows} rows have no slot for some key")]
    Crowded {
        /// Rows of the table.
        rows: u64,
    },
    /// The second pass differs from the first.
    #[error("key {entry} differs between the two passes")]
    Changed {
        /// The number of the key.
        entry: u64,
    },
    /// Options that no table can have.
    #[error(transparent)]
    Refused(#[from] Error),
}
