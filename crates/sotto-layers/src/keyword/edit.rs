//! The server's half: changing values and adding keys, row by row.
//!
//! A key's new value changes the one row that has the key. A new key changes one row if it has an
//! empty slot, and otherwise the least number of rows that frees one: each key that moves goes to
//! another of its rows, which follow from the tag in its slot; or row bounds move, where a key has
//! one row only ([`super::row_bounds`]). No list of keys is needed, only the rows.
//!
//! In a table of few keys that may fail although there are empty slots: too many keys have the same
//! two rows. Then all keys are placed again under another choice of rows, which follow from the
//! tags too, and every row changes. So the table holds as many keys as it was made for.

use crate::keyword::params::Params;
use crate::keyword::row_bounds::{self, RowBounds};
use crate::keyword::tag::KeyDigest;
use crate::keyword::{Keyword, occupancy, slot};
use sotto_core::{Misuse, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of rows that are searched for an empty slot. Few tables that have one are refused
/// by this limit.
const SEARCHED: usize = 4096;

/// The reason why a key cannot be set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The key or the value is invalid for this table.
    #[error(transparent)]
    Core(#[from] sotto_core::Error),
    /// The value is longer than the table's values can be, or of another length where all have one
    /// length.
    #[error("a value of {bytes} bytes does not fit the {limit} bytes of the table's values")]
    Value {
        /// Bytes of the value.
        bytes: u64,
        /// Maximum bytes of a value, or their exact number.
        limit: u64,
    },
    /// No slot is free, however keys are moved.
    #[error("the table has no slot for another key")]
    Full,
}

/// Changes to the rows of a table.
///
/// Only the changed rows are in memory.
#[derive(Debug)]
pub struct TableEdit<F> {
    keyword: Arc<Keyword>,
    fetch: F,
    changed: BTreeMap<u64, Vec<u8>>,
}

/// A row that was searched, and the slot and the step from which it was reached.
struct CuckooStep {
    row: u64,
    bytes: Vec<u8>,
    from: Option<(usize, usize)>,
}

impl<F: FnMut(u64) -> Result<Vec<u8>>> TableEdit<F> {
    /// Changes to the table whose rows `fetch` returns.
    pub fn new(keyword: &Keyword, fetch: F) -> Self {
        TableEdit { keyword: Arc::new(keyword.clone()), fetch, changed: BTreeMap::new() }
    }

    /// Sets the value of a key. Returns whether the table had the key.
    ///
    /// # Errors
    /// [`EditError`]; then nothing has changed.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<bool, EditError> {
        let keyword = self.keyword.clone();
        let (digest, params) = (*keyword.digest(key)?, keyword.params());
        let mut entry = vec![0; params.slot_bytes() as usize];
        slot::write(params, digest, value, &mut entry)
            .ok_or(EditError::Value { bytes: value.len() as u64, limit: params.values.most().into() })?;
        if let Some((row, at, mut bytes)) = self.find(digest)? {
            put(params, &mut bytes, at, &entry)?;
            self.changed.insert(row, bytes);
            return Ok(true);
        }
        let added = match &params.cuts {
            Some(cuts) => self.recut(params, cuts, digest, &entry),
            None => self.make_room(digest, &entry),
        };
        match added {
            Err(EditError::Full) => self.place_anew(digest, &entry)?,
            added => added?,
        }
        Ok(false)
    }

    /// Removes a key. Returns whether the table had it.
    ///
    /// # Errors
    /// The errors of fetching, and [`Misuse::Rule`] for an invalid key.
    pub fn remove(&mut self, key: &[u8]) -> Result<bool> {
        let digest = *self.keyword.digest(key)?;
        let Some((row, at, mut bytes)) = self.find(digest)? else { return Ok(false) };
        let empty = vec![0; self.keyword.params().slot_bytes() as usize];
        put(self.keyword.params(), &mut bytes, at, &empty)?;
        self.changed.insert(row, bytes);
        Ok(true)
    }

    /// The changed rows, and the layer of the changed table.
    pub fn finish(self) -> (BTreeMap<u64, Vec<u8>>, Keyword) {
        (self.changed, Arc::unwrap_or_clone(self.keyword))
    }

    fn row(&mut self, row: u64) -> Result<Vec<u8>> {
        let bytes = match self.changed.get(&row) {
            Some(bytes) => bytes.clone(),
            None => (self.fetch)(row)?,
        };
        match bytes.len() as u64 == self.keyword.params().row_bytes() {
            true => Ok(bytes),
            false => Err(Misuse::Rule("the row must have the width of a row of slots").into()),
        }
    }

    /// The row and the slot of a key, and the row's bytes.
    fn find(&mut self, digest: KeyDigest) -> Result<Option<(u64, usize, Vec<u8>)>> {
        for row in self.keyword.rows(digest) {
            let bytes = self.row(row)?;
            let at = slots(self.keyword.params(), &bytes).position(|held| held == Some(digest));
            if let Some(at) = at {
                return Ok(Some((row, at, bytes)));
            }
        }
        Ok(None)
    }

    /// Searches from a key's rows to the other rows of the keys there, and so on, until there is an
    /// empty slot; then moves the keys on the path to it. The first empty slot is at the end of a
    /// shortest path.
    fn make_room(&mut self, digest: KeyDigest, entry: &[u8]) -> Result<(), EditError> {
        let keyword = self.keyword.clone();
        let params = keyword.params();
        let mut steps: Vec<CuckooStep> = Vec::new();
        let mut next = 0;
        for row in self.keyword.rows(digest) {
            steps.push(CuckooStep { row, bytes: self.row(row)?, from: None });
        }
        while let Some(step) = steps.get(next) {
            let held: Vec<Option<KeyDigest>> = slots(params, &step.bytes).collect();
            if let Some(free) = held.iter().position(Option::is_none) {
                return self.shift(&mut steps, next, free, entry).map_err(EditError::from);
            }
            for (at, other) in held.into_iter().enumerate() {
                for row in other.into_iter().flat_map(|other| keyword.rows(other)) {
                    if steps.len() < SEARCHED && steps.iter().all(|step| step.row != row) {
                        steps.push(CuckooStep { row, bytes: self.row(row)?, from: Some((next, at)) });
                    }
                }
            }
            next += 1;
        }
        Err(EditError::Full)
    }

    /// Puts a key into its row if it has an empty slot; otherwise moves the row bounds of as few
    /// neighbors as possible, on either side.
    fn recut(
        &mut self,
        params: &Params,
        cuts: &RowBounds,
        digest: KeyDigest,
        entry: &[u8],
    ) -> Result<(), EditError> {
        let home = cuts.row_of_public(digest, params.attempt) as usize;
        let mut bytes = self.row(home as u64)?;
        let free = slots(params, &bytes).position(|held| held.is_none());
        if let Some(free) = free {
            put(params, &mut bytes, free, entry)?;
            self.changed.insert(home as u64, bytes);
            return Ok(());
        }
        let (mut first, mut rows) = (home, vec![bytes]);
        while rows.len() < MAX_ROWS {
            // Both sides take turns, as long as there are rows on that side.
            let (before, after) = (first.checked_sub(1), first + rows.len());
            let has_after = (after as u64) < params.rows;
            match before.filter(|_| !has_after || rows.len() % 2 == 0) {
                Some(before) => {
                    rows.insert(0, self.row(before as u64)?);
                    first = before;
                }
                None if has_after => rows.push(self.row(after as u64)?),
                None => break,
            }
            let window = RowWindow { params, cuts, first, rows: &rows, digest, entry };
            let Some((recut, cuts)) = recut(&window) else { continue };
            for ((row, old), new) in (first as u64..).zip(&rows).zip(recut) {
                if *old != new {
                    self.changed.insert(row, new);
                }
            }
            let params = Params { cuts: Some(cuts), ..params.clone() };
            self.keyword = Arc::new(Keyword { params, hash: self.keyword.hash.clone() });
            return Ok(());
        }
        Err(EditError::Full)
    }

    /// Places every key again under another choice of rows, if there are no more than the table was
    /// made for.
    fn place_anew(&mut self, digest: KeyDigest, entry: &[u8]) -> Result<(), EditError> {
        let keyword = self.keyword.clone();
        let params = keyword.params();
        let mut keys = 1;
        for row in 0..params.rows {
            keys += slots(params, &self.row(row)?).flatten().count() as u64;
        }
        if !occupancy::is_made_for(params, keys) {
            return Err(EditError::Full);
        }
        let width = params.slot_bytes() as usize;
        let (mut digests, mut entries) = (vec![digest.cut(params.tag_bytes)], entry.to_vec());
        for row in 0..params.rows {
            let bytes = self.row(row)?;
            for (digest, held) in slots(params, &bytes).zip(bytes.chunks_exact(width)) {
                digests.extend(digest);
                entries.extend_from_slice(if digest.is_some() { held } else { &[] });
            }
        }
        let (params, slot_of) = occupancy::place_all(params, &digests).ok_or(EditError::Full)?;
        let mut rows = vec![vec![0; params.row_bytes() as usize]; params.rows as usize];
        for (at, entry) in slot_of.into_iter().zip(entries.chunks_exact(width)) {
            let (row, slot) = (at / params.slots, at % params.slots);
            let row = rows
                .get_mut(row as usize)
                .ok_or(Misuse::Rule("there must be a row for each key"))
                .map_err(sotto_core::Error::from)?;
            put(&params, row, slot as usize, entry)?;
        }
        self.changed = (0..).zip(rows).collect();
        self.keyword = Arc::new(Keyword { params, hash: keyword.hash.clone() });
        Ok(())
    }

    /// Moves each key on the path to the empty slot one step on, the last first, and puts the new
    /// one where the first was.
    fn shift(
        &mut self,
        steps: &mut [CuckooStep],
        mut last: usize,
        mut free: usize,
        entry: &[u8],
    ) -> Result<()> {
        let params = &self.keyword.params;
        let width = params.slot_bytes() as usize;
        let lost = Misuse::Rule("there must be a path to an empty slot");
        loop {
            let from = steps.get(last).and_then(|step| step.from);
            let moved = match from {
                Some((before, at)) => {
                    let held = steps.get(before).and_then(|step| step.bytes.chunks_exact(width).nth(at));
                    held.ok_or(lost.clone())?.to_vec()
                }
                None => entry.to_vec(),
            };
            let step = steps.get_mut(last).ok_or(lost.clone())?;
            put(params, &mut step.bytes, free, &moved)?;
            self.changed.insert(step.row, step.bytes.clone());
            match from {
                Some(before) => (last, free) = before,
                None => return Ok(()),
            }
        }
    }
}

/// The keys of a row's slots.
fn slots(params: &Params, row: &[u8]) -> impl Iterator<Item = Option<KeyDigest>> {
    row.chunks_exact(params.slot_bytes() as usize).map(|held| slot::digest(params, held))
}

fn put(params: &Params, row: &mut [u8], at: usize, entry: &[u8]) -> Result<()> {
    let held = row.chunks_exact_mut(params.slot_bytes() as usize).nth(at);
    held.ok_or(Misuse::Rule("the slot must be within the row"))?.copy_from_slice(entry);
    Ok(())
}

/// Maximum number of rows whose bounds may move for one key. Each of them is written again.
pub(super) const MAX_ROWS: usize = 64;

/// Neighboring rows, and one more key to put into one of them.
pub(super) struct RowWindow<'a> {
    pub(super) params: &'a Params,
    pub(super) cuts: &'a RowBounds,
    pub(super) first: usize,
    /// The bytes of the rows.
    pub(super) rows: &'a [Vec<u8>],
    pub(super) digest: KeyDigest,
    /// The bytes of the new key's slot.
    pub(super) entry: &'a [u8],
}

/// A key and its current row and slot, if it has one.
struct PlacedKey<'a> {
    cell: u32,
    bytes: &'a [u8],
    at: Option<(usize, usize)>,
}

/// The changed rows, and the new bounds of all rows.
pub(super) type Rebalanced = (Vec<Vec<u8>>, RowBounds);

/// Moves the bounds of these rows so that all keys have slots; `None` if that is impossible. The
/// rows become as evenly full as possible, and keys that stay in their row stay in their slot.
pub(super) fn recut(window: &RowWindow<'_>) -> Option<Rebalanced> {
    let RowWindow { params, cuts, first, rows, digest, entry } = window;
    let cell = |digest| row_bounds::cell_of(digest, params.attempt, params.rows);
    let (begin, end) = (cuts.start(*first), cuts.start(first + rows.len()));
    let width = usize::try_from(params.slot_bytes()).ok()?;
    let mut held = vec![PlacedKey { cell: cell(*digest), bytes: entry, at: None }];
    for (row, bytes) in rows.iter().enumerate() {
        for (at, bytes) in bytes.chunks_exact(width).enumerate() {
            if let Some(digest) = slot::digest(params, bytes) {
                held.push(PlacedKey { cell: cell(digest), bytes, at: Some((row, at)) });
            }
        }
    }
    let mut keys_of_cells = vec![0u32; end.checked_sub(begin)? as usize];
    for key in &held {
        *keys_of_cells.get_mut(key.cell.checked_sub(begin)? as usize)? += 1;
    }
    let widths = row_bounds::cut(&keys_of_cells, rows.len(), params.slots)?;
    let cuts = cuts.recut(*first, &widths)?;

    let mut out: Vec<Vec<Option<&[u8]>>> = vec![vec![None; params.slots as usize]; rows.len()];
    let row_of = |key: &PlacedKey<'_>| {
        let is_in = |row: &usize| cells_of(&cuts, first + row).contains(&key.cell);
        (0..rows.len()).find(is_in)
    };
    let mut moved = Vec::new();
    for key in &held {
        let row = row_of(key)?;
        match key.at.filter(|(old, _)| *old == row) {
            Some((_, at)) => *out.get_mut(row)?.get_mut(at)? = Some(key.bytes),
            None => moved.push((row, key.bytes)),
        }
    }
    for (row, bytes) in moved {
        *out.get_mut(row)?.iter_mut().find(|slot| slot.is_none())? = Some(bytes);
    }
    let empty = vec![0; width];
    let row = |slots: Vec<Option<&[u8]>>| -> Vec<u8> {
        slots.into_iter().flat_map(|slot| slot.unwrap_or(&empty)).copied().collect()
    };
    Some((out.into_iter().map(row).collect(), cuts))
}

fn cells_of(cuts: &RowBounds, row: usize) -> Range<u32> {
    cuts.start(row)..cuts.start(row + 1)
}
