//! The succession statements of a table or a stack: which key signs after which.

use crate::files::bounded;
use crate::{DbError, Result, TableDir};
use sotto_catalog::signed::SignedDocument;
use sotto_catalog::succession::resolve_signer;
use sotto_catalog::{CatalogError, Document, PublicKey, SigningKey, Succession, TableName};

/// File name of the succession statements, beside the images.
pub const SUCCESSIONS: &str = "succession.json";

/// Largest size of the statements in bytes: each is less than 2 KiB.
const MAX_BYTES: u64 = 16 << 10;

/// Signs a document for publication in a folder, together with the key's succession statements.
pub(crate) fn sign<D: Document>(dir: &TableDir, document: &D, key: &SigningKey) -> Result<SignedDocument<D>> {
    let all = read(dir)?;
    let mut signed = SignedDocument::sign(document, key)?;
    let said: Vec<_> = all.iter().filter_map(|one| one.verify().ok()).collect();
    let is_last = said.last().is_some_and(|said| said.table == *document.name() && said.to == key.public().0);
    if is_last {
        signed.successions = all;
    }
    Ok(signed)
}

/// Whether one key of a table named the other as its successor.
pub(crate) fn is_successor(
    dir: &TableDir,
    table: &TableName,
    from: PublicKey,
    to: PublicKey,
) -> Result<bool> {
    Ok(resolve_signer(&read(dir)?, table, from, to)?.is_some())
}

/// Reads the succession statements of a folder; none if there was no rotation.
pub(crate) fn read(dir: &TableDir) -> Result<Vec<Succession>> {
    let path = dir.path().join(SUCCESSIONS);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let all: Vec<Succession> =
        serde_json::from_slice(&bounded(&path, MAX_BYTES)?).map_err(|error| malformed(&error))?;
    // Clients that follow a statement which this build cannot read would be lost.
    all.iter().try_for_each(|one| one.verify().map(drop))?;
    Ok(all)
}

pub(crate) fn malformed(error: &serde_json::Error) -> DbError {
    CatalogError::Malformed { what: SUCCESSIONS, why: error.to_string() }.into()
}
