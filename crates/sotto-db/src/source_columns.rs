//! Columns of a table's source file, stored beside the table for later files about it.
//!
//! ```text
//! DIR/source.json   {"format":"sotto-source/1","key":"word","value":"meaning"}
//! ```
//!
//! `sotto update` finds the columns of a changes file by these names, and uses them to detect
//! whether its first line is a header. The file is never served, and a table is served and updated
//! without it: columns are then given by the user, or found by their position.

use crate::table::BlockRule;
use crate::{DbError, Result, TableDir, WriteLock};
use serde::{Deserialize, Serialize};
use sotto_catalog::{RowForm, ValueKind};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

/// Name of the file.
pub const SOURCE: &str = "source.json";

const FORMAT: &str = "sotto-source/1";

/// Largest size of the file in bytes.
const MAX_BYTES: u64 = 1 << 16;

/// Names of a source file's columns, by their content.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceColumns {
    #[serde(default)]
    pub(crate) format: String,
    /// Column of the row numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// Column of the keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Column of the ranges' first keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Column of the ranges' last keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Column of the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Rule for blocks that several ranges cover; `None` for the rule of the first key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<BlockRule>,
    /// Whether every value has as many bytes as a row, so that a shorter one is invalid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

impl SourceColumns {
    /// Name of the column that holds `row`, `key`, `start`, `end` or `value`.
    pub fn name(&self, part: &str) -> Option<&str> {
        let name = match part {
            "row" => &self.row,
            "key" => &self.key,
            "start" => &self.start,
            "end" => &self.end,
            "value" => &self.value,
            _ => return None,
        };
        name.as_deref()
    }

    /// Whether no column has a name.
    pub fn is_nameless(&self) -> bool {
        ["row", "key", "start", "end", "value"].iter().all(|part| self.name(part).is_none())
    }

    /// Completes the columns with the form in which values are stored in rows.
    pub(crate) fn of_values(self, form: RowForm, kind: ValueKind) -> Self {
        SourceColumns { whole: form == RowForm::Whole && kind == ValueKind::Bytes, ..self }
    }
}

impl TableDir {
    /// Columns of the table's source, if they are stored.
    ///
    /// # Errors
    /// [`DbError::Source`] if the file is invalid, [`DbError::Io`].
    pub fn origin(&self) -> Result<Option<SourceColumns>> {
        let path = self.path().join(SOURCE);
        let failed = |e| DbError::io("reading how the source was read", &path, e);
        let mut text = Vec::new();
        match fs::File::open(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(failed)?.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(failed)?,
        };
        let parsed = serde_json::from_slice(&text).ok().filter(|_| text.len() as u64 <= MAX_BYTES);
        match parsed {
            Some(origin @ SourceColumns { .. }) if origin.format == FORMAT => Ok(Some(origin)),
            _ => Err(DbError::Source { path }),
        }
    }
}

impl WriteLock {
    /// Stores the columns of the table's source, and replaces an earlier file atomically.
    ///
    /// # Errors
    /// [`DbError::Io`], [`DbError::DiskFull`].
    pub fn keep_origin(&self, origin: &SourceColumns) -> Result<()> {
        let dir = self.dir().path();
        let path = dir.join(SOURCE);
        let failed = |e| DbError::io("writing how the source was read", &path, e);
        let mut text = serde_json::to_vec(&SourceColumns { format: FORMAT.to_owned(), ..origin.clone() })
            .map_err(|e| failed(e.into()))?;
        text.push(b'\n');
        // Names that are too long to be read again are not stored.
        if text.len() as u64 > MAX_BYTES {
            return Ok(());
        }
        let mut temp = tempfile::Builder::new()
            .prefix(crate::files::TEMP_PREFIX)
            .permissions(fs::Permissions::from_mode(0o644))
            .tempfile_in(dir)
            .map_err(failed)?;
        temp.write_all(&text).map_err(failed)?;
        temp.as_file().sync_all().map_err(failed)?;
        temp.persist(&path).map(drop).map_err(|e| failed(e.error))
    }
}
