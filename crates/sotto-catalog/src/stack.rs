//! Stacks: a layer, and the tables under it.
//!
//! A layer depends on the tables that are its shards, in order, and on files that are the same for
//! everyone, such as a log's checkpoint or the hashes of its top levels. A stack names all of them
//! by digest, so that a client that trusts its signature has one consistent view, although the
//! tables are opened one after the other.

use crate::document::{self, Document};
use crate::{Anchor, Catalog, CatalogError, Hex32, LayerEntry, Result, TableName};
use serde::{Deserialize, Serialize};
use sotto_core::Epoch;

/// Format of stacks that this build writes and reads.
pub const FORMAT: &str = "sotto-stack/1";

/// Largest size of a stack's text in bytes.
pub const MAX_STACK_BYTES: usize = 1 << 20;

/// Largest number of tables of a stack.
pub const MAX_SHARDS: usize = 1024;

/// Largest number of files of a stack.
pub const MAX_FILES: usize = 16;

/// Largest size of a file in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

const MAX_LAYERS: usize = 4;
const MAX_LAYER_NAME_BYTES: usize = 64;
const MAX_ATTRIBUTION_BYTES: usize = 4096;

/// Signed description of one epoch of a stack. A value from [`Stack::parse`] is consistent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// Format of the stack, always [`FORMAT`].
    pub format: String,
    /// Name of the stack, which no table of the same server has.
    pub stack: TableName,
    /// Epoch of the stack.
    pub epoch: Epoch,
    /// Layers; users' requests go to the first one.
    pub layers: Vec<LayerEntry>,
    /// Tables under the last layer, in the order of its shards.
    pub shards: Vec<Shard>,
    /// Public files of the stack.
    pub files: Vec<StackFile>,
    /// State of another system that the epoch was made from, such as a block of a chain; `None` if
    /// the publisher names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// Attribution of the data, in the words that its license requires.
    pub attribution: Option<String>,
    /// Time of creation, in seconds since 1970.
    pub created: u64,
    /// Time of expiry, in seconds since 1970, from which on clients refuse this stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// A table of a stack, at one epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Name of the table.
    pub table: TableName,
    /// Epoch of the table, which need not be the stack's.
    pub epoch: Epoch,
    /// Digest of the table's catalog ([`Catalog::digest`]).
    pub catalog: Hex32,
}

/// A public file of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StackFile {
    /// Name by which the layer finds the file.
    pub name: TableName,
    /// Bytes of the file.
    pub bytes: u64,
    /// BLAKE3 digest of the file, and its name in `GET /v1/artifacts/{digest}`.
    pub digest: Hex32,
}

impl Shard {
    /// Describes a table at the epoch of its catalog as a shard.
    ///
    /// # Errors
    /// The errors of [`Document::check`].
    pub fn of(catalog: &Catalog) -> Result<Self> {
        Ok(Shard { table: catalog.table.clone(), epoch: catalog.epoch, catalog: catalog.digest()? })
    }

    /// Whether a catalog is the one of this shard.
    pub fn is(&self, catalog: &Catalog) -> bool {
        catalog.digest().is_ok_and(|digest| digest == self.catalog)
    }
}

impl StackFile {
    /// Builds the entry of a file from its bytes.
    pub fn of(name: TableName, bytes: &[u8]) -> Self {
        StackFile { name, bytes: bytes.len() as u64, digest: blake3::hash(bytes).into() }
    }

    /// Whether these are the bytes of the file.
    pub fn is(&self, bytes: &[u8]) -> bool {
        self.bytes == bytes.len() as u64 && self.digest == blake3::hash(bytes).into()
    }
}

impl Stack {
    /// Parses and checks a stack's text. Total: any bytes give a stack or an error.
    ///
    /// # Errors
    /// [`CatalogError`], with the problem.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        document::parse(bytes)
    }

    /// Text of the stack, to be signed.
    ///
    /// # Errors
    /// The errors of [`Document::check`].
    pub fn to_text(&self) -> Result<String> {
        document::text(self)
    }

    /// BLAKE3 digest of [`Stack::to_text`], by which files stored beside a stack name its epoch.
    ///
    /// # Errors
    /// The errors of [`Document::check`].
    pub fn digest(&self) -> Result<Hex32> {
        document::digest(self)
    }

    /// Entry of a public file.
    ///
    /// # Errors
    /// [`CatalogError::Invalid`] if no file has that name: the layer cannot work without it.
    pub fn file(&self, name: &str) -> Result<&StackFile> {
        let named = |file: &&StackFile| file.name.as_str() == name;
        let missing = || CatalogError::invalid("files", format!("the layer needs a file {name:?}"));
        self.files.iter().find(named).ok_or_else(missing)
    }
}

impl Document for Stack {
    const NAME: &'static str = "stack";
    const SIGNED: &'static str = "signed stack";
    const FORMAT: &'static str = FORMAT;
    const MAX_BYTES: usize = MAX_STACK_BYTES;

    fn name(&self) -> &TableName {
        &self.stack
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn anchor(&self) -> Option<&Anchor> {
        self.anchor.as_ref()
    }

    /// Checks that nothing is named twice. Unknown layers are detected by the code that uses them.
    fn check(&self) -> Result<()> {
        let refuse = |field, why: &str| Err(CatalogError::invalid(field, why));
        if self.format != FORMAT {
            return Err(CatalogError::Version { found: self.format.clone(), reads: FORMAT });
        }
        if self.epoch.0 == 0 {
            return refuse("epoch", "expected epoch 1 or later");
        }
        let named = |layer: &LayerEntry| (1..=MAX_LAYER_NAME_BYTES).contains(&layer.name.len());
        if !(1..=MAX_LAYERS).contains(&self.layers.len()) || !self.layers.iter().all(named) {
            return refuse("layers", "expected 1 to 4 layers, with names of 1 to 64 bytes");
        }
        if !self.layers.iter().all(|layer| layer.params.is_object()) {
            return refuse("layers", "expected parameters that are a JSON object");
        }
        if !(1..=MAX_SHARDS).contains(&self.shards.len()) {
            return refuse("shards", "expected 1 to 1024 tables");
        }
        if !distinct(self.shards.iter().map(|shard| &shard.table).chain([&self.stack])) {
            return refuse("shards", "expected each table once, and none with the stack's own name");
        }
        if self.files.len() > MAX_FILES || !distinct(self.files.iter().map(|file| &file.name)) {
            return refuse("files", "expected at most 16 files, each once");
        }
        if self.files.iter().any(|file| file.bytes > MAX_FILE_BYTES) {
            return refuse("files", "expected at most 2^30 bytes in a file");
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

fn distinct<'a>(names: impl Iterator<Item = &'a TableName>) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    names.into_iter().all(|name| seen.insert(name))
}
