//! What is wanted of a table, and the rows that are asked for it.
//!
//! **Silence tells nothing.** A publisher chooses what the next epoch holds, and a server when it is heard of; so either
//! could see who asks and who does not. Once a server was contacted, a request leaves whatever is wanted. How many rows it is for
//! follows from the catalog and the number of wishes. A wish that the table cannot grant is asked for as row 0, and is an error
//! when the answers are there. [`Packing::records_of`](sotto_catalog::Packing::records_of) does the same for rows past the end.

use crate::Result;
use crate::session::QueryTargets;
use sotto_catalog::{BitPosition, Catalog, CatalogError, RowForm};
use sotto_core::{Error, Layer, Misuse, Row};
use sotto_layers::Keyword;
use sotto_layers::keyword::{Key, Params, Plan};
use sotto_prg::{SystemRng, system_rng};
use zeroize::Zeroizing;

/// One thing that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// A row by its number.
    Row(u64),
    /// A bit by its number in all rows together; see [`Bit`] for how they are counted.
    Bit(u64),
    /// The value of a key; in a table that is asked by row, the row that a key stands for, such as an address.
    Key(&'a str),
}

/// What came of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupResult {
    /// Where it lies, if that is one row.
    pub row: Option<u64>,
    /// The value, as it was encoded; one byte, 0 or 1, for a bit. `None` if the table does not have the key.
    pub value: Option<Vec<u8>>,
}

/// Where a wish's rows lie, by one catalog.
enum LookupPlace {
    Row(u64),
    Bit(BitPosition),
    Slots(Vec<u64>, Plan),
}

/// Wishes as one catalog has them.
pub(crate) struct ResolvedLookups {
    keyword: Option<Keyword>,
    form: RowForm,
    places: Vec<Result<LookupPlace, CatalogError>>,
}

impl ResolvedLookups {
    /// # Errors
    /// What is wrong with the catalog, whatever is wanted.
    pub(crate) fn of(catalog: &Catalog, wishes: &[Lookup<'_>]) -> Result<Self> {
        let mut rng = system_rng()?;
        let (keyword, form) = (catalog.keyword()?, catalog.row_form()?);
        let place = |wish: &Lookup<'_>| match (wish, &keyword) {
            (Lookup::Key(key), Some(keyword)) => slots(keyword, key, &mut rng),
            (Lookup::Row(_) | Lookup::Bit(_), Some(_)) => Err(by_key()),
            (Lookup::Row(row), None) => Ok(LookupPlace::Row(*row)),
            (Lookup::Bit(bit), None) => catalog.bit(*bit).map(LookupPlace::Bit),
            (Lookup::Key(key), None) => catalog.parse_row(key).map(LookupPlace::Row),
        };
        let places = wishes.iter().map(place).collect();
        Ok(ResolvedLookups { keyword, form, places })
    }

    /// What to ask for: as much for each wish, whatever it is.
    pub(crate) fn asked(&self) -> QueryTargets {
        QueryTargets { rows: self.rows(), ones: self.ones() }
    }

    /// Which rows are added up, where keys lie in sums of rows; none elsewhere.
    fn ones(&self) -> Zeroizing<Vec<u128>> {
        let is_band = self.keyword.as_ref().is_some_and(|keyword| keyword.params().band.is_some());
        let ones = |place: &Result<LookupPlace, CatalogError>| match place {
            Ok(LookupPlace::Slots(_, plan)) => plan.row_mask().unwrap_or(1),
            _ => 1,
        };
        Zeroizing::new(if is_band { self.places.iter().map(ones).collect() } else { Vec::new() })
    }

    /// The rows to ask for: as many for each wish, whatever it is.
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

    /// What the rows that were asked for say: of each wish what came of it, or why it could not be granted; or that the rows are
    /// none of such a table.
    pub(crate) fn read(self, rows: Vec<Vec<u8>>) -> Vec<Result<LookupResult>> {
        let (each, form) = (self.each(), self.form);
        let mut rows = rows.into_iter();
        let read = |place: Result<LookupPlace, CatalogError>| {
            let mut of_wish: Vec<_> = rows.by_ref().take(each).collect();
            let mut row = || of_wish.pop().ok_or(Error::from(Misuse::Rule("each wish has its rows")));
            Ok(match place? {
                LookupPlace::Row(at) => LookupResult { row: Some(at), value: Some(form.value(row()?)?) },
                LookupPlace::Bit(bit) => {
                    LookupResult { row: Some(bit.row()), value: Some(vec![bit.of(&row()?).into()]) }
                }
                LookupPlace::Slots(_, plan) => {
                    let rule = Misuse::Rule("slots are of a table that is asked by key");
                    let keyword = self.keyword.as_ref().ok_or(Error::from(rule))?;
                    let value = keyword.assemble(plan, of_wish.into_iter().map(Row::new).collect())?;
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

/// A key in the form of a table that is asked so.
pub(crate) fn key(params: &Params, text: &str) -> Result<Key, CatalogError> {
    let key = params.form.canonical(text.as_bytes()).map_err(|error| refused(error.to_string()))?;
    if key.len() > params.key_bytes as usize {
        return Err(refused("the key is longer than any key of the table".to_owned()));
    }
    Ok(key)
}

/// Rows and bits of a table that is asked by key.
pub(crate) fn by_key() -> CatalogError {
    refused("the table is asked by key, and its rows mean nothing by themselves: ask by key".to_owned())
}

/// Keys of a table that is asked by row.
pub(crate) fn by_row() -> CatalogError {
    refused("the table is asked by row, and not by key".to_owned())
}

fn refused(why: String) -> CatalogError {
    CatalogError::NoSuchRow { why }
}
