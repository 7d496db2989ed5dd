//! Symmetric lookups: a client opens the rows that a server evaluates a function of their keys for, and no others.
//!
//! ```text
//! the function at a key, 48 bytes   | 16: the row's name | 8 | 24: a key of AES-192 |
//!                                   | 12: a nonce |
//! a sealed value                    | as many bytes as the value | 16: the tag of GCM |
//! ```
//!
//! The function is RFC 9497's P384-SHA384 in its verifiable mode, by [`sotto_oprf::p384`]. A row's name takes the place of its
//! key: shard and buckets follow from its hash.
//!
//! Who has a key's output once has it for as long as the function's key is the same, and opens all that the row becomes. Two
//! values of one row are sealed under one nonce, so that whoever has both sealed values has the difference of the two. That is
//! how Apple's library has it: who cannot have it so encodes with a new key.

use crate::keyword::hash;
use aes_gcm::aead::{Aead as _, KeyInit};
use aes_gcm::aes::Aes192;
use aes_gcm::aes::cipher::consts::U12;
use aes_gcm::{AesGcm, Nonce};
use sotto_oprf::p384::{OprfOutput, SecretKey};
use sotto_oprf::{OprfError, p384};
use std::fmt;
use zeroize::Zeroizing;

/// Bytes of the name that a row has in place of its key.
pub const NAME_BYTES: usize = 16;

/// By how many bytes a sealed value is longer than the value.
pub const TAG_BYTES: usize = 16;

const NONCE_BYTES: usize = 12;
const KEY_BYTES: usize = 24;

/// How configurations number this function with this cipher, the only one that there is.
pub const CONFIG_TYPE: i32 = 1;

/// Said of a key that rows are not sealed with.
pub(crate) const OTHER_KEY: OprfError =
    OprfError::KeyText("this is the key of another table: bring back the one that its rows were sealed with");

type RowCipher = AesGcm<Aes192, U12>;

/// What opens one row: made of the function at its key. Wiped on drop.
pub struct RowKey(OprfOutput);

impl RowKey {
    /// What the function's output at a row's key opens.
    pub fn of(output: OprfOutput) -> Self {
        RowKey(output)
    }

    /// The hash of the row's name, by which tables know it.
    pub fn hash(&self) -> u64 {
        let (name, _) = self.0.bytes().split_at(NAME_BYTES);
        hash(name)
    }

    fn cipher(&self) -> Option<(RowCipher, Nonce<U12>)> {
        let bytes: &[u8; p384::OUTPUT_BYTES] = self.0.bytes();
        let (nonce, _) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let (_, key) = bytes.split_last_chunk::<KEY_BYTES>()?;
        Some((RowCipher::new_from_slice(key).ok()?, (*nonce).into()))
    }

    /// Seals the row's value. The same value gives the same bytes.
    ///
    /// # Errors
    /// [`OprfError::Closed`] for a value of more than 2^36 bytes.
    pub fn seal(&self, value: &[u8]) -> Result<Vec<u8>, OprfError> {
        let (cipher, nonce) = self.cipher().ok_or(OprfError::Closed)?;
        cipher.encrypt(&nonce, value).map_err(|_| OprfError::Closed)
    }

    /// The value that was sealed.
    ///
    /// # Errors
    /// [`OprfError::Closed`] for anything that [`Opening::seal`] did not give.
    pub fn open(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, OprfError> {
        let (cipher, nonce) = self.cipher().ok_or(OprfError::Closed)?;
        cipher.decrypt(&nonce, sealed).map(Zeroizing::new).map_err(|_| OprfError::Closed)
    }
}

impl fmt::Debug for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opening(..)")
    }
}

/// A row as a symmetric table has it: the hash of its name, and its value, sealed.
///
/// # Errors
/// [`OprfError::Input`] for a key of more than 65,535 bytes.
pub fn sealed(key: &SecretKey, of: &[u8], value: &[u8]) -> Result<(u64, Vec<u8>), OprfError> {
    let opening = RowKey::of(key.at(of)?);
    Ok((opening.hash(), opening.seal(value)?))
}
