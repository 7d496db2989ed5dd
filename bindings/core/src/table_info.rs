//! The description of a table.

use crate::BindingError;
use serde::Serialize;
use sotto_catalog::{BatchAccess, Catalog, KeyKind, TableKind, ValueKind};
use sotto_client::stack::BatchStack;
use sotto_client::{ClientError, Table, Trust};
use sotto_core::{Budget, Error, Misuse};

/// The current description of an open table or stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "python", pyo3::pyclass(frozen, module = "sotto", get_all))]
pub struct TableInfo {
    /// Name of the table.
    pub name: String,
    /// Current epoch.
    pub epoch: u64,
    /// Digest of the epoch's catalog, which identifies the epoch with all its contents.
    pub snapshot: String,
    /// State of another system that the epoch was made from, if the publisher names it.
    pub anchor: Option<String>,
    /// Number of rows.
    pub rows: u64,
    /// Bytes in a row.
    pub row_bytes: u64,
    /// Id of the scheme.
    pub scheme: String,
    /// Number of servers.
    pub servers: u32,
    /// How the table is queried: `row`, `key` or `range`.
    pub kind: &'static str,
    /// Form of the keys, if the table is queried by key or range.
    pub key_form: Option<&'static str>,
    /// Type of the values: `text`, `bytes` or `unsigned`.
    pub value: &'static str,
    /// Key that signed the catalog.
    pub signer: String,
    /// Why that key is trusted: `pinned`, `remembered` or `first-use`.
    pub trust: &'static str,
    /// Whether each row is verified against what was signed.
    pub verified: bool,
    /// Whether it is a stack, whose rounds hide the number of lookups.
    pub stack: bool,
    /// Maximum number of rows or keys in one request; more are looked up in several.
    pub max_batch: usize,
    /// Number of queries left before hints have to be made again; `None` for any number.
    pub budget: Option<u64>,
}

impl TableInfo {
    /// Describes a table.
    ///
    /// # Errors
    /// An error in the table's catalog.
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
            anchor: catalog.anchor.clone().map(String::from),
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

    /// Describes a stack.
    ///
    /// # Errors
    /// An error for a stack without tables.
    pub fn stack(batch: &BatchStack) -> Result<Self, BindingError> {
        let (stack, layers) = (batch.stack(), batch.layers());
        let none = || ClientError::from(Error::from(Misuse::Rule("a stack has at least one table")));
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
            anchor: document.anchor.clone().map(String::from),
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

    /// Describes one table with this catalog.
    fn of(table: &Table, catalog: &Catalog) -> Self {
        TableInfo {
            name: String::new(),
            epoch: 0,
            snapshot: String::new(),
            anchor: None,
            rows: 0,
            row_bytes: catalog.row_bytes,
            scheme: catalog.scheme.clone(),
            servers: catalog.servers,
            kind: "row",
            key_form: None,
            value: value(catalog.value),
            signer: String::new(),
            trust: "",
            verified: table.session().is_verified(),
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
