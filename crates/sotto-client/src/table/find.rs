//! Values by key, in tables that are asked so.

use super::Table;
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, CatalogError};
use sotto_core::{Error, Layer, Misuse, Row};
use sotto_layers::Keyword;
use sotto_layers::keyword::Plan;
use sotto_prg::system_rng;
use std::cell::RefCell;

/// What is remembered of the keys that were asked for last.
type Asked = (Keyword, Vec<Plan>);

impl Table {
    /// Looks up the value of a key; `None` if the table does not have the key. The server sees no difference.
    ///
    /// # Errors
    /// As [`Table::find_many`].
    pub fn find(&mut self, key: &str) -> Result<Option<Vec<u8>>> {
        self.find_many(&[key]).map(|mut values| values.pop().flatten())
    }

    /// Looks up the values of several keys in one request; `None` for those that the table does not have.
    ///
    /// The server sees how many keys there are. Text that is no key of the table's form, a name for a table of addresses,
    /// say, is refused here, and nothing is sent.
    ///
    /// # Errors
    /// As [`Table::get_many`]; [`CatalogError::NoSuchRow`] for what is no key, and in tables that are not asked by key.
    pub fn find_many(&mut self, keys: &[impl AsRef<str>]) -> Result<Vec<Option<Vec<u8>>>> {
        let asked = RefCell::new(None);
        // Rows follow from the catalog, and so does what they mean: a later epoch has another seed.
        let rows = self.lookup(|catalog| {
            let (rows, now) = plan(catalog, keys)?;
            asked.replace(Some(now));
            Ok(rows)
        })?;
        let rule =
            || ClientError::from(Error::from(Misuse::Rule("rows are looked up after they were planned")));
        let (keyword, plans) = asked.into_inner().ok_or_else(rule)?;
        let mut rows = rows.into_iter().map(Row::new);
        let values = plans.into_iter().map(|plan| {
            let of_key = rows.by_ref().take(keyword.params().probes as usize).collect();
            Ok(keyword.assemble(plan, of_key)?.map(|value| value.to_vec()))
        });
        values.collect()
    }
}

/// The rows where these keys may lie.
fn plan(catalog: &Catalog, keys: &[impl AsRef<str>]) -> Result<(Vec<u64>, Asked), CatalogError> {
    let refused = |why: String| CatalogError::NoSuchRow { why };
    let keyword = catalog.keyword()?;
    let keyword =
        keyword.ok_or_else(|| refused(format!("table {} is asked by row, and not by key", catalog.table)))?;
    let mut rng = system_rng().map_err(|error| refused(error.to_string()))?;
    let (mut rows, mut plans) = (Vec::new(), Vec::new());
    for key in keys {
        let key = keyword.params().form.canonical(key.as_ref().as_bytes());
        let key = key.map_err(|error| refused(error.to_string()))?;
        let (of_key, plan) = keyword.plan(&key, &mut rng).map_err(|error| refused(error.to_string()))?;
        rows.extend(of_key);
        plans.push(plan);
    }
    Ok((rows, (keyword, plans)))
}
