//! What a caller looks up in a table, and the rows that are requested for it.
//!
//! **A missing request would reveal something.** A publisher chooses the contents of the next
//! epoch, and a server chooses when it is seen; so either could learn something from who sends a
//! request and who does not. Once a server was contacted, a request is sent whatever the lookup is.
//! Its number of rows follows from the catalog and the number of lookups. A lookup that the table
//! cannot serve is replaced by row 0, and its error is reported once the answers are there.
//! [`Packing::records_of`](sotto_catalog::Packing::records_of) treats rows past the end in the same
//! way.

use crate::Result;
use crate::session::QueryTargets;
use sotto_catalog::{BitPosition, Catalog, CatalogError, RowForm};
use sotto_core::{Error, Layer, Misuse, Row};
use sotto_layers::Keyword;
use sotto_layers::keyword::{Key, Params, Plan};
use sotto_prg::{SystemRng, system_rng};
use zeroize::Zeroizing;

/// One row, bit or key that a caller looks up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// A row by its index.
    Row(u64),
    /// A bit by its index among the bits of all rows; see [`BitPosition`] for the order.
    Bit(u64),
    /// The value of a key; in a table that is queried by row, the row that belongs to a key, such
    /// as an address.
    Key(&'a str),
}

/// The row that a lookup found, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupResult {
    /// Index of the row, if the value is in one row.
    pub row: Option<u64>,
    /// The value as it was encoded; one byte, 0 or 1, for a bit. `None` if the table does not have
    /// the key.
    pub value: Option<Vec<u8>>,
}

/// Where the rows of a lookup are, according to one catalog.
enum LookupPlace {
    Row(u64),
    Bit(BitPosition),
    Slots(Vec<u64>, Plan),
}

/// Lookups resolved to rows, according to one catalog.
pub(crate) struct ResolvedLookups {
    keyword: Option<Keyword>,
    form: RowForm,
    places: Vec<Result<LookupPlace, CatalogError>>,
}

impl ResolvedLookups {
    /// # Errors
    /// An error in the catalog, which does not depend on the lookups.
    pub(crate) fn of(catalog: &Catalog, lookups: &[Lookup<'_>]) -> Result<Self> {
        let mut rng = system_rng()?;
        let (keyword, form) = (catalog.keyword()?, catalog.row_form()?);
        let place = |lookup: &Lookup<'_>| match (lookup, &keyword) {
            (Lookup::Key(key), Some(keyword)) => slots(keyword, key, &mut rng),
            (Lookup::Row(_) | Lookup::Bit(_), Some(_)) => Err(by_key()),
            (Lookup::Row(row), None) => Ok(LookupPlace::Row(*row)),
            (Lookup::Bit(bit), None) => catalog.bit(*bit).map(LookupPlace::Bit),
            (Lookup::Key(key), None) => catalog.parse_row(key).map(LookupPlace::Row),
        };
        let places = lookups.iter().map(place).collect();
        Ok(ResolvedLookups { keyword, form, places })
    }

    /// The queries for all lookups: equally many for each, whatever it is.
    pub(crate) fn targets(&self) -> QueryTargets {
        QueryTargets { rows: self.rows(), ones: self.ones() }
    }

    /// The rows of each sum, in tables that encode a key's value as a sum of rows; empty in others.
    fn ones(&self) -> Zeroizing<Vec<u128>> {
        let is_band = self.keyword.as_ref().is_some_and(|keyword| keyword.params().band.is_some());
        let ones = |place: &Result<LookupPlace, CatalogError>| match place {
            Ok(LookupPlace::Slots(_, plan)) => plan.row_mask().unwrap_or(1),
            _ => 1,
        };
        Zeroizing::new(if is_band { self.places.iter().map(ones).collect() } else { Vec::new() })
    }

    /// The rows to request: equally many for each lookup, whatever it is.
    pub(crate) fn rows(&self) -> Vec<u64> {
        let each = self.each();
        let rows = |place: &Result<LookupPlace, CatalogError>| match place {
            Ok(LookupPlace::Row(row)) => vec![*row],
            Ok(LookupPlace::Bit(bit)) => vec![bit.row()],
            Ok(LookupPlace::Slots(rows, _)) => rows.clone(),
            Err(_) => vec![0; each],
        };
        self.places.iter().flat_map(rows).collect()
    }

    fn each(&self) -> usize {
        self.keyword.as_ref().map_or(1, |keyword| keyword.params().probes as usize)
    }

    /// Turns the answered rows into the result of each lookup, or its error. Fails if the rows do
    /// not fit the table.
    pub(crate) fn read(self, rows: Vec<Vec<u8>>) -> Vec<Result<LookupResult>> {
        let (each, form) = (self.each(), self.form);
        let mut rows = rows.into_iter();
        let read = |place: Result<LookupPlace, CatalogError>| {
            let mut of_lookup: Vec<_> = rows.by_ref().take(each).collect();
            let mut row = || {
                of_lookup.pop().ok_or(Error::from(Misuse::Rule(
                    "fewer rows were recovered than the \
                 lookups need",
                )))
            };
            Ok(match place? {
                LookupPlace::Row(at) => LookupResult { row: Some(at), value: Some(form.value(row()?)?) },
                LookupPlace::Bit(bit) => {
                    LookupResult { row: Some(bit.row()), value: Some(vec![bit.of(&row()?).into()]) }
                }
                LookupPlace::Slots(_, plan) => {
                    let rule = Misuse::Rule("a key was planned for a table without keys");
                    let keyword = self.keyword.as_ref().ok_or(Error::from(rule))?;
                    let value = keyword.assemble(plan, of_lookup.into_iter().map(Row::new).collect())?;
                    LookupResult { row: None, value: value.map(|value| value.to_vec()) }
                }
            })
        };
        self.places.into_iter().map(read).collect()
    }
}

fn slots(keyword: &Keyword, key: &str, rng: &mut SystemRng) -> Result<LookupPlace, CatalogError> {
    let key = self::key(keyword.params(), key)?;
    let (rows, plan) = keyword.plan(&key, rng).map_err(|error| refused(error.to_string()))?;
    Ok(LookupPlace::Slots(rows, plan))
}

/// Parses a key in the form that the table uses.
pub(crate) fn key(params: &Params, text: &str) -> Result<Key, CatalogError> {
    let key = params.form.canonical(text.as_bytes()).map_err(|error| refused(error.to_string()))?;
    if key.len() > params.key_bytes as usize {
        return Err(refused("the key is longer than any key of the table".to_owned()));
    }
    Ok(key)
}

/// The error for rows and bits of a table that is queried by key.
pub(crate) fn by_key() -> CatalogError {
    refused("this is a keyword table, whose rows have no meaning of their own: look up a key".to_owned())
}

/// The error for keys of a table that is queried by row.
pub(crate) fn by_row() -> CatalogError {
    refused("this is an index table: look up a row number, not a key".to_owned())
}

fn refused(why: String) -> CatalogError {
    CatalogError::NoSuchRow(why)
}
