//! A stack: a layer, and the tables that it lies on.
//!
//! What a layer needs of the world is the tables that are its shards, in order, and files that are the same for everyone:
//! a log's checkpoint, hashes of its top layers. A stack names all of them by digest, so that whoever trusts its signature
//! has one consistent view, although the tables are opened one after the other.

use crate::document::{self, Document};
use crate::{Catalog, CatalogError, Hex32, LayerEntry, Result, TableName};
use serde::{Deserialize, Serialize};
use sotto_core::Epoch;

/// The format this build writes and reads.
pub const FORMAT: &str = "sotto-stack/1";

/// Most bytes of a stack's text.
pub const MAX_STACK_BYTES: usize = 1 << 20;

/// Most tables of a stack.
pub const MAX_SHARDS: usize = 1024;

/// Most files of a stack.
pub const MAX_FILES: usize = 16;

/// Most bytes of a file.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

const MAX_LAYERS: usize = 4;
const MAX_LAYER_NAME_BYTES: usize = 64;
const MAX_ATTRIBUTION_BYTES: usize = 4096;

/// One epoch of a stack. A value that came from [`Stack::parse`] is consistent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// Always [`FORMAT`].
    pub format: String,
    /// The stack's name: not that of a table of the same server.
    pub stack: TableName,
    /// Which snapshot of it.
    pub epoch: Epoch,
    /// The layers, the one that users' requests go to first.
    pub layers: Vec<LayerEntry>,
    /// The tables under the last of them, in the order of its shards.
    pub shards: Vec<Shard>,
    /// What is public.
    pub files: Vec<StackFile>,
    /// Where the data comes from, in the words its license asks for.
    pub attribution: Option<String>,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// From when on nobody should believe it, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// A table of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Its name.
    pub table: TableName,
    /// Its epoch, which need not be the stack's.
    pub epoch: Epoch,
    /// That epoch's [`Catalog::digest`].
    pub catalog: Hex32,
}

/// A public file of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackFile {
    /// What its layer calls it.
    pub name: TableName,
    /// Its size.
    pub bytes: u64,
    /// BLAKE3 of its bytes; its name in `GET /v1/artifacts/{digest}`.
    pub digest: Hex32,
}

impl Shard {
    /// The shard that is this table, in this epoch.
    ///
    /// # Errors
    /// As [`Document::check`].
    pub fn of(catalog: &Catalog) -> Result<Self> {
        Ok(Shard { table: catalog.table.clone(), epoch: catalog.epoch, catalog: catalog.digest()? })
    }

    /// Whether this is the table, in its epoch.
    pub fn is(&self, catalog: &Catalog) -> bool {
        catalog.digest().is_ok_and(|digest| digest == self.catalog)
    }
}

impl StackFile {
    /// The entry of a file's bytes.
    pub fn of(name: TableName, bytes: &[u8]) -> Self {
        StackFile { name, bytes: bytes.len() as u64, digest: blake3::hash(bytes).into() }
    }

    /// Whether these are its bytes.
    pub fn is(&self, bytes: &[u8]) -> bool {
        self.bytes == bytes.len() as u64 && self.digest == blake3::hash(bytes).into()
    }
}

impl Stack {
    /// Parses and checks a stack's text. Total: any bytes give a stack or an error.
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

    /// BLAKE3 of [`Stack::to_text`], by which what is kept beside a stack names its epoch.
    ///
    /// # Errors
    /// As [`Document::check`].
    pub fn digest(&self) -> Result<Hex32> {
        document::digest(self)
    }

    /// A public file's entry.
    ///
    /// # Errors
    /// [`CatalogError::Invalid`] if there is none of that name: the layer cannot work without it.
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

    /// Nothing is named twice. Whether the layers are known is for whoever has them.
    fn check(&self) -> Result<()> {
        let refuse = |field, why: &str| Err(CatalogError::invalid(field, why));
        if self.format != FORMAT {
            return Err(CatalogError::Version { found: self.format.clone(), reads: FORMAT });
        }
        if self.epoch.0 == 0 {
            return refuse("epoch", "the first epoch is 1");
        }
        let named = |layer: &LayerEntry| (1..=MAX_LAYER_NAME_BYTES).contains(&layer.name.len());
        if !(1..=MAX_LAYERS).contains(&self.layers.len()) || !self.layers.iter().all(named) {
            return refuse("layers", "1 to 4 layers, with names of 1 to 64 bytes");
        }
        if !self.layers.iter().all(|layer| layer.params.is_object()) {
            return refuse("layers", "parameters are a JSON object");
        }
        if !(1..=MAX_SHARDS).contains(&self.shards.len()) {
            return refuse("shards", "1 to 1024 tables");
        }
        if !distinct(self.shards.iter().map(|shard| &shard.table).chain([&self.stack])) {
            return refuse("shards", "each table once, and none with the stack's own name");
        }
        if self.files.len() > MAX_FILES || !distinct(self.files.iter().map(|file| &file.name)) {
            return refuse("files", "at most 16 files, each once");
        }
        if self.files.iter().any(|file| file.bytes > MAX_FILE_BYTES) {
            return refuse("files", "at most 2^30 bytes in a file");
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

fn distinct<'a>(names: impl Iterator<Item = &'a TableName>) -> bool {
    let mut seen = std::collections::HashSet::new();
    names.into_iter().all(|name| seen.insert(name))
}
