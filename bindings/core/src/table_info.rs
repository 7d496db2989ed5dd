//! What a table is.

use crate::BindingError;
use serde::Serialize;
use sotto_catalog::{BatchAccess, Catalog, KeyKind, TableKind, ValueKind};
use sotto_client::stack::BatchStack;
use sotto_client::{ClientError, Table, Trust};
use sotto_core::{Budget, Error, Misuse};

/// What an open table says of itself, as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "python", pyo3::pyclass(frozen, module = "sotto", get_all))]
pub struct TableInfo {
    /// Its name.
    pub name: String,
    /// Which epoch of it is asked.
    pub epoch: u64,
    /// The digest of that epoch's catalog, which names it with all that is in it.
    pub snapshot: String,
    /// How many rows it has.
    pub rows: u64,
    /// Bytes in a row.
    pub row_bytes: u64,
    /// The scheme's id.
    pub scheme: String,
    /// How many servers are asked.
    pub servers: u32,
    /// How it is asked: `row`, `key` or `range`.
    pub kind: &'static str,
    /// How keys are spelled, if it is asked by key: a form, or what the keys of ranges are.
    pub key_form: Option<&'static str>,
    /// What values are: `text`, `bytes` or `unsigned`.
    pub value: &'static str,
    /// The key that signed it.
    pub signer: String,
    /// Why that key is believed: `pinned`, `remembered` or `first-use`.
    pub trust: &'static str,
    /// Whether each row is compared with what was signed.
    pub verified: bool,
    /// Whether it is a stack, of which a round hides how much was wanted.
    pub stack: bool,
    /// The most rows or keys that one request has room for; more are asked for in several.
    #[serde(rename = "most")]
    pub max_batch: usize,
    /// How many more queries there are before hints have to be made anew; `None` for any number.
    pub budget: Option<u64>,
}

impl TableInfo {
    /// What a table says.
    ///
    /// # Errors
    /// What is wrong with its catalog.
    pub fn table(table: &Table) -> Result<Self, BindingError> {
        let catalog = table.catalog();
        let keyword = catalog.keyword().map_err(ClientError::from)?;
        let (kind, key_form) = match &keyword {
            Some(keyword) => ("key", Some(keyword.params().form.name())),
            None => rows(&catalog.kind),
        };
        Ok(TableInfo {
            name: catalog.table.to_string(),
            epoch: catalog.epoch.0,
            snapshot: catalog.digest().map_err(ClientError::from)?.to_string(),
            rows: catalog.rows,
            kind,
            key_form,
            signer: table.session().public_key().to_string(),
            trust: trust(table.trust()),
            stack: false,
            max_batch: table.max_lookups()?,
            ..TableInfo::of(table, catalog)
        })
    }

    /// What a stack says.
    ///
    /// # Errors
    /// It has no table.
    pub fn stack(batch: &BatchStack) -> Result<Self, BindingError> {
        let (stack, layers) = (batch.stack(), batch.layers());
        let none = || ClientError::from(Error::from(Misuse::Rule("a stack has a table")));
        let table = stack.tables().first().ok_or_else(none)?;
        let (kind, key_form) = match layers {
            BatchAccess::Keys(keys) => ("key", Some(keys.0.keyword().params().form.name())),
            BatchAccess::Rows { kind, .. } => rows(kind),
        };
        let document = stack.document();
        Ok(TableInfo {
            name: document.stack.to_string(),
            epoch: document.epoch.0,
            snapshot: document.digest().map_err(ClientError::from)?.to_string(),
            rows: layers.code().sizes().rows,
            kind,
            key_form,
            signer: stack.public_key().to_string(),
            trust: trust(stack.trust()),
            stack: true,
            max_batch: layers.max_batch(),
            ..TableInfo::of(table, table.catalog())
        })
    }

    /// What one table says.
    fn of(table: &Table, catalog: &Catalog) -> Self {
        TableInfo {
            name: String::new(),
            epoch: 0,
            snapshot: String::new(),
            rows: 0,
            row_bytes: catalog.row_bytes,
            scheme: catalog.scheme.clone(),
            servers: catalog.servers,
            kind: "row",
            key_form: None,
            value: value(catalog.value),
            signer: String::new(),
            trust: "",
            verified: catalog.rows_root.path.is_some(),
            stack: false,
            max_batch: 0,
            budget: match table.budget() {
                Budget::Unlimited => None,
                Budget::Left(left) => Some(left),
            },
        }
    }
}

fn rows(kind: &TableKind) -> (&'static str, Option<&'static str>) {
    match kind {
        TableKind::Range { key: KeyKind::Ipv4, .. } => ("range", Some("ipv4")),
        TableKind::Range { key: KeyKind::U32, .. } => ("range", Some("u32")),
        TableKind::Range { .. } => ("range", Some("u64")),
        _ => ("row", None),
    }
}

fn value(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Text => "text",
        ValueKind::Unsigned => "unsigned",
        _ => "bytes",
    }
}

fn trust(trust: Trust) -> &'static str {
    match trust {
        Trust::Pinned => "pinned",
        Trust::Remembered => "remembered",
        Trust::FirstUse => "first-use",
    }
}
