//! The server's half: keys to places, in two passes over the data.
//!
//! In the first pass a [`KeywordBuilder`] hears of every key and the length of its value. It then knows how wide slots are,
//! chooses the number of rows and finds a place for everyone: a [`KeyPlacement`]. In the second pass that gives the bytes of each
//! slot, in the order of the keys, and where in the table they belong. What is not written is zeros.
//!
//! Neither holds keys or values: a builder takes 16 bytes for each key, and 20 to 25 while it finds places, a layout 4; where a
//! key has one row of `slots` keys, 256 / `slots` more while it finds places. Keys come in any order; the same keys in
//! the same order with the same seed give the same table.

use super::occupancy;
use super::params::TAG_BYTES;
use super::sizing::{KeyStats, KeywordSizes, params_for, smallest, values};
use super::tag::{KeyDigest, KeyHash};
use super::{KeyForm, Keyword, slot};
use sotto_core::{Error, SumElement};
use sotto_prg::PublicSeed;

/// Most keys, so that there are numbers for them and for the slots.
pub(super) const MAX_KEYS: u64 = 1 << 31;

/// What a table is to be like.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// What keys are.
    pub form: KeyForm,
    /// Bytes of the longest key there can be, in that form.
    pub key_bytes: u32,
    /// How long values are.
    pub width: ValueWidth,
    /// Rows that a key may lie in, each of which is fetched.
    pub probes: u32,
    /// Keys in a row; `None` for a number that goes with the width of values.
    pub slots: Option<u32>,
    /// Strips of a band, whose rows are as many; and what is added up.
    pub strips: Option<(u64, SumElement)>,
    /// Keys that the table is made for, if there will be more than there are.
    pub room: u64,
    /// log2 of how often a missing key may be found.
    pub false_positive_log2: f64,
    /// What the hash is keyed with. It is public, but nobody should have known it when keys were chosen.
    pub seed: PublicSeed,
}

/// How long values are: what a slot has room for. A longer value is refused, never cut or spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueWidth {
    /// As long as the longest there is.
    Longest,
    /// This many bytes at most, so that others can come.
    UpTo(u32),
}

impl BuildOptions {
    /// Keys of a form, with what most tables want.
    pub fn new(form: KeyForm, seed: PublicSeed) -> Self {
        BuildOptions {
            form,
            key_bytes: form.usual_bytes(),
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

/// Why no table comes of this. Keys are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No bytes.
    #[error("key {entry} is empty")]
    EmptyKey {
        /// Which key.
        entry: u64,
    },
    /// Longer than keys can be.
    #[error("key {entry} has {bytes} bytes, the longest allowed has {most}")]
    LongKey {
        /// Which key.
        entry: u64,
        /// How long it is.
        bytes: u64,
        /// How long it may be.
        most: u64,
    },
    /// Longer than values can be.
    #[error("the value of key {entry} has {bytes} bytes, there is room for {most}")]
    LongValue {
        /// Which key.
        entry: u64,
        /// How long it is.
        bytes: u64,
        /// How long it may be.
        most: u64,
    },
    /// The same key twice.
    #[error("key {second} is the same as key {first}")]
    Duplicate {
        /// The first of them.
        first: u64,
        /// The second.
        second: u64,
    },
    /// More keys, or room for more, than a table has.
    #[error("room for more than {most} keys, or keys that take up as much")]
    TooMany {
        /// How many there can be.
        most: u64,
    },
    /// Nothing to look up.
    #[error("there are no keys")]
    NoKeys,
    /// No choice of rows has room for all.
    #[error("the keys find no room in {rows} rows: give more slots to a row, or more probes")]
    Crowded {
        /// Rows of the table.
        rows: u64,
    },
    /// The second pass brought something else than the first.
    #[error("key {entry} is not what it was in the first pass")]
    Changed {
        /// Which key.
        entry: u64,
    },
    /// Options that no table has.
    #[error(transparent)]
    Refused(#[from] Error),
}

/// The first pass.
#[derive(Debug)]
pub struct KeywordBuilder {
    options: BuildOptions,
    hash: KeyHash,
    digests: Vec<KeyDigest>,
    shortest: u32,
    longest: u32,
}

impl KeywordBuilder {
    /// Begins a table.
    ///
    /// # Errors
    /// [`BuildError::Refused`].
    pub fn new(options: BuildOptions) -> Result<Self, BuildError> {
        smallest(&options).check()?;
        let hash = KeyHash::new(&options.seed, options.key_bytes);
        Ok(KeywordBuilder { options, hash, digests: Vec::new(), shortest: u32::MAX, longest: 0 })
    }

    /// Adds a key in its form, and the length of its value.
    ///
    /// # Errors
    /// [`BuildError::EmptyKey`], [`BuildError::LongKey`], [`BuildError::LongValue`], [`BuildError::TooMany`].
    pub fn add(&mut self, key: &[u8], value_bytes: u64) -> Result<(), BuildError> {
        let entry = self.digests.len() as u64 + 1;
        if key.is_empty() {
            return Err(BuildError::EmptyKey { entry });
        }
        let digest = self.hash.digest(key).ok_or(BuildError::LongKey {
            entry,
            bytes: key.len() as u64,
            most: self.options.key_bytes.into(),
        })?;
        let most = match self.options.width {
            ValueWidth::Longest => super::params::MAX_ROW_BYTES,
            ValueWidth::UpTo(most) => most.into(),
        };
        let length = u32::try_from(value_bytes).ok().filter(|_| value_bytes <= most);
        let length = length.ok_or(BuildError::LongValue { entry, bytes: value_bytes, most })?;
        if entry > MAX_KEYS {
            return Err(BuildError::TooMany { most: MAX_KEYS });
        }
        self.shortest = self.shortest.min(length);
        self.longest = self.longest.max(length);
        self.digests.push(digest);
        Ok(())
    }

    /// Leaves out keys that came before, and gives their numbers, from 1 on: the second pass leaves them out too. For sets, whose
    /// keys stand for nothing else.
    pub fn drop_repeated(&mut self) -> Vec<u64> {
        let digest = |key: &u32| self.digests.get(*key as usize).copied();
        let mut order: Vec<u32> = (0..self.digests.len() as u32).collect();
        order.sort_unstable_by_key(|key| (digest(key).map(KeyDigest::bytes), *key));
        let pairs = order.iter().zip(order.iter().skip(1));
        let mut repeated: Vec<u64> =
            pairs.filter(|(a, b)| digest(a) == digest(b)).map(|(_, b)| u64::from(*b) + 1).collect();
        repeated.sort_unstable();
        let (mut entry, mut left) = (0, repeated.iter().peekable());
        self.digests.retain(|_| {
            entry += 1;
            left.next_if_eq(&&entry).is_none()
        });
        repeated
    }

    /// Finds a place for every key.
    ///
    /// # Errors
    /// [`BuildError::Duplicate`], [`BuildError::NoKeys`], [`BuildError::Crowded`], [`BuildError::Refused`].
    pub fn place(self) -> Result<KeyPlacement, BuildError> {
        let KeywordBuilder { options, hash, digests, shortest, longest } = self;
        let keys = digests.len() as u64;
        if keys == 0 {
            return Err(BuildError::NoKeys);
        }
        let mut params = params_for(&options, keys, values(&options, shortest, longest))?;
        params.tag_bytes = distinct(&digests, params.tag_bytes)?;
        params.check()?;
        let rows = params.rows;
        let found = occupancy::place_all(&params, &digests);
        let (params, slot_of) = found.ok_or(BuildError::Crowded { rows })?;
        Ok(KeyPlacement { keyword: Keyword { params, hash }, slot_of, next: 0 })
    }

    /// How many keys there are so far, and how long their values.
    pub fn counted(&self) -> KeyStats {
        let (shortest, longest) = (self.shortest, self.longest);
        KeyStats { options: self.options.clone(), keys: self.digests.len() as u64, shortest, longest }
    }

    /// What a table of the keys so far would be, in another arrangement.
    ///
    /// # Errors
    /// As [`KeyStats::sizes`].
    pub fn sizes(&self, probes: u32, slots: u32) -> Result<KeywordSizes, BuildError> {
        self.counted().sizes(probes, slots)
    }

    /// What a table of the keys so far would be, if they lay in sums of rows.
    ///
    /// # Errors
    /// As [`KeyStats::sizes`].
    pub fn band_sizes(&self, strips: u64, unit: SumElement) -> Result<KeywordSizes, BuildError> {
        self.counted().band_sizes(strips, unit)
    }

    /// Has the table arranged so.
    pub fn arrange(&mut self, probes: u32, slots: u32) {
        (self.options.probes, self.options.slots, self.options.strips) = (probes, Some(slots), None);
    }

    /// Has keys lie in sums of rows, of so many strips.
    pub fn arrange_band(&mut self, strips: u64, unit: SumElement) {
        (self.options.probes, self.options.strips) = (1, Some((strips, unit)));
    }
}

/// Bytes of a tag, from `tag_bytes` on, that tell all these keys apart.
fn distinct(digests: &[KeyDigest], tag_bytes: u32) -> Result<u32, BuildError> {
    let digest = |key: &u32| digests.get(*key as usize).copied();
    let mut order: Vec<u32> = (0..digests.len() as u32).collect();
    // Keys whose hashes begin alike are neighbors, and equal ones are in the order in which they came.
    order.sort_unstable_by_key(|key| (digest(key).map(KeyDigest::bytes), *key));
    let pairs = || order.iter().zip(order.iter().skip(1));
    let same = pairs().filter(|(a, b)| digest(a) == digest(b)).min_by_key(|(_, b)| *b);
    if let Some((first, second)) = same {
        return Err(BuildError::Duplicate { first: u64::from(*first) + 1, second: u64::from(*second) + 1 });
    }
    let cut = |key, tag_bytes| digest(key).map(|digest| digest.cut(tag_bytes));
    let enough = |tag_bytes: &u32| pairs().all(|(a, b)| cut(a, *tag_bytes) != cut(b, *tag_bytes));
    Ok((tag_bytes..*TAG_BYTES.end()).find(enough).unwrap_or(*TAG_BYTES.end()))
}

/// Where everyone lies, for the second pass.
#[derive(Debug)]
pub struct KeyPlacement {
    keyword: Keyword,
    /// The slot of each key.
    slot_of: Vec<u32>,
    /// How many keys came back.
    next: usize,
}

impl KeyPlacement {
    /// The table's layer.
    pub fn keyword(&self) -> &Keyword {
        &self.keyword
    }

    /// Writes the next key's slot into `slot`, and gives where in the table it belongs: how many bytes come before it in the
    /// rows, one after the other.
    ///
    /// # Errors
    /// [`BuildError::Changed`] if this is not the key that came then in the first pass.
    pub fn write(&mut self, key: &[u8], value: &[u8], slot: &mut Vec<u8>) -> Result<u64, BuildError> {
        let params = self.keyword.params();
        let changed = BuildError::Changed { entry: self.next as u64 + 1 };
        let digest = self.keyword.digest(key).ok();
        let (Some(digest), Some(&at)) = (digest, self.slot_of.get(self.next)) else { return Err(changed) };
        let row = u64::from(at) / u64::from(params.slots);
        slot.clear();
        slot.resize(params.slot_bytes() as usize, 0);
        if !self.keyword.may_lie(*digest, row) || slot::write(params, *digest, value, slot).is_none() {
            return Err(changed);
        }
        self.next += 1;
        Ok(u64::from(at) * params.slot_bytes())
    }

    /// The table's layer, if every key came back.
    ///
    /// # Errors
    /// [`BuildError::Changed`].
    pub fn finish(self) -> Result<Keyword, BuildError> {
        if self.next < self.slot_of.len() {
            return Err(BuildError::Changed { entry: self.next as u64 + 1 });
        }
        Ok(self.keyword)
    }
}
