//! Several rows, or values of several keys, in one round.
//!
//! Every table of the stack is asked, as often as its batch code says, whatever is wanted and how much of it; what is wanted
//! twice is fetched once. If a code has no place for all of a request at once ([`Error::Unserved`]), that is known
//! when all answers are there, and what was sent does not show it.

use super::Stack;
use crate::{ClientError, Result};
use sotto_catalog::{Batched, CatalogError, RowForm};
use sotto_core::{Error, Misuse, Row, Then};
use sotto_layers::keyword::Key;

/// A stack whose tables are the buckets of a batch code.
#[derive(Debug)]
pub struct Batch {
    stack: Stack,
    layers: Batched,
}

impl Batch {
    /// What a stack's layers say of it.
    ///
    /// # Errors
    /// [`CatalogError::UnknownLayer`] if it is no batch code's, and those of [`Batched::of`].
    pub fn new(stack: Stack) -> Result<Self> {
        let layers = layers(&stack)?;
        Ok(Batch { stack, layers })
    }

    /// The stack underneath.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// What is asked of it.
    pub fn layers(&self) -> &Batched {
        &self.layers
    }

    /// Looks up rows by their numbers, in one round; their values in the same order. How many they are is not seen.
    ///
    /// # Errors
    /// As [`Self::get_named`].
    pub fn get_many(&mut self, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        let named = self.get_named(rows, &[""; 0])?;
        Ok(named.into_iter().map(|(_, bytes)| bytes).collect())
    }

    /// Looks up rows by their numbers and then those that keys stand for, in one round; the number of each, and its value.
    ///
    /// If the stack has moved on to another epoch, it is opened anew and asked once more.
    ///
    /// # Errors
    /// [`ClientError::TooManyRows`]; [`CatalogError::NoSuchRow`] or [`Misuse::IndexPastEnd`] for what is no row. Nothing is sent
    /// then. Otherwise as [`Stack::lookup`].
    pub fn get_named(&mut self, rows: &[u64], keys: &[impl AsRef<str>]) -> Result<Vec<(u64, Vec<u8>)>> {
        let wanted = |batch: &Self| {
            let rows = rows.iter().map(|row| batch.row(*row));
            rows.chain(keys.iter().map(|key| batch.row_of(key.as_ref()))).collect()
        };
        self.round(wanted, |stack, layers, rows: &[u64]| match layers {
            Batched::Rows { code, .. } => {
                let fetched = stack.lookup(code, rows)?;
                // All tables have the same rows, in another order.
                let form = stack.tables().first().map(|table| table.catalog().row_form()).transpose()?;
                let form = form.unwrap_or(RowForm::Whole);
                let value = |(row, bytes): (&u64, Row)| Ok((*row, form.value(bytes.to_vec())?));
                rows.iter().zip(fetched).map(value).collect()
            }
            Batched::Keys(_) => Err(by_key()),
        })
    }

    /// Looks up the values of keys, in one round; `None` for those that the table does not have. The server sees no difference.
    ///
    /// # Errors
    /// As [`Self::get_named`]; [`CatalogError::NoSuchRow`] for what is no key of the table's form.
    pub fn find_many(&mut self, keys: &[impl AsRef<str>]) -> Result<Vec<Option<Vec<u8>>>> {
        let wanted = |batch: &Self| keys.iter().map(|key| batch.key(key.as_ref())).collect();
        let found = self.round(wanted, |stack, layers, keys: &[Key]| match layers {
            Batched::Keys(layer) => stack.lookup(layer, keys),
            Batched::Rows { .. } => Err(by_row()),
        })?;
        Ok(found.into_iter().map(|value| value.map(|value| value.to_vec())).collect())
    }

    /// One round, and another one if the stack has moved on meanwhile.
    fn round<W, T>(
        &mut self,
        wanted: impl Fn(&Self) -> Result<Vec<W>>,
        ask: impl Fn(&mut Stack, &Batched, &[W]) -> Result<T>,
    ) -> Result<T> {
        let first = self.fitting(&wanted)?;
        match ask(&mut self.stack, &self.layers, &first) {
            Err(ClientError::EpochChanged { .. }) => {}
            outcome => return outcome,
        }
        self.stack.refresh()?;
        self.layers = layers(&self.stack)?;
        match self.fitting(&wanted) {
            Ok(again) => ask(&mut self.stack, &self.layers, &again),
            Err(gone) => {
                // Whoever makes the next epoch chooses what it holds. Whether there is a second round must not
                // depend on what was wanted.
                let _ = ask(&mut self.stack, &self.layers, &[]);
                Err(gone)
            }
        }
    }

    /// What is wanted, if a round has room for it.
    fn fitting<W>(&self, wanted: &impl Fn(&Self) -> Result<Vec<W>>) -> Result<Vec<W>> {
        let wanted = wanted(self)?;
        let (rows, most) = (wanted.len(), self.layers.most());
        if rows > most { Err(ClientError::TooManyRows { rows, most }) } else { Ok(wanted) }
    }

    fn row(&self, index: u64) -> Result<u64> {
        let len = self.layers.code().sizes().rows;
        if index < len { Ok(index) } else { Err(Error::from(Misuse::IndexPastEnd { index, len }).into()) }
    }

    fn row_of(&self, text: &str) -> Result<u64> {
        match &self.layers {
            Batched::Rows { kind, code } => {
                Ok(kind.row_of(text, &self.stack.document().stack, code.sizes().rows)?)
            }
            Batched::Keys(_) => Err(by_key()),
        }
    }

    fn key(&self, text: &str) -> Result<Key> {
        let Batched::Keys(Then(keywords, _)) = &self.layers else { return Err(by_row()) };
        let params = keywords.keyword().params();
        let refused = |why: String| CatalogError::NoSuchRow { why };
        let key = params.form.canonical(text.as_bytes()).map_err(|error| refused(error.to_string()))?;
        if key.len() > params.key_bytes as usize {
            return Err(refused("the key is longer than any key of the table".to_owned()).into());
        }
        Ok(key)
    }
}

fn layers(stack: &Stack) -> Result<Batched> {
    let document = stack.document();
    let other = || {
        let name = document.layers.last().map(|layer| layer.name.clone()).unwrap_or_default();
        CatalogError::UnknownLayer { name }
    };
    Ok(Batched::of(document)?.ok_or_else(other)?)
}

fn by_key() -> ClientError {
    CatalogError::NoSuchRow { why: "the table is asked by key, and not by row".to_owned() }.into()
}

fn by_row() -> ClientError {
    CatalogError::NoSuchRow { why: "the table is asked by row, and not by key".to_owned() }.into()
}
