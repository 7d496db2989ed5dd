//! A change of the key that signs a table or a stack: the old key names the new one, and the new one agrees.
//!
//! It travels beside a catalog or a stack that the new key has signed, so whoever has pinned the old one can follow. Only the
//! old key's signature is worth something to such a client; the new key's is there so that nobody can name somebody else's key.
//!
//! It also says from which epoch on the old key signs nothing: what a thief of it signs past that is refused by whoever has seen
//! the statement.

use crate::document::json;
use crate::{CatalogError, Hex32, Hex64, PublicKey, Result, SigningKey, TableName};
use serde::{Deserialize, Serialize};
use sotto_core::Epoch;

/// The format this build writes and reads; with a zero byte after it, it stands before the text under both signatures.
pub const FORMAT: &str = "sotto-succession/2";

/// Most changes that are told with one catalog: whoever has missed more has to be told the key anew.
pub const MAX_CHANGES: usize = 4;

/// Most bytes of a statement's text.
const MAX_TEXT_BYTES: usize = 512;

const NAME: &str = "a change of keys";

/// A statement, as it travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Succession {
    /// JSON text, exactly as signed.
    statement: String,
    /// The old key's signature.
    from_signature: Hex64,
    /// The new key's.
    to_signature: Hex64,
}

/// What a statement says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    format: String,
    /// Which table or stack.
    pub table: TableName,
    /// The old key.
    pub from: Hex32,
    /// The new one.
    pub to: Hex32,
    /// The epoch from which on the new key signs it, and the old one does not.
    pub from_epoch: Epoch,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// Until when whoever knows the old key may follow, in seconds since 1970.
    pub until: u64,
}

/// A change that a client went along with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignerChange {
    /// The key that it knew.
    pub from: PublicKey,
    /// The key that takes its place.
    pub to: PublicKey,
    /// Until when that may be done, in seconds since 1970.
    pub until: u64,
}

impl Succession {
    /// Has the old key name the new one, which signs from this epoch on, for whoever asks before `until`.
    ///
    /// # Errors
    /// [`CatalogError::Invalid`] for a key that follows itself, and a time that is over when it begins.
    pub fn sign(
        table: &TableName,
        (from, to): (&SigningKey, &SigningKey),
        from_epoch: Epoch,
        (created, until): (u64, u64),
    ) -> Result<Self> {
        let statement = Statement {
            format: FORMAT.to_owned(),
            table: table.clone(),
            from: from.public().0,
            to: to.public().0,
            from_epoch,
            created,
            until,
        };
        statement.check()?;
        let text =
            serde_json::to_string(&statement).map_err(|error| CatalogError::malformed(NAME, &error))?;
        let message = message(&text);
        Ok(Succession {
            from_signature: from.sign(&message),
            to_signature: to.sign(&message),
            statement: text,
        })
    }

    /// What it says, if both keys have signed it. Total.
    ///
    /// # Errors
    /// [`CatalogError::TooLarge`], [`CatalogError::Malformed`], [`CatalogError::Version`], [`CatalogError::Invalid`],
    /// [`CatalogError::BadSignature`].
    pub fn verify(&self) -> Result<Statement> {
        crate::document::limit(NAME, self.statement.len(), MAX_TEXT_BYTES)?;
        let Header { format } = json(NAME, self.statement.as_bytes())?;
        if format != FORMAT {
            return Err(CatalogError::Version { found: format.chars().take(64).collect(), reads: FORMAT });
        }
        let statement: Statement = json(NAME, self.statement.as_bytes())?;
        statement.check()?;
        let message = message(&self.statement);
        PublicKey(statement.from).verify(&message, &self.from_signature)?;
        PublicKey(statement.to).verify(&message, &self.to_signature)?;
        Ok(statement)
    }

    /// Refuses what cannot have come of [`Succession::sign`], before it is kept or passed on.
    pub(crate) fn check_size(all: &[Succession]) -> Result<()> {
        if all.len() > MAX_CHANGES {
            return Err(CatalogError::invalid("successions", "at most 4 changes of keys"));
        }
        all.iter().try_for_each(|one| crate::document::limit(NAME, one.statement.len(), MAX_TEXT_BYTES))
    }
}

impl Statement {
    fn check(&self) -> Result<()> {
        match self {
            _ if self.from == self.to => Err(CatalogError::invalid("to", "another key than the old one")),
            _ if self.until <= self.created => Err(CatalogError::invalid("until", "later than `created`")),
            _ => Ok(()),
        }
    }
}

/// The statements that lead whoever knows `from` to `to`, in their order; `None` if they do not lead there, none at all if both
/// are one key. What is said of other tables and of other keys is not looked at.
///
/// # Errors
/// As [`Succession::verify`], for a statement that would lead on.
pub fn path(
    all: &[Succession],
    table: &TableName,
    from: PublicKey,
    to: PublicKey,
) -> Result<Option<Vec<Statement>>> {
    let (mut at, mut path) = (from, Vec::new());
    for one in all.iter().take(MAX_CHANGES) {
        if at == to {
            break;
        }
        let named: Option<Named> = json(NAME, one.statement.as_bytes()).ok();
        if named.is_none_or(|named| named.table != *table || named.from != at.0) {
            continue;
        }
        let statement = one.verify()?;
        at = PublicKey(statement.to);
        path.push(statement);
    }
    Ok((at == to).then_some(path))
}

/// How whoever knows `from` comes to know `to`, by [`path`]; `None` if the statements do not lead there, or both are one key.
///
/// # Errors
/// As [`path`].
pub fn resolve_signer(
    all: &[Succession],
    table: &TableName,
    from: PublicKey,
    to: PublicKey,
) -> Result<Option<SignerChange>> {
    Ok(path(all, table, from, to)?.and_then(|path| SignerChange::of(from, &path)))
}

impl SignerChange {
    /// Refuses a change whose time to follow is over.
    ///
    /// # Errors
    /// [`CatalogError::ChangeOver`].
    pub fn check_time(&self, now: u64) -> Result<()> {
        match self.until <= now {
            true => Err(CatalogError::ChangeOver { pinned: self.from, found: self.to }),
            false => Ok(()),
        }
    }

    /// What statements amount to; `None` if there are none.
    pub fn of(from: PublicKey, path: &[Statement]) -> Option<Self> {
        let until = path.iter().map(|statement| statement.until).min()?;
        path.last().map(|last| SignerChange { from, to: PublicKey(last.to), until })
    }
}

/// Only what tells versions apart.
#[derive(Deserialize)]
struct Header {
    format: String,
}

/// Which key of which table a statement is about, whatever its version.
#[derive(Deserialize)]
struct Named {
    table: TableName,
    from: Hex32,
}

/// What both signatures are of.
fn message(text: &str) -> Vec<u8> {
    [FORMAT.as_bytes(), b"\0", text.as_bytes()].concat()
}
