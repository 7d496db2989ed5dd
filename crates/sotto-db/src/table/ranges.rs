//! Sorted ranges of keys, expanded to blocks while they are read.
//!
//! The ranges stay in memory, at 28 bytes each and one copy of each distinct value; the rows that
//! they represent, often a hundred times as many, never do.

use super::{TableSource, check_read};
use serde::{Deserialize, Serialize};
use sotto_core::{ExpectOrDefault, Misuse, Result};

/// Rule for the value of a block that several ranges cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BlockRule {
    /// The value of the range that contains the block's first key.
    #[default]
    First,
    /// The value that covers the most keys of the block; the first such value wins a tie.
    Most,
}

/// A range of keys, both ends included, and the number of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRange {
    /// First key of the range.
    pub start: u64,
    /// Last key of the range.
    pub end: u64,
    /// Number of the range's value.
    pub value: u32,
}

/// A range table. Row `i` holds the value of keys `first + i * block` to `first + i * block + block
/// - 1`.
#[derive(Debug)]
pub struct RangeTable {
    ranges: Vec<KeyRange>,
    values: Vec<u8>,
    width: usize,
    first: u64,
    block: u64,
    rows: u64,
    rule: BlockRule,
}

impl RangeTable {
    /// A table of `rows` rows of `width` bytes. `values` contains the values one after the other;
    /// the first is the value of keys that no range covers.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if ranges are not ascending and disjoint, or a value is missing.
    pub fn new(
        ranges: Vec<KeyRange>,
        values: Vec<u8>,
        width: usize,
        first: u64,
        block: u64,
        rows: u64,
        rule: BlockRule,
    ) -> Result<Self> {
        let apart = ranges.windows(2).all(|pair| matches!(pair, [a, b] if a.end < b.start));
        if !apart || ranges.iter().any(|range| range.start > range.end) {
            return Err(Misuse::Rule("ranges are not ascending, or overlap").into());
        }
        if width == 0 || values.is_empty() || !values.len().is_multiple_of(width) {
            return Err(Misuse::Rule("a value has another width than a row").into());
        }
        let count = (values.len() / width) as u64;
        if ranges.iter().any(|range| u64::from(range.value) >= count) {
            return Err(Misuse::Rule("a range has no value").into());
        }
        let last = rows.checked_sub(1).and_then(|n| n.checked_mul(block)?.checked_add(first));
        if block == 0 || last.is_none() {
            return Err(Misuse::Rule("blocks have no keys, or end past 64 bits").into());
        }
        Ok(RangeTable { ranges, values, width, first, block, rows, rule })
    }

    /// Number of blocks with keys of more than one value.
    pub fn mixed_blocks(&self) -> u64 {
        // A block is mixed if the value changes inside it. Changes happen where a range starts or
        // ends.
        let changes = self.ranges.iter().flat_map(|range| {
            let before = range.start.checked_sub(1);
            [(before, Some(range.start)), (Some(range.end), range.end.checked_add(1))]
        });
        let mut count = 0;
        let mut last_counted = None;
        for (left, right) in changes {
            let (Some(left), Some(right)) = (left, right) else { continue };
            let block = |key: u64| key.checked_sub(self.first).map(|key| key / self.block);
            let inside = block(left).filter(|&at| Some(at) == block(right) && at < self.rows);
            if let Some(at) = inside
                && last_counted != Some(at)
                && self.value_of_key(left) != self.value_of_key(right)
            {
                last_counted = Some(at);
                count += 1;
            }
        }
        count
    }

    /// Number of the value of a row.
    pub(crate) fn number_of(&self, row: u64) -> u32 {
        let start = self.first + row * self.block;
        let at = self.ranges.partition_point(|range| range.end < start);
        self.number_from(at, start)
    }

    /// Number of the value of the block that begins with the key `start`; `at` is the first range
    /// that ends there or later.
    fn number_from(&self, at: usize, start: u64) -> u32 {
        match self.rule {
            BlockRule::First => {
                self.ranges.get(at).filter(|range| range.start <= start).map_or(0, |range| range.value)
            }
            BlockRule::Most => self.most_common(at, start, start.saturating_add(self.block - 1)),
        }
    }

    fn value_of_key(&self, key: u64) -> &[u8] {
        let at = self.ranges.partition_point(|range| range.end < key);
        self.value(self.ranges.get(at).filter(|range| range.start <= key).map_or(0, |range| range.value))
    }

    fn value(&self, number: u32) -> &[u8] {
        self.values
            .chunks_exact(self.width)
            .nth(number as usize)
            .expect_or_default("a number is that of a value")
    }

    /// Number of the value that covers the most keys in `start..=end`; `from` is the first range
    /// that ends at `start` or later.
    fn most_common(&self, from: usize, start: u64, end: u64) -> u32 {
        let mut shares: Vec<(u32, u128)> = Vec::new();
        let mut add = |value, keys: u128| match shares.iter_mut().find(|(held, _)| *held == value) {
            Some((_, share)) => *share += keys,
            None => shares.push((value, keys)),
        };
        let mut next = u128::from(start);
        for range in self.ranges.iter().skip(from).take_while(|range| range.start <= end) {
            let (left, right) = (range.start.max(start), range.end.min(end));
            if u128::from(left) > next {
                add(0, u128::from(left) - next);
            }
            add(range.value, u128::from(right - left) + 1);
            next = u128::from(right) + 1;
        }
        if next <= u128::from(end) {
            add(0, u128::from(end) + 1 - next);
        }
        let best = shares.into_iter().reduce(|best, share| if share.1 > best.1 { share } else { best });
        best.map_or(0, |(value, _)| value)
    }
}

impl TableSource for RangeTable {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn row_bytes(&self) -> usize {
        self.width
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        check_read(first, out, self.width, self.rows)?;
        let key_of = |row: u64| self.first + row * self.block;
        let mut at = self.ranges.partition_point(|range| range.end < key_of(first));
        for (row, out) in (first..).zip(out.chunks_exact_mut(self.width)) {
            let start = key_of(row);
            while self.ranges.get(at).is_some_and(|range| range.end < start) {
                at += 1;
            }
            let number = self.number_from(at, start);
            out.copy_from_slice(self.value(number));
        }
        Ok(())
    }
}
