//! The server's half: placing keys, in two passes over the data.
//!
//! In the first pass a [`KeywordBuilder`] gets every key and the length of its value. It then knows
//! the width of slots, chooses the number of rows and finds a slot for every key: a
//! [`KeyPlacement`]. In the second pass the placement produces the bytes of each slot, in the order
//! of the keys, with their offset in the table. Bytes that are not written are zeros.
//!
//! Neither holds keys or values: a builder takes 16 bytes for each key, and 20 to 25 while it finds
//! slots, a placement 4; where a key has one row of `slots` keys, 256 / `slots` more while it finds
//! slots. Keys come in any order; the same keys in the same order with the same seed give the same
//! table.

use super::occupancy;
use super::params::TAG_BYTES;
use super::sizing::{BuildError, BuildOptions, MAX_KEYS, ValueWidth};
use super::sizing::{KeyStats, KeywordSizes, params_for, smallest, values};
use super::tag::{KeyDigest, KeyHash};
use super::{Keyword, slot};
use sotto_core::SumElement;

/// The first pass over the keys.
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
    /// [`BuildError::EmptyKey`], [`BuildError::LongKey`], [`BuildError::LongValue`],
    /// [`BuildError::TooMany`].
    pub fn add(&mut self, key: &[u8], value_bytes: u64) -> Result<(), BuildError> {
        let entry = self.digests.len() as u64 + 1;
        if key.is_empty() {
            return Err(BuildError::EmptyKey { entry });
        }
        let digest = self.hash.digest(key).ok_or(BuildError::LongKey {
            entry,
            bytes: key.len() as u64,
            limit: self.options.key_bytes.into(),
        })?;
        let most = match self.options.width {
            ValueWidth::Longest => super::params::MAX_ROW_BYTES,
            ValueWidth::UpTo(most) => most.into(),
        };
        let length = u32::try_from(value_bytes).ok().filter(|_| value_bytes <= most);
        let length = length.ok_or(BuildError::LongValue { entry, bytes: value_bytes, limit: most })?;
        if entry > MAX_KEYS {
            return Err(BuildError::TooMany { limit: MAX_KEYS });
        }
        self.shortest = self.shortest.min(length);
        self.longest = self.longest.max(length);
        self.digests.push(digest);
        Ok(())
    }

    /// Drops repeated keys, and returns their numbers, from 1 on, which the second pass must skip
    /// too. For sets, whose keys have no values.
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

    /// Finds a slot for every key.
    ///
    /// # Errors
    /// [`BuildError::Duplicate`], [`BuildError::NoKeys`], [`BuildError::Crowded`],
    /// [`BuildError::Refused`].
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

    /// Number of keys so far, and the lengths of their values.
    pub fn counted(&self) -> KeyStats {
        let (shortest, longest) = (self.shortest, self.longest);
        KeyStats { options: self.options.clone(), keys: self.digests.len() as u64, shortest, longest }
    }

    /// The sizes of a table of the keys so far, with other numbers of probes and slots.
    ///
    /// # Errors
    /// The errors of [`KeyStats::sizes`].
    pub fn sizes(&self, probes: u32, slots: u32) -> Result<KeywordSizes, BuildError> {
        self.counted().sizes(probes, slots)
    }

    /// The sizes of a table of the keys so far, in a band.
    ///
    /// # Errors
    /// The errors of [`KeyStats::sizes`].
    pub fn band_sizes(&self, strips: u64, unit: SumElement) -> Result<KeywordSizes, BuildError> {
        self.counted().band_sizes(strips, unit)
    }

    /// Sets the numbers of probes and slots.
    pub fn arrange(&mut self, probes: u32, slots: u32) {
        (self.options.probes, self.options.slots, self.options.strips) = (probes, Some(slots), None);
    }

    /// Puts keys into a band with `strips` strips.
    pub fn arrange_band(&mut self, strips: u64, unit: SumElement) {
        (self.options.probes, self.options.strips) = (1, Some((strips, unit)));
    }
}

/// Bytes of a tag, from `tag_bytes` on, that distinguish all these keys.
fn distinct(digests: &[KeyDigest], tag_bytes: u32) -> Result<u32, BuildError> {
    let digest = |key: &u32| digests.get(*key as usize).copied();
    let mut order: Vec<u32> = (0..digests.len() as u32).collect();
    // Keys whose hashes share a prefix are neighbors, and equal ones are in the order in which they
    // came.
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

/// The slots of all keys, for the second pass.
#[derive(Debug)]
pub struct KeyPlacement {
    keyword: Keyword,
    /// The slot of each key.
    slot_of: Vec<u32>,
    /// Number of keys that the second pass has written.
    next: usize,
}

impl KeyPlacement {
    /// The layer of the table.
    pub fn keyword(&self) -> &Keyword {
        &self.keyword
    }

    /// Writes the next key's slot into `slot`, and returns its offset in the table: the number of
    /// bytes before it in the concatenated rows.
    ///
    /// # Errors
    /// [`BuildError::Changed`] if the first pass had another key here.
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

    /// The layer of the table, if every key was written.
    ///
    /// # Errors
    /// [`BuildError::Changed`] if keys are missing.
    pub fn finish(self) -> Result<Keyword, BuildError> {
        if self.next < self.slot_of.len() {
            return Err(BuildError::Changed { entry: self.next as u64 + 1 });
        }
        Ok(self.keyword)
    }
}
