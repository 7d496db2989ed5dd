//! Whose catalog is believed.
//!
//! PIR hides what is asked, not whether the answer is true. What stands between a client and a made-up
//! table is the publisher's signature, and the signature is worth what the knowledge of the key is worth.
//!
//! What a client has seen of a table, or of a stack, is one high-water mark: the newest epoch, the digest of its catalog, and the
//! chain of keys that led there. A key of the chain that is not its end signs nothing any more, whoever pins it, and no key
//! brings back an epoch below the mark. Only `TableBuilder::forget` takes the mark back.

use crate::{ClientError, Result};
use serde::{Deserialize, Serialize};
use sotto_catalog::signed::SignedDocument;
use sotto_catalog::succession::Statement;
use sotto_catalog::{CatalogError, Document, Hex32, PublicKey, SignerChange, TableName};
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

/// The newest catalog that a client has seen of a table or a stack, and the keys that led there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSigner {
    /// Keys that signed before, oldest first: each named the next one.
    pub retired: Vec<RetiredKey>,
    /// The key that signs now.
    pub key: PublicKey,
    /// The newest epoch seen.
    pub epoch: Epoch,
    /// The digest of that epoch's catalog, if it is known: there is only one.
    pub catalog: Option<Hex32>,
}

/// A key that has named another one in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetiredKey {
    /// The key.
    pub key: Hex32,
    /// The epoch from which on it signs nothing.
    pub until_epoch: Epoch,
}

impl KnownSigner {
    /// The key, if it was replaced.
    fn retired(&self, key: &PublicKey) -> Option<&RetiredKey> {
        self.retired.iter().find(|retired| retired.key == key.0)
    }

    /// Goes on to what was seen later. Gives whether it is later, or at least not what was known.
    ///
    /// # Errors
    /// [`CatalogError::WrongKey`] for a key that nothing leads to; [`ClientError::Rollback`] for an older epoch under the
    /// next key; [`ClientError::Equivocation`] for another catalog of the same epoch.
    pub fn advance(&mut self, later: &KnownSigner) -> Result<bool> {
        let from = later.retired.iter().position(|retired| retired.key == self.key.0);
        let fresh = from.and_then(|from| later.retired.get(from..)).unwrap_or_default();
        let is_same = later.key == self.key;
        if !is_same && fresh.is_empty() {
            return match self.retired(&later.key) {
                Some(_) => Ok(false),
                None => Err(CatalogError::WrongKey { pinned: self.key, found: later.key }.into()),
            };
        }
        if later.epoch < self.epoch {
            return match is_same {
                true => Ok(false),
                false => Err(ClientError::Rollback { seen: self.epoch, offered: later.epoch }),
            };
        }
        let is_other = |(one, other): (Hex32, Hex32)| one != other;
        if later.epoch == self.epoch && self.catalog.zip(later.catalog).is_some_and(is_other) {
            return Err(ClientError::Equivocation { epoch: self.epoch, kept: None });
        }
        self.retired.extend(fresh);
        self.catalog = later.catalog.or(self.catalog.filter(|_| later.epoch == self.epoch));
        (self.key, self.epoch) = (later.key, later.epoch);
        Ok(true)
    }
}

/// What a catalog or a stack is judged by.
pub(crate) struct Judge<'a> {
    /// What was asked for.
    pub(crate) name: &'a TableName,
    pub(crate) pin: Option<&'a PublicKey>,
    pub(crate) snapshot: Option<&'a Hex32>,
    pub(crate) known: Option<&'a KnownSigner>,
    /// The epoch that was asked for by its number, if one was: whoever does so knows that there are newer ones.
    pub(crate) asked: Option<Epoch>,
}

/// A catalog or a stack that is believed, and whose it is.
pub(crate) struct VerifiedCatalog<D> {
    pub(crate) document: D,
    pub(crate) key: PublicKey,
    pub(crate) trust: Trust,
    /// How the key came to be believed, if another one was known.
    pub(crate) change: Option<SignerChange>,
    /// What is known from now on.
    pub(crate) known: KnownSigner,
}

impl Judge<'_> {
    /// Verifies what a server showed.
    ///
    /// # Errors
    /// [`ClientError`] if it is not to be believed.
    pub(crate) fn verify<D: Document>(&self, signed: &SignedDocument<D>) -> Result<VerifiedCatalog<D>> {
        let key = signed.public_key();
        let retired = self.known.and_then(|known| known.retired(&key));
        let from = match (self.pin, self.known) {
            (None, Some(_)) if retired.is_some() => Some(key),
            (pin, known) => pin.copied().or(known.map(|known| known.key)),
        };
        let (document, path) = match &from {
            Some(from) => signed.verify_from(from)?,
            None => (signed.verify(None)?, Vec::new()),
        };
        if document.name() != self.name {
            let (asked, found) = (self.name.clone(), document.name().clone());
            return Err(ClientError::WrongTable { asked, found });
        }
        let trust = match (self.pin, self.known) {
            (Some(_), _) => Trust::Pinned,
            (None, Some(_)) => Trust::Remembered,
            (None, None) => Trust::FirstUse,
        };
        let change = from.and_then(|from| SignerChange::of(from, &path));
        let known = match self.known {
            None => seen(&document, key, &path)?,
            Some(known) => self.compare(known, signed, &document)?,
        };
        Ok(VerifiedCatalog { document, key, trust, change, known })
    }

    /// Holds a document whose signature is good against what is known, and gives what is known then.
    fn compare<D: Document>(
        &self,
        known: &KnownSigner,
        signed: &SignedDocument<D>,
        document: &D,
    ) -> Result<KnownSigner> {
        let (key, epoch) = (signed.public_key(), document.epoch());
        // Whoever names a snapshot by its digest may mean one before the newest.
        let is_meant =
            self.snapshot.is_some_and(|meant| document.digest().is_ok_and(|digest| digest == *meant));
        let is_asked = self.asked == Some(epoch);
        if let Some(retired) = known.retired(&key) {
            return match is_meant || is_asked && epoch < retired.until_epoch {
                true => Ok(known.clone()),
                false => {
                    let (by, until_epoch) = (known.key, retired.until_epoch);
                    Err(ClientError::RetiredKey { key, by, until_epoch, epoch })
                }
            };
        }
        // A pin is the caller's word, and yet no statement leads from what was seen to it.
        let other = || ClientError::OtherSigner { known: known.key, found: key };
        let path = signed.path(document, &known.key)?.ok_or_else(other)?;
        if epoch < known.epoch {
            return match is_meant || is_asked {
                true => Ok(known.clone()),
                false => Err(ClientError::Rollback { seen: known.epoch, offered: epoch }),
            };
        }
        let mut next = known.clone();
        next.advance(&seen(document, key, &path)?)?;
        Ok(next)
    }
}

/// What a document shows, to whoever knows nothing else.
fn seen<D: Document>(document: &D, key: PublicKey, path: &[Statement]) -> Result<KnownSigner> {
    let retired = path.iter().map(|said| RetiredKey { key: said.from, until_epoch: said.from_epoch });
    let (epoch, catalog) = (document.epoch(), Some(document.digest()?));
    Ok(KnownSigner { retired: retired.collect(), key, epoch, catalog })
}
