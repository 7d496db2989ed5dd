//! Evidence against publishers: pairs of documents signed by one key that contradict each other.
//!
//! Every pair is verified here before it is called evidence, and anyone can verify it again with
//! the publisher's key alone.

use super::{Cache, CacheError};
use crate::files;
use sotto_catalog::signed::SignedDocument;
use sotto_catalog::{Catalog, Document, Hex32, PublicKey, Stack};
use sotto_tlog::Checkpoint;
use sotto_tlog::catalogs::log_key;
use std::path::{Path, PathBuf};

/// Two contradicting documents with valid signatures of one publisher key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EquivocationProof {
    /// Kind of the documents.
    pub kind: EvidenceKind,
    /// Key that signed both documents.
    pub publisher: PublicKey,
    /// Signed document that was seen first.
    pub first: Vec<u8>,
    /// Signed document that contradicts it.
    pub other: Vec<u8>,
}

/// Kind of the documents in an [`EquivocationProof`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidenceKind {
    /// Two catalogs of one epoch of a table.
    Catalogs {
        /// Name of the table.
        name: String,
        /// Epoch of both catalogs.
        epoch: u64,
    },
    /// Two stacks of one epoch.
    Stacks {
        /// Name of the stack.
        name: String,
        /// Epoch of both stacks.
        epoch: u64,
    },
    /// Two checkpoints of one log, neither of which extends the other.
    Logs {
        /// Entries under the first checkpoint.
        first: u64,
        /// Entries under the other checkpoint.
        other: u64,
    },
}

impl EquivocationProof {
    /// A file name stem for this evidence.
    pub fn name(&self) -> String {
        let key = self.publisher.ed25519.to_string();
        let key = key.get(..16).unwrap_or(&key);
        match &self.kind {
            EvidenceKind::Catalogs { name, epoch } => format!("catalogs-{name}-{epoch}-{key}"),
            EvidenceKind::Stacks { name, epoch } => format!("stacks-{name}-{epoch}-{key}"),
            EvidenceKind::Logs { first, other } => format!("log-{first}-{other}-{key}"),
        }
    }

    /// Explains in text what the pair proves, and how to verify it.
    pub fn statement(&self) -> String {
        let key = self.publisher;
        let two = |what: &str, name: &str, epoch: u64| {
            format!(
                "{key} has signed two different {what} of {name}, epoch {epoch}, although there can be only one: \
                 the holder of the key shows different data to different people. Each file is the signed text with \
                 its key and signature; verify both, and compare them."
            )
        };
        match &self.kind {
            EvidenceKind::Catalogs { name, epoch } => two("catalogs", name, *epoch),
            EvidenceKind::Stacks { name, epoch } => two("stacks", name, *epoch),
            EvidenceKind::Logs { first, other } if first == other => format!(
                "{key} has signed two different checkpoints of its log at {first} entries, although there can be \
                 only one: the holder of the key shows different logs to different people. Each file is a signed \
                 note; verify both under the log's key, and compare their third lines."
            ),
            EvidenceKind::Logs { first, other } => format!(
                "{key} has signed checkpoints of its log at {first} and at {other} entries, and this client was \
                 shown that the longer does not extend the shorter. Each file is a signed note. Anybody can verify \
                 both signatures; anybody with the tiles of the longer log can verify that its first entries have \
                 another root than the shorter checkpoint says."
            ),
        }
    }

    fn of_documents(first: Vec<u8>, other: Vec<u8>) -> Option<Self> {
        let both = |describe: fn(&[u8]) -> Option<Described>| describe(&first).zip(describe(&other));
        let (pair, is_stack) = match both(described::<Catalog>) {
            Some(pair) => (pair, false),
            None => (both(described::<Stack>)?, true),
        };
        let ((publisher, name, epoch, one), (key, name_too, epoch_too, two)) = pair;
        let contradicts = (publisher, &name, epoch) == (key, &name_too, epoch_too) && one != two;
        let kind = if is_stack {
            EvidenceKind::Stacks { name, epoch }
        } else {
            EvidenceKind::Catalogs { name, epoch }
        };
        contradicts.then_some(EquivocationProof { kind, publisher, first, other })
    }

    fn of_logs(publisher: PublicKey, first: Vec<u8>, other: Vec<u8>) -> Option<Self> {
        let key = log_key(&publisher).ok()?;
        let (one, two) = (Checkpoint::open(&first, &key).ok()?, Checkpoint::open(&other, &key).ok()?);
        let kind = EvidenceKind::Logs { first: one.size, other: two.size };
        (one != two).then_some(EquivocationProof { kind, publisher, first, other })
    }
}

/// Signer, name, epoch and digest of a signed document.
type Described = (PublicKey, String, u64, Hex32);

/// Describes a signed document whose signatures are valid. Its signer is the Ed25519 half alone, since
/// a publisher with an ML-DSA-44 half is the same one.
fn described<D: Document>(bytes: &[u8]) -> Option<Described> {
    let signed = SignedDocument::<D>::parse(bytes).ok()?;
    let document = signed.verify(None).ok()?;
    let signer = signed.public_key().without_ml_dsa();
    Some((signer, document.name().to_string(), document.epoch().0, document.digest().ok()?))
}

impl Cache {
    /// All evidence against publishers in this cache. Pairs that prove nothing are left out.
    ///
    /// # Errors
    /// [`CacheError`] if a file cannot be read.
    pub fn evidence(&self) -> Result<Vec<EquivocationProof>, CacheError> {
        let documents = pairs(&self.tables)?.into_iter();
        let documents =
            documents.filter_map(|(_, first, other)| EquivocationProof::of_documents(first, other));
        let logs = pairs(&self.logs)?.into_iter().filter_map(|(path, first, other)| {
            let key: Hex32 = path.file_stem()?.to_str()?.parse().ok()?;
            EquivocationProof::of_logs(PublicKey::of_ed25519(key), first, other)
        });
        let mut all: Vec<_> = documents.chain(logs).collect();
        all.sort_by_key(EquivocationProof::name);
        Ok(all)
    }
}

/// Pairs of contradicting documents in a folder.
fn pairs(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>, Vec<u8>)>, CacheError> {
    let mut out = Vec::new();
    let read = |path: &Path| files::read(path).map_err(|e| CacheError::at(path, e));
    for path in files::entries(folder).map_err(|e| CacheError::at(folder, e))? {
        if path.extension().is_none_or(|extension| extension != "other") {
            continue;
        }
        let first = path.with_extension("first");
        if let (Some(before), Some(other)) = (read(&first)?, read(&path)?) {
            out.push((path, before, other));
        }
    }
    Ok(out)
}
