//! The server's half: values changed and keys added, row by row.
//!
//! A key's new value changes the one row that the key lies in. A new key changes one row where there is room, and otherwise as
//! few as it takes to make room: each key that moves goes to another of its rows, which follow from the tag in its slot. No
//! list of keys is needed, only the rows.

use super::params::Params;
use super::tag::Digest;
use super::{Keyword, slot};
use sotto_core::{Misuse, Result};
use std::collections::BTreeMap;

/// Rows that are looked at to make room for a key. Few tables that have any are refused it by this.
const SEARCHED: usize = 4096;

/// Why a key cannot be set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The key or the value is none of this table's.
    #[error(transparent)]
    Core(#[from] sotto_core::Error),
    /// The value is longer than those of the table, or of another length where all have one.
    #[error("a value of {bytes} bytes does not fit the table, whose values have {most}: encode it afresh")]
    Value {
        /// How long it is.
        bytes: u64,
        /// How long it may be, or has to be.
        most: u64,
    },
    /// There is no room, however keys are moved.
    #[error("there is no room for another key: encode the table afresh")]
    Full,
}

/// Changes to the rows of a table.
///
/// Only the rows that changed are held.
#[derive(Debug)]
pub struct Edit<'a, F> {
    keyword: &'a Keyword,
    fetch: F,
    changed: BTreeMap<u64, Vec<u8>>,
}

/// A row that was looked at, and from which slot of which one it was reached.
struct Step {
    row: u64,
    bytes: Vec<u8>,
    from: Option<(usize, usize)>,
}

impl<'a, F: FnMut(u64) -> Result<Vec<u8>>> Edit<'a, F> {
    /// Changes to the table whose rows `fetch` gives.
    pub fn new(keyword: &'a Keyword, fetch: F) -> Self {
        Edit { keyword, fetch, changed: BTreeMap::new() }
    }

    /// Gives a key a value. Gives whether it had one.
    ///
    /// # Errors
    /// [`EditError`]. Nothing has changed then.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<bool, EditError> {
        let (digest, params) = (*self.keyword.digest(key)?, self.keyword.params());
        let mut entry = vec![0; params.slot_bytes() as usize];
        slot::write(params, digest, value, &mut entry)
            .ok_or(EditError::Value { bytes: value.len() as u64, most: params.values.most().into() })?;
        if let Some((row, at, mut bytes)) = self.find(digest)? {
            put(params, &mut bytes, at, &entry)?;
            self.changed.insert(row, bytes);
            return Ok(true);
        }
        self.make_room(digest, &entry).map(|()| false)
    }

    /// Takes a key out. Gives whether it was there.
    ///
    /// # Errors
    /// What fetching says, and [`Misuse::Rule`] for a key that is none.
    pub fn remove(&mut self, key: &[u8]) -> Result<bool> {
        let digest = *self.keyword.digest(key)?;
        let Some((row, at, mut bytes)) = self.find(digest)? else { return Ok(false) };
        let empty = vec![0; self.keyword.params().slot_bytes() as usize];
        put(self.keyword.params(), &mut bytes, at, &empty)?;
        self.changed.insert(row, bytes);
        Ok(true)
    }

    /// The rows that changed.
    pub fn finish(self) -> BTreeMap<u64, Vec<u8>> {
        self.changed
    }

    fn row(&mut self, row: u64) -> Result<Vec<u8>> {
        let bytes = match self.changed.get(&row) {
            Some(bytes) => bytes.clone(),
            None => (self.fetch)(row)?,
        };
        match bytes.len() as u64 == self.keyword.params().row_bytes() {
            true => Ok(bytes),
            false => Err(Misuse::Rule("a row of slots for each row").into()),
        }
    }

    /// The row and the slot of a key, and the row's bytes.
    fn find(&mut self, digest: Digest) -> Result<Option<(u64, usize, Vec<u8>)>> {
        for row in self.keyword.rows(digest) {
            let bytes = self.row(row)?;
            let at = slots(self.keyword.params(), &bytes).position(|held| held == Some(digest));
            if let Some(at) = at {
                return Ok(Some((row, at, bytes)));
            }
        }
        Ok(None)
    }

    /// Goes from a key's rows to the other rows of the keys there, and so on, until there is an empty slot; and moves the keys
    /// on the way to it. The first that is found is at the end of a shortest way.
    fn make_room(&mut self, digest: Digest, entry: &[u8]) -> Result<(), EditError> {
        let params = self.keyword.params();
        let mut steps: Vec<Step> = Vec::new();
        let mut next = 0;
        for row in self.keyword.rows(digest) {
            steps.push(Step { row, bytes: self.row(row)?, from: None });
        }
        while let Some(step) = steps.get(next) {
            let held: Vec<Option<Digest>> = slots(params, &step.bytes).collect();
            if let Some(free) = held.iter().position(Option::is_none) {
                return self.shift(&mut steps, next, free, entry).map_err(EditError::from);
            }
            for (at, other) in held.into_iter().enumerate() {
                for row in other.into_iter().flat_map(|other| self.keyword.rows(other)) {
                    if steps.len() < SEARCHED && steps.iter().all(|step| step.row != row) {
                        steps.push(Step { row, bytes: self.row(row)?, from: Some((next, at)) });
                    }
                }
            }
            next += 1;
        }
        Err(EditError::Full)
    }

    /// Moves each key on the way to the empty slot one step on, the last first, and puts the new one where the first was.
    fn shift(&mut self, steps: &mut [Step], mut last: usize, mut free: usize, entry: &[u8]) -> Result<()> {
        let params = self.keyword.params();
        let width = params.slot_bytes() as usize;
        let lost = Misuse::Rule("a way to an empty slot");
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

/// Whose slots a row has.
fn slots(params: &Params, row: &[u8]) -> impl Iterator<Item = Option<Digest>> {
    row.chunks_exact(params.slot_bytes() as usize).map(|held| slot::digest(params, held))
}

fn put(params: &Params, row: &mut [u8], at: usize, entry: &[u8]) -> Result<()> {
    let held = row.chunks_exact_mut(params.slot_bytes() as usize).nth(at);
    held.ok_or(Misuse::Rule("a slot of the row"))?.copy_from_slice(entry);
    Ok(())
}
