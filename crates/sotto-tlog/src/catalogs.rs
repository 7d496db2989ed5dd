//! Entries of a publisher's log: all catalogs and stacks that it ever signed, in public.
//!
//! The publisher's key signs the log too, so a client that has pinned it needs no other key: the
//! log's name and its key follow from it. An entry is one line, with the newline at its end:
//!
//! ```text
//! sotto-log/2 catalog words 7 <BLAKE3 of the catalog's text, 64 hex digits> <previous entry> sotto-pk:<64 hex digits>
//! ```
//!
//! The previous entry is that of the same kind and name: its leaf hash in 64 hex digits, or `-`. So
//! the entries of a name form a hash chain, and an entry commits to all entries before it.
//! [`LogHistory`](crate::LogHistory) checks that.
#![deny(clippy::indexing_slicing)]

use crate::{LogError, LogKey, LogSigner, Result};
use sotto_catalog::{Catalog, Hex32, PublicKey, SigningKey, Stack, TableName};
use sotto_core::Epoch;
use sotto_tree::log::{Hash, hash};
use std::fmt;
use std::str::FromStr;

/// Format at the beginning of an entry.
pub const FORMAT: &str = "sotto-log/2";

/// Earlier format, in which entries did not name the previous one.
const OLD_FORMAT: &str = "sotto-log/1";

/// Largest size of an entry in bytes.
pub const MAX_ENTRY_BYTES: usize = 512;

/// Prefix of the key in the name of a publisher's log.
const NAME: &str = "sotto-log/";

/// Kind of document that an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// Catalog of a table.
    Catalog,
    /// Stack of tables.
    Stack,
}

impl EntryKind {
    /// Name of the kind in an entry.
    pub fn name(self) -> &'static str {
        match self {
            EntryKind::Catalog => "catalog",
            EntryKind::Stack => "stack",
        }
    }

    /// Kind with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [EntryKind::Catalog, EntryKind::Stack].into_iter().find(|kind| kind.name() == name)
    }
}

/// Log entry of a catalog or a stack that a publisher has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Kind of the document.
    pub kind: EntryKind,
    /// Name of the table or the stack.
    pub name: TableName,
    /// Epoch of the document.
    pub epoch: Epoch,
    /// BLAKE3 digest of the document's text: [`Catalog::digest`], [`Stack::digest`].
    pub digest: Hex32,
    /// Leaf hash of the previous entry of this kind and name; `None` for the first one.
    pub previous: Option<Hex32>,
    /// Ed25519 key that signed the document.
    pub key: PublicKey,
}

impl LogEntry {
    /// Makes an entry without a previous one, which [`Appender`](crate::appender::Appender) fills
    /// in.
    pub fn new(kind: EntryKind, name: TableName, epoch: Epoch, digest: Hex32, key: PublicKey) -> Self {
        LogEntry { kind, name, epoch, digest, previous: None, key: key.without_ml_dsa() }
    }

    /// Makes the entry of a catalog.
    ///
    /// # Errors
    /// [`LogError::Malformed`] for a catalog that contradicts itself.
    pub fn catalog(catalog: &Catalog, key: PublicKey) -> Result<Self> {
        let digest = catalog.digest().map_err(|e| LogError::malformed("log entry", e.to_string()))?;
        Ok(LogEntry::new(EntryKind::Catalog, catalog.table.clone(), catalog.epoch, digest, key))
    }

    /// Makes the entry of a stack.
    ///
    /// # Errors
    /// [`LogError::Malformed`] for a stack that contradicts itself.
    pub fn stack(stack: &Stack, key: PublicKey) -> Result<Self> {
        let digest = stack.digest().map_err(|e| LogError::malformed("log entry", e.to_string()))?;
        Ok(LogEntry::new(EntryKind::Stack, stack.stack.clone(), stack.epoch, digest, key))
    }

    /// Parses an entry. Total.
    ///
    /// # Errors
    /// [`LogError::TooLarge`], [`LogError::Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_ENTRY_BYTES {
            return Err(LogError::TooLarge { what: "log entry".into(), limit: MAX_ENTRY_BYTES as u64 });
        }
        let text = std::str::from_utf8(bytes).map_err(|_| LogError::malformed("log entry", "not UTF-8"))?;
        text.parse()
    }

    /// Whether both entries are of one document, whatever their previous entries.
    pub fn is_same_document(&self, other: &LogEntry) -> bool {
        *self == LogEntry { previous: self.previous, ..other.clone() }
    }

    /// Kind, name and epoch of the document, for errors.
    pub fn subject(&self) -> String {
        format!("{} {}, epoch {}", self.kind.name(), self.name, self.epoch)
    }

    /// Leaf hash of the entry in the log.
    pub fn leaf(&self) -> Hash {
        hash::leaf(self.to_string().as_bytes())
    }

    /// Encodes the entry as it is stored in a bundle.
    pub(crate) fn written(&self) -> Vec<u8> {
        let text = self.to_string();
        // A name has at most 64 bytes, so an entry has fewer than 512.
        [&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat()
    }
}

impl fmt::Display for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogEntry { kind, name, epoch, digest, previous, key } = self;
        write!(f, "{FORMAT} {} {name} {epoch} {digest} ", kind.name())?;
        match previous {
            Some(previous) => writeln!(f, "{previous} {key}"),
            None => writeln!(f, "- {key}"),
        }
    }
}

impl FromStr for LogEntry {
    type Err = LogError;
    fn from_str(text: &str) -> Result<Self> {
        let refuse = |why: &str| LogError::malformed("log entry", why);
        let line = text.strip_suffix('\n').ok_or_else(|| refuse("expected a newline at the end"))?;
        let mut words = line.split(' ');
        let mut next = |what: &str| words.next().ok_or_else(|| refuse(&format!("expected {what}")));
        match next("a format")? {
            FORMAT => {}
            OLD_FORMAT => {
                return Err(refuse("format sotto-log/1 has no chain: begin a new log under a new key"));
            }
            _ => return Err(refuse("unknown format: upgrade sotto")),
        }
        let kind = EntryKind::parse(next("a kind")?);
        let kind = kind.ok_or_else(|| refuse("expected catalog or stack"))?;
        let name = next("a name")?.parse().map_err(|_| refuse("invalid table name"))?;
        let epoch = next("an epoch")?.parse().map_err(|_| refuse("the epoch is not a number"))?;
        let digest = next("a digest")?.parse().map_err(|_| refuse("invalid digest"))?;
        let previous = match next("a previous entry")? {
            "-" => None,
            hash => Some(hash.parse().map_err(|_| refuse("the previous entry is not a leaf hash"))?),
        };
        let key = next("a key")?.parse().map_err(|_| refuse("invalid key"))?;
        let entry = LogEntry { kind, name, epoch: Epoch(epoch), digest, previous, key };
        if entry.key.ml_dsa.is_some() {
            return Err(refuse("expected the Ed25519 key alone"));
        }
        // An entry has only one form: the hash covers exactly what was parsed.
        if entry.to_string() == text {
            Ok(entry)
        } else {
            Err(refuse("the text is longer than an entry, or is not in canonical form"))
        }
    }
}

/// Ed25519 key that verifies the log of a publisher's catalogs. Of a publisher with an ML-DSA-44 key
/// add that ([`LogKey::with_ml_dsa`]).
///
/// # Errors
/// [`LogError::KeyText`] for bytes that are not an Ed25519 key.
pub fn log_key(publisher: &PublicKey) -> Result<LogKey> {
    LogKey::ed25519(&log_name(publisher), &publisher.ed25519.0)
}

/// Name of the log of a publisher's catalogs.
pub fn log_name(publisher: &PublicKey) -> String {
    format!("{NAME}{}", publisher.ed25519)
}

/// Keys that sign the log of a publisher's catalogs: the publisher's own, under the log's name.
///
/// # Errors
/// [`LogError::KeyText`]; never for a key that signs.
pub fn log_signer(publisher: &SigningKey) -> Result<LogSigner> {
    LogSigner::new(&log_name(&publisher.public()), &publisher.secret())?.with_ml_dsa(publisher.ml_dsa())
}

/// Publisher of the log with this name.
pub fn publisher(origin: &str) -> Option<PublicKey> {
    origin.strip_prefix(NAME)?.parse().ok().map(PublicKey::of_ed25519)
}
