//! The catalog: all a client must know of a table before its first query. What it agrees on with its scheme is in [`terms`].

pub mod table_terms;

use crate::document::{self, Document, json};
use crate::row_form::{self, RowForm};
use crate::symmetric::{self, SymmetricLayer};
use crate::{
    ArtifactEntry, BitPosition, CatalogError, Hex32, Packing, Result, RowsRoot, TableKind, TableName,
    ValueKind,
};
use serde::{Deserialize, Serialize};
use sotto_core::{Artifact, Epoch, ParamsReport};
use sotto_layers::{Keyword, keyword};
pub use table_terms::{TableTerms, gate};

/// The format this build writes and reads.
pub const FORMAT: &str = "sotto-catalog/1";

/// Most bytes of a catalog's text.
pub const MAX_CATALOG_BYTES: usize = 4 << 20;

/// Most rows of a table.
pub const MAX_ROWS: u64 = 1 << 40;

/// Most bytes of a row.
pub const MAX_ROW_BYTES: u64 = 1 << 30;

/// Most artifacts of a table.
pub const MAX_ARTIFACTS: usize = 16;

/// Most servers a query goes to.
pub const MAX_SERVERS: u32 = 8;

const MAX_SCHEME_BYTES: usize = 64;
const MAX_ATTRIBUTION_BYTES: usize = 4096;

/// A table, one epoch of it. A value that came from [`Catalog::parse`] is consistent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// Always [`FORMAT`].
    pub format: String,
    /// The table's name.
    pub table: TableName,
    /// Which snapshot of it.
    pub epoch: Epoch,
    /// How a user names a row.
    pub kind: TableKind,
    /// What a row's bytes mean.
    pub value: ValueKind,
    /// Rows in the table.
    pub rows: u64,
    /// Bytes in a row.
    pub row_bytes: u64,
    /// The scheme's id, such as `simplepir/1`.
    pub scheme: String,
    /// The scheme's literal parameters.
    pub params: serde_json::Value,
    /// Digest of the scheme's id and parameters; every query names it.
    pub params_digest: Hex32,
    /// How many servers a query goes to.
    pub servers: u32,
    /// The static files of this epoch.
    pub artifacts: Vec<ArtifactEntry>,
    /// BLAKE3 of the rows as servers hold them, where clients keep state that was made of them and they are no artifact:
    /// servers make that state then, and a client has to know of which rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_digest: Option<Hex32>,
    /// The commitment to the rows, whatever the scheme.
    pub rows_root: RowsRoot,
    /// What is stacked on the scheme, from the scheme up. A layer that this build does not know is refused: a client that
    /// skipped it would read wrong rows.
    pub layers: Vec<LayerEntry>,
    /// A small table with the newest changes, asked in the same round. A client that does not ask it
    /// reads this snapshot, which is older but not wrong.
    pub sidecar: Option<Sidecar>,
    /// Where the data comes from, in the words its license asks for.
    pub attribution: Option<String>,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// From when on nobody should believe it, in seconds since 1970: an old copy that is kept alive is refused then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// A layer, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerEntry {
    /// Which layer, with its version.
    pub name: String,
    /// Its parameters.
    pub params: serde_json::Value,
}

/// The small table that goes with a large one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sidecar {
    /// Its name; another table of the same server.
    pub table: TableName,
}

/// The layers, before anything else is read.
#[derive(Deserialize)]
struct LayersHeader {
    #[serde(default)]
    layers: Vec<LayerName>,
}

#[derive(Deserialize)]
struct LayerName {
    name: String,
}

impl Catalog {
    /// Parses and checks a catalog's text. Total: any bytes give a catalog or an error.
    ///
    /// # Errors
    /// [`CatalogError`], with what is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        document::parse(bytes)
    }

    /// The text to sign.
    ///
    /// # Errors
    /// As [`Document::check`].
    pub fn to_text(&self) -> Result<String> {
        document::text(self)
    }

    /// BLAKE3 of [`Catalog::to_text`], by which a [`Stack`](crate::Stack) names one epoch of a table. It is taken of the
    /// catalog as it was understood, so whoever has parsed one can tell.
    ///
    /// # Errors
    /// As [`Document::check`].
    pub fn digest(&self) -> Result<Hex32> {
        document::digest(self)
    }

    /// The layer that finds keys in the rows, for tables that are asked by key.
    ///
    /// # Errors
    /// [`CatalogError::Invalid`], [`CatalogError::Params`], [`CatalogError::UnknownLayer`].
    pub fn keyword(&self) -> Result<Option<Keyword>> {
        match (&self.kind, self.layers.as_slice()) {
            (TableKind::Keyword, [layer]) if layer.name == keyword::NAME => {
                let found = Keyword::parse(layer.params.to_string().as_bytes())?;
                if (found.params().table_rows(), found.params().table_row_bytes())
                    != (self.rows, self.row_bytes)
                {
                    return Err(CatalogError::invalid("layers", "keys lie in other rows than the table has"));
                }
                Ok(Some(found))
            }
            (TableKind::Keyword, _) => {
                Err(CatalogError::invalid("layers", "a table that is asked by key has the layer for that"))
            }
            // From the scheme up, each or none: masks, and lengths under them.
            (_, layers) if is_among(layers, &[symmetric::NAME, row_form::NAME]) => Ok(None),
            (_, layers) => match layers.iter().find(|layer| !is_known(&layer.name)) {
                Some(layer) => Err(CatalogError::UnknownLayer { name: layer.name.clone() }),
                None => {
                    let why =
                        "keys are for tables that are asked by key; masks come before lengths, each once";
                    Err(CatalogError::invalid("layers", why))
                }
            },
        }
    }

    /// The layer that masks the rows, for symmetric tables.
    ///
    /// # Errors
    /// [`CatalogError::Invalid`], [`CatalogError::Malformed`], [`CatalogError::Params`].
    pub fn symmetric_layer(&self) -> Result<Option<SymmetricLayer>> {
        let layer = self.layers.iter().find(|layer| layer.name == symmetric::NAME);
        layer.map(|layer| SymmetricLayer::of(self, layer)).transpose()
    }

    /// Bytes of a row as a client reads it: without what masks it.
    ///
    /// # Errors
    /// As [`Catalog::masked`].
    pub fn unmasked_row_bytes(&self) -> Result<u64> {
        Ok(self.symmetric_layer()?.map_or(self.row_bytes, |masked| masked.item_bytes))
    }

    /// How values lie in rows, as a client reads those.
    ///
    /// # Errors
    /// As [`Catalog::masked`].
    pub fn row_form(&self) -> Result<RowForm> {
        RowForm::of(self, self.unmasked_row_bytes()?)
    }

    /// The digest of the rows, by which a client's state is told from that of other rows; `None` where no client has such
    /// a state.
    pub fn digest_of_rows(&self) -> Option<Hex32> {
        let rows = self.artifacts.iter().find(|entry| entry.artifact == Artifact::Rows);
        rows.map(|entry| entry.digest).or(self.rows_digest)
    }

    /// How rows lie in the records `report` speaks of.
    ///
    /// # Errors
    /// [`CatalogError::Disagree`] if the records do not hold the rows.
    pub fn packing(&self, report: &ParamsReport) -> Result<Packing> {
        let disagree = |_| CatalogError::Disagree { what: "the number of rows" };
        let packing = Packing::new(self.rows, self.row_bytes, report.records, report.record_bytes);
        let packing = packing.map_err(disagree)?;
        match self.rows_root.path {
            Some(_) => packing.with_paths(self.rows_root.leaf_rows, self.rows_root.path_bytes()),
            None => Ok(packing),
        }
        .map_err(disagree)
    }

    /// The static files that a client of this table fetches: those of the scheme, and the tree where rows are verified one by
    /// one.
    pub fn client_artifacts(&self) -> impl Iterator<Item = &ArtifactEntry> {
        let tree = self.rows_root.needs_tree(self.rows);
        self.artifacts
            .iter()
            .filter(move |entry| entry.from_epoch.is_none() && (tree || entry.artifact != Artifact::Tree))
    }

    /// The tree over the rows.
    pub fn tree(&self) -> Option<&ArtifactEntry> {
        self.artifacts.iter().find(|entry| entry.artifact == Artifact::Tree)
    }

    /// The row that `key` falls into; `None` outside the table, and for tables without keys.
    pub fn row_of_key(&self, key: u64) -> Option<u64> {
        self.kind.row_of_key(key).filter(|&row| row < self.rows)
    }

    /// The row a user means by `text`.
    ///
    /// Index tables: the row's number. Keyword tables have no such row. Range tables: a key. For IPv4 keys that is a
    /// dotted address; plain digits are the row's number there, since nobody writes addresses so.
    ///
    /// # Errors
    /// [`CatalogError::NoSuchRow`].
    pub fn parse_row(&self, text: &str) -> Result<u64> {
        self.kind.row_of(text, &self.table, self.rows)
    }

    /// Where a bit of the table lies, of all rows in their order. Rows of keyword tables mean nothing by themselves.
    ///
    /// # Errors
    /// [`CatalogError::NoSuchRow`].
    pub fn bit(&self, bit: u64) -> Result<BitPosition> {
        match self.kind {
            TableKind::Keyword => {
                let why = format!("table {} is asked by key, and has no bits by number", self.table);
                Err(CatalogError::NoSuchRow { why })
            }
            _ if matches!(self.row_form()?, RowForm::Length(_)) => {
                let why =
                    format!("values of table {} have different lengths, and no bits by number", self.table);
                Err(CatalogError::NoSuchRow { why })
            }
            _ => BitPosition::locate(bit, self.rows, self.unmasked_row_bytes()?),
        }
    }
}

impl Document for Catalog {
    const NAME: &'static str = "catalog";
    const SIGNED: &'static str = "signed catalog";
    const FORMAT: &'static str = FORMAT;
    const MAX_BYTES: usize = MAX_CATALOG_BYTES;

    fn name(&self) -> &TableName {
        &self.table
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn check_header(bytes: &[u8]) -> Result<()> {
        let LayersHeader { layers } = json(Self::NAME, bytes)?;
        match layers.iter().find(|layer| !is_known(&layer.name)) {
            Some(layer) => Err(CatalogError::UnknownLayer { name: layer.name.chars().take(64).collect() }),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<()> {
        let refuse = |field, why: &str| Err(CatalogError::invalid(field, why));
        if self.format != FORMAT {
            return Err(CatalogError::Version { found: self.format.clone(), reads: FORMAT });
        }
        if let Some(layer) = self.layers.iter().find(|layer| !is_known(&layer.name)) {
            return Err(CatalogError::UnknownLayer { name: layer.name.clone() });
        }
        if self.epoch.0 == 0 {
            return refuse("epoch", "the first epoch is 1");
        }
        if !(1..=MAX_ROWS).contains(&self.rows) {
            return refuse("rows", "1 to 2^40 rows");
        }
        if !(1..=MAX_ROW_BYTES).contains(&self.row_bytes) {
            return refuse("row_bytes", "1 to 2^30 bytes");
        }
        self.kind.check(self.rows, self.row_bytes)?;
        self.keyword()?;
        self.symmetric_layer()?;
        self.row_form()?;
        if self.scheme.is_empty() || self.scheme.len() > MAX_SCHEME_BYTES {
            return refuse("scheme", "1 to 64 bytes");
        }
        if !self.params.is_object() {
            return refuse("params", "a JSON object");
        }
        if !(1..=MAX_SERVERS).contains(&self.servers) {
            return refuse("servers", "1 to 8 servers");
        }
        self.rows_root.check(self.rows)?;
        if self.artifacts.len() > MAX_ARTIFACTS {
            return refuse("artifacts", "at most 16 artifacts");
        }
        for (i, entry) in self.artifacts.iter().enumerate() {
            entry.check(self.epoch)?;
            let same = |other: &ArtifactEntry| {
                other.artifact == entry.artifact && other.from_epoch == entry.from_epoch
            };
            if self.artifacts.iter().take(i).any(same) {
                return refuse("artifacts", "one entry per artifact and starting epoch");
            }
        }
        let tree_bytes = self.tree().map(|entry| entry.bytes);
        if tree_bytes.unwrap_or(self.rows_root.tree_bytes(self.rows)) != self.rows_root.tree_bytes(self.rows)
        {
            return refuse("artifacts", "a tree of another size than the rows' root has");
        }
        if tree_bytes.is_none() && self.rows_root.needs_tree(self.rows) {
            return refuse("artifacts", "a table whose rows can be verified has the tree for that");
        }
        let named = self.artifacts.iter().any(|entry| entry.artifact == Artifact::Rows);
        if named && self.rows_digest.is_some() {
            return refuse("rows_digest", "none where the rows are an artifact, which has one");
        }
        if self.sidecar.as_ref().is_some_and(|sidecar| sidecar.table == self.table) {
            return refuse("sidecar", "a table other than this one");
        }
        if self.attribution.as_ref().is_some_and(|text| text.len() > MAX_ATTRIBUTION_BYTES) {
            return refuse("attribution", "at most 4096 bytes");
        }
        if self.expires.is_some_and(|expires| expires <= self.created) {
            return refuse("expires", "later than it was made");
        }
        Ok(())
    }
}

/// Whether this build knows a layer of tables by its name.
fn is_known(layer: &str) -> bool {
    [keyword::NAME, symmetric::NAME, row_form::NAME].contains(&layer)
}

/// Whether these are some of those names, in their order.
fn is_among(layers: &[LayerEntry], names: &[&str]) -> bool {
    let mut names = names.iter();
    layers.iter().all(|layer| names.any(|name| layer.name == *name))
}
