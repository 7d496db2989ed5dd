//! Which catalogs are accepted.
//!
//! PIR hides what is looked up, not whether the answer is true. The publisher's signature is what
//! protects a client from a made-up table, and it is worth as much as the client's knowledge of the
//! key.
//!
//! What a client has seen of a table or a stack is one high-water mark: the newest epoch, the
//! digest of its catalog, and the chain of keys that led to it. Every key of the chain but the last
//! is no longer valid, even if a caller pins it, and no key brings back an epoch below the mark.
//! Only `TableBuilder::forget` removes the mark.

use super::witness::{LogMemory, Witnesses, check_log};
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use serde::{Deserialize, Serialize};
#[cfg(doc)]
use sotto_catalog::CatalogError;
use sotto_catalog::signed::SignedDocument;
use sotto_catalog::succession::Statement;
use sotto_catalog::{Anchor, Document, Hex32, MlDsaPublicKey, PublicKey, SignerChange, TableName};
use sotto_core::Epoch;
use sotto_tlog::LogEntry;
use sotto_tlog::catalogs::EntryKind;

/// Why the key of the catalog is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The caller pinned the key.
    Pinned,
    /// The key is the one seen before.
    Remembered,
    /// The key is the first one seen. Whoever answered first could have made it up.
    FirstUse,
}

/// The newest catalog that a client has seen of a table or a stack, and the keys that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSigner {
    /// Keys that signed earlier epochs, oldest first: each named the next one.
    pub retired: Vec<RetiredKey>,
    /// Key that signs now.
    pub key: PublicKey,
    /// Newest epoch seen.
    pub epoch: Epoch,
    /// Digest of the catalog of that epoch, if it is known. There is only one.
    pub catalog: Option<Hex32>,
}

/// A key that has named its successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetiredKey {
    /// The retired Ed25519 key.
    pub key: Hex32,
    /// Epoch from which on the key is no longer valid.
    pub until_epoch: Epoch,
}

impl KnownSigner {
    /// The entry of a key that was replaced.
    fn retired(&self, key: &PublicKey) -> Option<&RetiredKey> {
        self.retired.iter().find(|retired| retired.key == key.ed25519)
    }

    /// Advances to what was seen later. Returns `false` if `later` is older than what is known,
    /// which then stays.
    ///
    /// # Errors
    /// [`CatalogError::WrongKey`] for a key that nothing leads to;
    /// [`CatalogError::NoMlDsaSignature`] for a newer epoch that lacks the signature of a known key;
    /// [`ClientError::Rollback`] for an older epoch under the next key;
    /// [`ClientError::Equivocation`] for another catalog of the same epoch.
    pub fn advance(&mut self, later: &KnownSigner) -> Result<bool> {
        let from = later.retired.iter().position(|retired| retired.key == self.key.ed25519);
        let fresh = from.and_then(|from| later.retired.get(from..)).unwrap_or_default();
        // A key that has gained an ML-DSA-44 half is the same key, and never loses it again.
        let is_same = self.key.accepts(&later.key);
        if !is_same && fresh.is_empty() {
            let is_before = later.key.accepts(&self.key) && later.epoch < self.epoch;
            return match is_before || self.retired(&later.key).is_some() {
                true => Ok(false),
                false => Err(self.key.refusal(later.key).into()),
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

/// The conditions that a catalog or a stack has to meet.
pub(crate) struct Judge<'a> {
    /// Name that was requested.
    pub(crate) name: &'a TableName,
    pub(crate) pin: Option<&'a PublicKey>,
    pub(crate) snapshot: Option<&'a Hex32>,
    pub(crate) known: Option<&'a KnownSigner>,
    /// Epoch that was requested by its number, if one was: such a caller knows that there may be
    /// newer ones.
    pub(crate) requested_epoch: Option<Epoch>,
}

/// A catalog or a stack that was verified, and its signer.
pub(crate) struct VerifiedCatalog<D> {
    pub(crate) document: D,
    pub(crate) key: PublicKey,
    /// The signer's ML-DSA-44 key, if it has one.
    pub(crate) ml_dsa: Option<MlDsaPublicKey>,
    pub(crate) trust: Trust,
    /// How the key came to be trusted, if another one was known.
    pub(crate) change: Option<SignerChange>,
    /// What is known from now on.
    pub(crate) known: KnownSigner,
}

impl Judge<'_> {
    /// Verifies a document that a server showed.
    ///
    /// # Errors
    /// [`ClientError`] if the document is not to be trusted.
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
            None => known_signer(&document, key, &path)?,
            Some(known) => self.compare(known, signed, &document)?,
        };
        let ml_dsa = signed.ml_dsa.as_ref().map(|signature| signature.public_key.clone());
        Ok(VerifiedCatalog { document, key, ml_dsa, trust, change, known })
    }

    /// Compares a document with a valid signature with what is known, and returns what is known
    /// then.
    fn compare<D: Document>(
        &self,
        known: &KnownSigner,
        signed: &SignedDocument<D>,
        document: &D,
    ) -> Result<KnownSigner> {
        let (key, epoch) = (signed.public_key(), document.epoch());
        // A caller that names a snapshot by its digest may mean one before the newest.
        let is_requested_snapshot =
            self.snapshot.is_some_and(|snapshot| document.digest().is_ok_and(|digest| digest == *snapshot));
        let is_requested_epoch = self.requested_epoch == Some(epoch);
        if let Some(retired) = known.retired(&key) {
            return match is_requested_snapshot || is_requested_epoch && epoch < retired.until_epoch {
                true => Ok(known.clone()),
                false => {
                    let (by, until_epoch) = (known.key, retired.until_epoch);
                    Err(ClientError::RetiredKey { key: Box::new(key), by, until_epoch, epoch })
                }
            };
        }
        // The caller pins the key, but no statement leads to it from the known key.
        let other = || ClientError::OtherSigner { known: Box::new(known.key), found: key };
        if known.key.ed25519 == key.ed25519 && !known.key.accepts(&key) {
            return Err(known.key.refusal(key).into());
        }
        let path = signed.path(document, &known.key)?.ok_or_else(other)?;
        if epoch < known.epoch {
            return match is_requested_snapshot || is_requested_epoch {
                true => Ok(known.clone()),
                false => Err(ClientError::Rollback { seen: known.epoch, offered: epoch }),
            };
        }
        let mut next = known.clone();
        next.advance(&known_signer(document, key, &path)?)?;
        Ok(next)
    }
}

/// What else a verified catalog or stack has to meet: the snapshot, the anchor, the time, the publisher's
/// log.
pub(crate) struct Freshness<'a> {
    pub(crate) kind: EntryKind,
    pub(crate) snapshot: Option<Hex32>,
    pub(crate) anchor: Option<&'a Anchor>,
    pub(crate) witnesses: Option<&'a Witnesses>,
    pub(crate) logs: &'a LogMemory,
    /// The current time in seconds since 1970; without it nothing has expired.
    pub(crate) now: Option<u64>,
}

impl Freshness<'_> {
    /// Refuses a document of another snapshot or another anchor, one that has expired, one whose
    /// previous key is no longer accepted, and one that fails the check of its publisher's log, for
    /// which `send` carries requests to the first server.
    pub(crate) fn check<D: Document>(
        &self,
        document: &D,
        expires: Option<u64>,
        (key, ml_dsa): (PublicKey, Option<&MlDsaPublicKey>),
        change: Option<SignerChange>,
        send: &mut dyn FnMut(&Request) -> Result<Response>,
    ) -> Result<()> {
        let (name, epoch) = (document.name(), document.epoch());
        if let Some(expected) = self.snapshot {
            let found = document.digest()?;
            if found != expected {
                return Err(ClientError::other_snapshot(name, epoch, found, expected));
            }
        }
        if let Some(expected) = self.anchor
            && document.anchor() != Some(expected)
        {
            return Err(ClientError::OtherAnchor {
                table: name.clone(),
                epoch,
                found: document.anchor().cloned(),
                expected: expected.clone(),
            });
        }
        if let (Some(expires), Some(now)) = (expires, self.now)
            && expires <= now
        {
            return Err(ClientError::Expired { epoch, ago: now - expires });
        }
        if let (Some(change), Some(now)) = (change, self.now) {
            change.check_time(now)?;
        }
        let Some(witnesses) = self.witnesses else { return Ok(()) };
        let entry = LogEntry::new(self.kind, name.clone(), epoch, document.digest()?, key);
        check_log(entry, ml_dsa, witnesses, self.logs, self.now, send)
    }
}

/// What a document shows to a client without earlier knowledge.
fn known_signer<D: Document>(document: &D, key: PublicKey, path: &[Statement]) -> Result<KnownSigner> {
    let retired =
        path.iter().map(|statement| RetiredKey { key: statement.from, until_epoch: statement.from_epoch });
    let (epoch, catalog) = (document.epoch(), Some(document.digest()?));
    Ok(KnownSigner { retired: retired.collect(), key, epoch, catalog })
}
