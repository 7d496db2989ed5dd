//! The catalog: everything that a client must know of a table before its first query.
//! `layers` compares it with its scheme.

mod layers;

use crate::document::{self, Document, json};
use crate::row_form::{self, RowForm};
pub use crate::rows_root::MAX_ROWS;
use crate::symmetric::{self, SymmetricLayer};
pub use crate::table::LayerEntry;
use crate::{
    Anchor, ArtifactEntry, BitPosition, CatalogError, Hex32, Packing, Result, RowsRoot, TableKind, TableName,
    ValueKind,
};
pub use layers::{TableTerms, gate};
use serde::{Deserialize, Serialize};
use sotto_core::{Artifact, Epoch, ParamsReport};
use sotto_layers::{Keyword, keyword};

/// Format of catalogs that this build writes and reads.
pub const FORMAT: &str = "sotto-catalog/1";

/// Largest size of a catalog's text in bytes.
pub const MAX_CATALOG_BYTES: usize = 4 << 20;

/// Largest size of a row in bytes.
pub const MAX_ROW_BYTES: u64 = 1 << 30;

/// Largest number of artifacts of a table.
pub const MAX_ARTIFACTS: usize = 16;

/// Largest number of servers that a query is sent to.
pub const MAX_SERVERS: u32 = 8;

const MAX_SCHEME_BYTES: usize = 64;
const MAX_ATTRIBUTION_BYTES: usize = 4096;

/// Signed description of one epoch of a table. A value from [`Catalog::parse`] is consistent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// Format of the catalog, always [`FORMAT`].
    pub format: String,
    /// Name of the table.
    pub table: TableName,
    /// Epoch of the table.
    pub epoch: Epoch,
    /// Kind of the table, which says how users name a row.
    pub kind: TableKind,
    /// Meaning of a row's bytes.
    pub value: ValueKind,
    /// Number of rows.
    pub rows: u64,
    /// Bytes in a row.
    pub row_bytes: u64,
    /// Id of the scheme, such as `simplepir/1`.
    pub scheme: String,
    /// Parameters of the scheme.
    pub params: serde_json::Value,
    /// Digest of the scheme's id and parameters; every query names it.
    pub params_digest: Hex32,
    /// Number of servers that a query is sent to.
    pub servers: u32,
    /// Artifacts of this epoch.
    pub artifacts: Vec<ArtifactEntry>,
    /// BLAKE3 digest of the rows as servers hold them, if clients keep state made from rows that
    /// are not an artifact: servers make that state, and clients must know from which rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_digest: Option<Hex32>,
    /// Commitment to the rows, whatever the scheme.
    pub rows_root: RowsRoot,
    /// Layers on top of the scheme, from the scheme up. A layer that this build does not know is
    /// refused: a client that skipped it would read wrong rows.
    pub layers: Vec<LayerEntry>,
    /// A small table with the newest changes, queried in the same round. A client that does not
    /// query it reads this epoch, which is older but not wrong.
    pub sidecar: Option<Sidecar>,
    /// State of another system that the epoch was made from, such as a block of a chain; `None` if
    /// the publisher names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// Attribution of the data, in the words that its license requires.
    pub attribution: Option<String>,
    /// Time of creation, in seconds since 1970.
    pub created: u64,
    /// Time of expiry, in seconds since 1970, from which on clients refuse this catalog: an old
    /// copy that is kept alive is then refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// A small table of newest changes that accompanies a large one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sidecar {
    /// Name of the table, which is on the same server.
    pub table: TableName,
}

/// Names of the layers, parsed before the rest of the catalog.
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
    /// [`CatalogError`], with the problem.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        document::parse(bytes)
    }

    /// Text of the catalog, to be signed.
    ///
    /// # Errors
    /// The errors of [`Document::check`].
    pub fn to_text(&self) -> Result<String> {
        document::text(self)
    }

    /// BLAKE3 digest of [`Catalog::to_text`], by which a [`Stack`](crate::Stack) names one epoch of
    /// a table. It is computed from the parsed catalog, so everyone who has parsed a catalog can
    /// compute it.
    ///
    /// # Errors
    /// The errors of [`Document::check`].
    pub fn digest(&self) -> Result<Hex32> {
        document::digest(self)
    }

    /// Layer that finds keys in the rows, for keyword tables; `None` for other tables.
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
                    return Err(CatalogError::invalid(
                        "layers",
                        "the keyword layer has other rows than the table",
                    ));
                }
                Ok(Some(found))
            }
            (TableKind::Keyword, _) => {
                Err(CatalogError::invalid("layers", "expected the keyword layer in a keyword table"))
            }
            // Optional layers, from the scheme up: masks, and lengths under them.
            (_, layers) if is_among(layers, &[symmetric::NAME, row_form::NAME]) => Ok(None),
            (_, layers) => match layers.iter().find(|layer| !is_known(&layer.name)) {
                Some(layer) => Err(CatalogError::UnknownLayer(layer.name.clone())),
                None => {
                    let why = "expected the keyword layer in a keyword table only, and masks before lengths, each once";
                    Err(CatalogError::invalid("layers", why))
                }
            },
        }
    }

    /// Layer that masks the rows, for symmetric tables; `None` for other tables.
    ///
    /// # Errors
    /// [`CatalogError::Invalid`], [`CatalogError::Malformed`], [`CatalogError::Params`].
    pub fn symmetric_layer(&self) -> Result<Option<SymmetricLayer>> {
        let layer = self.layers.iter().find(|layer| layer.name == symmetric::NAME);
        layer.map(|layer| SymmetricLayer::of(self, layer)).transpose()
    }

    /// Bytes of a row without its mask, as a client reads it.
    ///
    /// # Errors
    /// The errors of [`Catalog::symmetric_layer`].
    pub fn unmasked_row_bytes(&self) -> Result<u64> {
        Ok(self.symmetric_layer()?.map_or(self.row_bytes, |masked| masked.item_bytes))
    }

    /// Form in which values are stored in unmasked rows.
    ///
    /// # Errors
    /// The errors of [`Catalog::symmetric_layer`].
    pub fn row_form(&self) -> Result<RowForm> {
        RowForm::of(self, self.unmasked_row_bytes()?)
    }

    /// Digest of the rows that a client's durable state belongs to; `None` where clients keep no
    /// such state.
    pub fn digest_of_rows(&self) -> Option<Hex32> {
        let rows = self.artifacts.iter().find(|entry| entry.artifact == Artifact::Rows);
        rows.map(|entry| entry.digest).or(self.rows_digest)
    }

    /// Packing of the rows into the records of `report`.
    ///
    /// # Errors
    /// [`CatalogError::Disagree`] if the records do not hold the rows.
    pub fn packing(&self, report: &ParamsReport) -> Result<Packing> {
        let disagree = |_| CatalogError::Disagree("the number of rows");
        let packing = Packing::new(self.rows, self.row_bytes, report.records, report.record_bytes);
        let packing = packing.map_err(disagree)?;
        match self.rows_root.path {
            Some(_) => packing.with_paths(self.rows_root.leaf_rows, self.rows_root.path_bytes()),
            None => Ok(packing),
        }
        .map_err(disagree)
    }

    /// Artifacts that a client of this table downloads: those of the scheme, and the tree where
    /// rows are verified one by one.
    pub fn client_artifacts(&self) -> impl Iterator<Item = &ArtifactEntry> {
        let tree = self.rows_root.needs_tree(self.rows);
        self.artifacts
            .iter()
            .filter(move |entry| entry.from_epoch.is_none() && (tree || entry.artifact != Artifact::Tree))
    }

    /// Artifact with the hash tree over the rows.
    pub fn tree(&self) -> Option<&ArtifactEntry> {
        self.artifacts.iter().find(|entry| entry.artifact == Artifact::Tree)
    }

    /// Row that contains `key`; `None` outside of the table, and for tables without keys.
    pub fn row_of_key(&self, key: u64) -> Option<u64> {
        self.kind.row_of_key(key).filter(|&row| row < self.rows)
    }

    /// Row that a user means by `text`.
    ///
    /// In an index table it is the row's number; keyword tables have no such row. In a range table
    /// it is a key. IPv4 keys are dotted addresses or integers.
    ///
    /// # Errors
    /// [`CatalogError::NoSuchRow`].
    pub fn parse_row(&self, text: &str) -> Result<u64> {
        self.kind.parse_row(text, &self.table, self.rows)
    }

    /// Position of a bit of the table, counted over all rows in their order. Rows of keyword tables
    /// mean nothing by themselves.
    ///
    /// # Errors
    /// [`CatalogError::NoSuchRow`].
    pub fn bit(&self, bit: u64) -> Result<BitPosition> {
        match self.kind {
            TableKind::Keyword => {
                let why = format!("table {} is a keyword table, which has no bits by number", self.table);
                Err(CatalogError::NoSuchRow(why))
            }
            _ if matches!(self.row_form()?, RowForm::Length(_)) => {
                let why = format!(
                    "values of table {} have different lengths, so there are no bits by number",
                    self.table
                );
                Err(CatalogError::NoSuchRow(why))
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

    fn anchor(&self) -> Option<&Anchor> {
        self.anchor.as_ref()
    }

    fn check_header(bytes: &[u8]) -> Result<()> {
        let LayersHeader { layers } = json(Self::NAME, bytes)?;
        match layers.iter().find(|layer| !is_known(&layer.name)) {
            Some(layer) => Err(CatalogError::UnknownLayer(layer.name.chars().take(64).collect())),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<()> {
        let refuse = |field, why: &str| Err(CatalogError::invalid(field, why));
        if self.format != FORMAT {
            return Err(CatalogError::Version { found: self.format.clone(), reads: FORMAT });
        }
        if let Some(layer) = self.layers.iter().find(|layer| !is_known(&layer.name)) {
            return Err(CatalogError::UnknownLayer(layer.name.clone()));
        }
        if self.epoch.0 == 0 {
            return refuse("epoch", "expected epoch 1 or later");
        }
        if !(1..=MAX_ROWS).contains(&self.rows) {
            return refuse("rows", "expected 1 to 2^40 rows");
        }
        if !(1..=MAX_ROW_BYTES).contains(&self.row_bytes) {
            return refuse("row_bytes", "expected 1 to 2^30 bytes");
        }
        self.kind.check(self.rows, self.row_bytes)?;
        self.keyword()?;
        self.symmetric_layer()?;
        self.row_form()?;
        if self.scheme.is_empty() || self.scheme.len() > MAX_SCHEME_BYTES {
            return refuse("scheme", "expected 1 to 64 bytes");
        }
        if !self.params.is_object() {
            return refuse("params", "expected a JSON object");
        }
        if !(1..=MAX_SERVERS).contains(&self.servers) {
            return refuse("servers", "expected 1 to 8 servers");
        }
        self.rows_root.check(self.rows)?;
        if self.artifacts.len() > MAX_ARTIFACTS {
            return refuse("artifacts", "expected at most 16 artifacts");
        }
        for (i, entry) in self.artifacts.iter().enumerate() {
            entry.check(self.epoch)?;
            let same = |other: &ArtifactEntry| {
                other.artifact == entry.artifact && other.from_epoch == entry.from_epoch
            };
            if self.artifacts.iter().take(i).any(same) {
                return refuse("artifacts", "expected one entry per artifact and starting epoch");
            }
        }
        let tree_bytes = self.tree().map(|entry| entry.bytes);
        if tree_bytes.unwrap_or(self.rows_root.tree_bytes(self.rows)) != self.rows_root.tree_bytes(self.rows)
        {
            return refuse("artifacts", "the tree has another size than the rows root implies");
        }
        if tree_bytes.is_none() && self.rows_root.needs_tree(self.rows) {
            return refuse("artifacts", "expected a tree in a table with row proofs");
        }
        let named = self.artifacts.iter().any(|entry| entry.artifact == Artifact::Rows);
        if named && self.rows_digest.is_some() {
            return refuse(
                "rows_digest",
                "expected none, since the rows are an artifact with a digest of its own",
            );
        }
        if self.sidecar.as_ref().is_some_and(|sidecar| sidecar.table == self.table) {
            return refuse("sidecar", "expected another table than this one");
        }
        if self.attribution.as_ref().is_some_and(|text| text.len() > MAX_ATTRIBUTION_BYTES) {
            return refuse("attribution", "expected at most 4096 bytes");
        }
        if self.expires.is_some_and(|expires| expires <= self.created) {
            return refuse("expires", "expected a time later than `created`");
        }
        Ok(())
    }
}

/// Whether this build knows a layer of this name for tables.
fn is_known(layer: &str) -> bool {
    [keyword::NAME, symmetric::NAME, row_form::NAME].contains(&layer)
}

/// Whether the layers have some of these names, in this order.
fn is_among(layers: &[LayerEntry], names: &[&str]) -> bool {
    let mut names = names.iter();
    layers.iter().all(|layer| names.any(|name| layer.name == *name))
}
