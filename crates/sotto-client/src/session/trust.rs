//! Whose catalog is believed.
//!
//! PIR hides what is asked, not whether the answer is true. What stands between a client and a made-up
//! table is the publisher's signature, and the signature is worth what the knowledge of the key is worth.

use crate::{ClientError, Result};
use sotto_catalog::{Catalog, Hex32, KeyChange, PublicKey, SignedCatalog, TableName};
use sotto_core::Epoch;

/// Why the catalog's key is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The caller named the key.
    Pinned,
    /// It is the key seen before.
    Remembered,
    /// It is the first key seen. Whoever answered first could have made it up.
    FirstUse,
}

/// What an earlier session learnt of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remembered {
    /// The key that signed its catalog.
    pub key: PublicKey,
    /// The newest epoch seen.
    pub epoch: Epoch,
    /// The digest of that epoch's catalog, if it is known: there is only one.
    pub catalog: Option<Hex32>,
}

/// A catalog that is believed, and whose it is.
pub(super) struct Judged {
    pub(super) catalog: Catalog,
    pub(super) key: PublicKey,
    pub(super) trust: Trust,
    /// How the key came to be believed, if another one was known.
    pub(super) change: Option<KeyChange>,
}

/// Verifies a catalog of `table`.
pub(super) fn judge(
    bytes: &[u8],
    table: &TableName,
    pin: Option<&PublicKey>,
    snapshot: Option<&Hex32>,
    remembered: Option<&Remembered>,
) -> Result<Judged> {
    let signed = SignedCatalog::parse(bytes)?;
    // A pin is the caller's word and outweighs what was remembered, the old key's epochs included.
    let (expected, trust) = match (pin, remembered) {
        (Some(pin), _) => (Some(pin), Trust::Pinned),
        (None, Some(remembered)) => (Some(&remembered.key), Trust::Remembered),
        (None, None) => (None, Trust::FirstUse),
    };
    let (catalog, change) = match expected {
        Some(expected) => signed.verify_from(expected)?,
        None => (signed.verify(None)?, None),
    };
    if catalog.table != *table {
        return Err(ClientError::WrongTable { asked: table.clone(), found: catalog.table });
    }
    let key = signed.public_key();
    // Who follows a change of keys goes on from what was seen under the old one.
    let is_of = |seen: &Remembered| seen.key == key || change.is_some_and(|change| change.from == seen.key);
    // Whoever names a snapshot by its digest may mean one before the newest.
    let is_meant = snapshot.is_some_and(|meant| catalog.digest().is_ok_and(|digest| digest == *meant));
    if let Some(seen) = remembered.filter(|r| is_of(r) && catalog.epoch < r.epoch && !is_meant) {
        return Err(ClientError::Rollback { seen: seen.epoch, offered: catalog.epoch });
    }
    if let Some(Remembered { epoch, catalog: Some(seen), .. }) = remembered.filter(|seen| is_of(seen))
        && *epoch == catalog.epoch
        && *seen != catalog.digest()?
    {
        return Err(ClientError::TwoCatalogs { epoch: *epoch, kept: None });
    }
    Ok(Judged { catalog, key, trust, change })
}
