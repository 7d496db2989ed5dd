//! Changes of the key that signs a table or a stack: the old key names the new one, and the new one
//! agrees.
//!
//! The statement is sent with a catalog or a stack that the new key has signed, so that a client
//! that has pinned the old key can follow. To such a client only the old key's signature matters;
//! the new key's signature prevents naming someone else's key.
//!
//! The statement also says from which epoch on the old key signs nothing: a client that has seen it
//! refuses what a thief of the old key signs after that.

use crate::document::json;
use crate::ml_dsa::MlDsaSignature;
use crate::{CatalogError, Hex32, Hex64, PublicKey, Result, SigningKey, TableName};
use serde::{Deserialize, Serialize};
use sotto_core::Epoch;

/// Format that this build writes and reads. The format and a zero byte precede the text under both
/// signatures.
pub const FORMAT: &str = "sotto-succession/2";

/// Largest number of changes that are sent with one catalog: a client that missed more must be
/// given the key again.
pub const MAX_CHANGES: usize = 4;

/// Largest size of a statement's text in bytes.
const MAX_TEXT_BYTES: usize = 768;

const NAME: &str = "a change of keys";

/// A signed statement that one key succeeds another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Succession {
    /// JSON text of the statement, exactly as signed.
    statement: String,
    /// Signature of the old key.
    from_signature: Hex64,
    /// Signature of the new key.
    to_signature: Hex64,
    /// ML-DSA-44 signature of the old key, if it has such a half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from_ml_dsa: Option<MlDsaSignature>,
    /// ML-DSA-44 signature of the new key, if it has such a half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_ml_dsa: Option<MlDsaSignature>,
}

/// Contents of a succession statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    format: String,
    /// Name of the table or stack.
    pub table: TableName,
    /// Ed25519 key that signed before the succession.
    pub from: Hex32,
    /// Ed25519 key that signs from then on.
    pub to: Hex32,
    /// Digest of the ML-DSA-44 key that signed before, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ml_dsa: Option<Hex32>,
    /// Digest of the ML-DSA-44 key that signs from then on, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_ml_dsa: Option<Hex32>,
    /// Epoch from which on the new key signs, and the old one does not.
    pub from_epoch: Epoch,
    /// Time of creation, in seconds since 1970.
    pub created: u64,
    /// Time until which a client that knows the old key may follow, in seconds since 1970.
    pub until: u64,
}

/// A change of the signing key that a client followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignerChange {
    /// The key that the client knew.
    pub from: PublicKey,
    /// The key that replaces it.
    pub to: PublicKey,
    /// Time until which the change may be followed, in seconds since 1970.
    pub until: u64,
}

impl Succession {
    /// Signs a statement in which the old key names the new one. The new key signs from the given
    /// epoch on, and clients may follow before `until`.
    ///
    /// # Errors
    /// [`CatalogError::Invalid`] for a key that succeeds itself, and for a time that ends before it
    /// begins.
    pub fn sign(
        table: &TableName,
        from: &SigningKey,
        to: &SigningKey,
        from_epoch: Epoch,
        created: u64,
        until: u64,
    ) -> Result<Self> {
        let statement = Statement {
            format: FORMAT.to_owned(),
            table: table.clone(),
            from: from.public().ed25519,
            to: to.public().ed25519,
            from_ml_dsa: from.public().ml_dsa,
            to_ml_dsa: to.public().ml_dsa,
            from_epoch,
            created,
            until,
        };
        statement.check()?;
        let text =
            serde_json::to_string(&statement).map_err(|error| CatalogError::malformed(NAME, &error))?;
        let message = message(&text);
        let (from_signature, from_ml_dsa) = from.sign(&message);
        let (to_signature, to_ml_dsa) = to.sign(&message);
        Ok(Succession { from_signature, to_signature, from_ml_dsa, to_ml_dsa, statement: text })
    }

    /// Parses the statement, and verifies that both keys signed it. Total.
    ///
    /// # Errors
    /// [`CatalogError::TooLarge`], [`CatalogError::Malformed`], [`CatalogError::Version`],
    /// [`CatalogError::Invalid`], [`CatalogError::BadSignature`],
    /// [`CatalogError::BadMlDsaSignature`], [`CatalogError::NoMlDsaSignature`].
    pub fn verify(&self) -> Result<Statement> {
        crate::document::limit(NAME, self.statement.len(), MAX_TEXT_BYTES)?;
        let Header { format } = json(NAME, self.statement.as_bytes())?;
        if format != FORMAT {
            return Err(CatalogError::Version { found: format.chars().take(64).collect(), reads: FORMAT });
        }
        let statement: Statement = json(NAME, self.statement.as_bytes())?;
        statement.check()?;
        let message = message(&self.statement);
        statement.from_key().verify(&message, &self.from_signature, self.from_ml_dsa.as_ref())?;
        statement.to_key().verify(&message, &self.to_signature, self.to_ml_dsa.as_ref())?;
        Ok(statement)
    }

    /// Refuses statements that are too large to come from [`Succession::sign`], before they are
    /// stored or passed on.
    pub(crate) fn check_size(all: &[Succession]) -> Result<()> {
        if all.len() > MAX_CHANGES {
            return Err(CatalogError::invalid("successions", "expected at most 4 changes of keys"));
        }
        all.iter().try_for_each(|one| crate::document::limit(NAME, one.statement.len(), MAX_TEXT_BYTES))
    }
}

impl Statement {
    /// Key that signed before the succession, of both algorithms.
    pub fn from_key(&self) -> PublicKey {
        PublicKey { ed25519: self.from, ml_dsa: self.from_ml_dsa }
    }

    /// Key that signs from then on, of both algorithms.
    pub fn to_key(&self) -> PublicKey {
        PublicKey { ed25519: self.to, ml_dsa: self.to_ml_dsa }
    }

    fn check(&self) -> Result<()> {
        match self {
            _ if self.from == self.to => {
                Err(CatalogError::invalid("to", "expected another key than the old one"))
            }
            _ if self.until <= self.created => Err(CatalogError::invalid(
                "until",
                "expected a time later than \
                 `created`",
            )),
            _ => Ok(()),
        }
    }
}

/// The statements that lead from the key `from` to `to`, in order. Returns `None` if they do not
/// lead there, and an empty list if the first accepts the second. Statements about other tables and
/// other keys are ignored, and so is one that leads away from ML-DSA-44, or that was not signed with
/// the ML-DSA-44 key that is known: whoever breaks Ed25519 could make it.
///
/// # Errors
/// The errors of [`Succession::verify`], for a statement of the chain.
pub fn path(
    all: &[Succession],
    table: &TableName,
    from: PublicKey,
    to: PublicKey,
) -> Result<Option<Vec<Statement>>> {
    let (mut at, mut path) = (from, Vec::new());
    for one in all.iter().take(MAX_CHANGES) {
        if at.accepts(&to) {
            break;
        }
        let named: Option<Named> = json(NAME, one.statement.as_bytes()).ok();
        if named.is_none_or(|named| named.table != *table || named.from != at.ed25519) {
            continue;
        }
        let statement = one.verify()?;
        let (from, next) = (statement.from_key(), statement.to_key());
        if !at.accepts(&from) || from.ml_dsa.is_some() && next.ml_dsa.is_none() {
            continue;
        }
        at = next;
        path.push(statement);
    }
    Ok(at.accepts(&to).then_some(path))
}

/// The change from the key `from` to `to`, found by [`path`]; `None` if the statements do not lead
/// there, or if both keys are equal.
///
/// # Errors
/// The errors of [`path`].
pub fn resolve_signer(
    all: &[Succession],
    table: &TableName,
    from: PublicKey,
    to: PublicKey,
) -> Result<Option<SignerChange>> {
    Ok(path(all, table, from, to)?.and_then(|path| SignerChange::of(from, &path)))
}

impl SignerChange {
    /// Refuses a change that clients may not follow any more.
    ///
    /// # Errors
    /// [`CatalogError::ChangeOver`].
    pub fn check_time(&self, now: u64) -> Result<()> {
        match self.until <= now {
            true => Err(CatalogError::ChangeOver { pinned: Box::new(self.from), found: self.to }),
            false => Ok(()),
        }
    }

    /// The change that a chain of statements amounts to; `None` if there are none.
    pub fn of(from: PublicKey, path: &[Statement]) -> Option<Self> {
        let until = path.iter().map(|statement| statement.until).min()?;
        path.last().map(|last| SignerChange { from, to: last.to_key(), until })
    }
}

/// The field that tells versions apart.
#[derive(Deserialize)]
struct Header {
    format: String,
}

/// Key and table of a statement, whatever its version.
#[derive(Deserialize)]
struct Named {
    table: TableName,
    from: Hex32,
}

/// The message that both keys sign.
fn message(text: &str) -> Vec<u8> {
    [FORMAT.as_bytes(), b"\0", text.as_bytes()].concat()
}
