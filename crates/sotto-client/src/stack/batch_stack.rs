//! Lookups of several rows, or of the values of several keys, in rounds that look alike.
//!
//! Every table of the stack is queried in each round, as often as its batch code says, whatever the
//! lookups are and however many; equal lookups of a round are fetched once. Lookups that do not fit
//! into a round are made in further rounds, whose number servers see. If a code has no place for
//! all lookups of a round at once ([`Error::BatchCodeFailure`]), the error is reported when all
//! answers have arrived, and what was sent does not show it.

use super::Stack;
use crate::lookup::{self, Lookup, LookupResult, ResolvedLookups};
use crate::table::lookup::withhold;
use crate::{ClientError, Result};
use sotto_catalog::{BatchAccess, Catalog, CatalogError, TableKind};
use sotto_core::{Error, Misuse};
use sotto_layers::BatchCode;
use sotto_layers::keyword::Key;

/// A stack whose tables are the buckets of a batch code.
#[derive(Debug)]
pub struct BatchStack {
    stack: Stack,
    layers: BatchAccess,
}

impl BatchStack {
    /// Reads the batch code from a stack's layers.
    ///
    /// # Errors
    /// [`CatalogError::UnknownLayer`] if the layer is not that of a batch code; the errors of
    /// [`BatchAccess::of`].
    pub fn new(stack: Stack) -> Result<Self> {
        let layers = layers(&stack)?;
        Ok(BatchStack { stack, layers })
    }

    /// The stack below.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The layers that the lookups go through.
    pub fn layers(&self) -> &BatchAccess {
        &self.layers
    }

    /// Looks up rows by their index; returns their values in the same order.
    ///
    /// # Errors
    /// As for [`Self::get_all`].
    pub fn get_many(&mut self, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        let lookups: Vec<_> = rows.iter().copied().map(Lookup::Row).collect();
        let results = self.get_all(&lookups)?;
        let rule = || Error::from(Misuse::Rule("lookup by row returned no value"));
        results.into_iter().map(|result| Ok(result.value.ok_or_else(rule)?)).collect()
    }

    /// Looks up the values of keys; `None` for keys that the table does not have. The server cannot
    /// tell the two apart.
    ///
    /// # Errors
    /// As for [`Self::get_all`]; [`CatalogError::NoSuchRow`] if the tables are not queried by key.
    pub fn find_many(&mut self, keys: &[impl AsRef<str>]) -> Result<Vec<Option<Vec<u8>>>> {
        if matches!(self.layers, BatchAccess::Rows { .. }) {
            return Err(lookup::by_row().into());
        }
        let lookups: Vec<_> = keys.iter().map(|key| Lookup::Key(key.as_ref())).collect();
        Ok(self.get_all(&lookups)?.into_iter().map(|result| result.value).collect())
    }

    /// Looks up rows, bits and keys; returns their results in the same order. They are made in
    /// rounds of as many lookups as the stack is designed for ([`BatchAccess::max_batch`]), none of
    /// which is omitted because of another's result. The servers see the number of rounds, but not
    /// the number of real lookups in one, which may be zero: an empty list takes a round, too.
    ///
    /// If the stack has moved on to another epoch, it is opened again and that round is repeated
    /// once. A lookup that the new epoch cannot serve is an error, and all of its tables are
    /// queried all the same.
    ///
    /// # Errors
    /// [`CatalogError::NoSuchRow`] or [`Misuse::IndexPastEnd`] for rows and keys that the tables
    /// cannot have. Otherwise as for [`Stack::lookup`].
    pub fn get_all(&mut self, lookups: &[Lookup<'_>]) -> Result<Vec<LookupResult>> {
        self.get_each(lookups)?.into_iter().collect()
    }

    /// Looks up rows, bits and keys as [`Self::get_all`] does, with an error for each lookup that
    /// fails instead of one for all.
    ///
    /// # Errors
    /// As for [`Self::get_all`], a row past the end included.
    pub fn get_each(&mut self, lookups: &[Lookup<'_>]) -> Result<Vec<Result<LookupResult>>> {
        self.stack.reset_last();
        let (mut results, mut failed) = (Vec::with_capacity(lookups.len()), None);
        let mut left = lookups;
        loop {
            let (round, later) = left.split_at(self.layers.max_batch().max(1).min(left.len()));
            results.extend(withhold(self.round_of_newest(round), &mut failed)?.into_iter().flatten());
            left = later;
            if left.is_empty() {
                return failed.map_or(Ok(results), Err);
            }
        }
    }

    /// Makes one round, and repeats it if the stack has moved on.
    fn round_of_newest(&mut self, lookups: &[Lookup<'_>]) -> Result<Vec<Result<LookupResult>>> {
        match self.round(lookups) {
            Err(ClientError::EpochChanged { .. }) => {
                self.stack.refresh()?;
                self.layers = layers(&self.stack)?;
                self.round(lookups)
            }
            outcome => outcome,
        }
    }

    fn round(&mut self, lookups: &[Lookup<'_>]) -> Result<Vec<Result<LookupResult>>> {
        let (rows, most) = (lookups.len(), self.layers.max_batch());
        // A new epoch may have a smaller capacity. The number of lookups is hidden, so a round for
        // none is made then.
        let fitting = if rows > most { &[] } else { lookups };
        let results = match &self.layers {
            BatchAccess::Rows { kind, code } => {
                let resolved = ResolvedLookups::of(&whole(&self.stack, kind, code)?, fitting)?;
                let rows = self.stack.round(code, &resolved.rows())?;
                resolved.read(rows.into_iter().map(|row| row.to_vec()).collect())
            }
            BatchAccess::Keys(layer) => {
                let params = layer.0.keyword().params();
                let keys = fitting.iter().map(|lookup| match lookup {
                    Lookup::Key(text) => lookup::key(params, text),
                    Lookup::Row(_) | Lookup::Bit(_) => Err(lookup::by_key()),
                });
                // An invalid key becomes a dummy lookup, which servers cannot tell from others.
                let mut valid = Vec::with_capacity(fitting.len());
                let places: Vec<_> = keys.map(|key: Result<Key, _>| key.map(|key| valid.push(key))).collect();
                let mut values = self.stack.round(layer, &valid)?.into_iter();
                let mut result = |place: Result<(), CatalogError>| {
                    place?;
                    let none = || Error::from(Misuse::Rule("the layer returned fewer values than keys"));
                    let value = values.next().ok_or_else(none)?;
                    Ok(LookupResult { row: None, value: value.map(|value| value.to_vec()) })
                };
                places.into_iter().map(&mut result).collect()
            }
        };
        if rows > most { Err(ClientError::TooManyRows { rows, limit: most }) } else { Ok(results) }
    }
}

/// The catalog that one table with all rows would have. The layout of rows is that of any table;
/// the number of rows and the form of keys come from the stack.
fn whole(stack: &Stack, kind: &TableKind, code: &BatchCode) -> Result<Catalog> {
    let none = || Error::from(Misuse::Rule("the stack has no table"));
    let one = stack.tables().first().ok_or_else(none)?.catalog();
    let (table, kind, rows) = (stack.document().stack.clone(), kind.clone(), code.sizes().rows);
    Ok(Catalog { table, kind, rows, ..one.clone() })
}

fn layers(stack: &Stack) -> Result<BatchAccess> {
    let document = stack.document();
    let other = || {
        let name = document.layers.last().map(|layer| layer.name.clone()).unwrap_or_default();
        CatalogError::UnknownLayer(name)
    };
    Ok(BatchAccess::of(document)?.ok_or_else(other)?)
}
