//! Symmetric lookups: a client opens only the rows for whose keys a server evaluates a function.
//!
//! ```text
//! the function at a key, 48 bytes   | 16: the row's name | 8 | 24: a key of AES-192 |
//!                                   | 12: a nonce |
//! a sealed value                    | as many bytes as the value | 16: the tag of GCM |
//! ```
//!
//! The function is RFC 9497's P384-SHA384 in its verifiable mode, by [`sotto_oprf::p384`]. A row's
//! name replaces its key: shard and buckets follow from the name's hash.
//!
//! A client that has a key's output keeps it for as long as the function's key stays the same, and
//! opens all later values of the row. Two values of one row are sealed under one nonce, so anyone
//! who has both sealed values knows their difference. Apple's library works the same way: an
//! operator who cannot accept this must encode with a new key.

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

/// Bytes that sealing adds to a value.
pub const TAG_BYTES: usize = 16;

const NONCE_BYTES: usize = 12;
const KEY_BYTES: usize = 24;

/// Number of this function with this cipher in configurations; it is the only one.
pub const CONFIG_TYPE: i32 = 1;

/// Error for a key that rows are not sealed with.
pub(crate) const OTHER_KEY: OprfError =
    OprfError::KeyText("the key is that of another table: restore the key that the rows were sealed with");

type RowCipher = AesGcm<Aes192, U12>;

/// Key that opens one row, derived from the function at its lookup key. Wiped on drop.
pub struct RowKey(OprfOutput);

impl RowKey {
    /// Row key of the function's output at a lookup key.
    pub fn of(output: OprfOutput) -> Self {
        RowKey(output)
    }

    /// Hash of the row's name, by which tables find the row.
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

    /// Seals the row's value. Sealing is deterministic.
    ///
    /// # Errors
    /// [`OprfError::Closed`] for a value of more than 2^36 bytes.
    pub fn seal(&self, value: &[u8]) -> Result<Vec<u8>, OprfError> {
        let (cipher, nonce) = self.cipher().ok_or(OprfError::Closed)?;
        cipher.encrypt(&nonce, value).map_err(|_| OprfError::Closed)
    }

    /// Opens a sealed value.
    ///
    /// # Errors
    /// [`OprfError::Closed`] for anything that [`RowKey::seal`] did not return.
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

/// Row of a symmetric table: the hash of its name, and its sealed value.
///
/// # Errors
/// [`OprfError::Input`] for a key of more than 65,535 bytes.
pub fn sealed(key: &SecretKey, of: &[u8], value: &[u8]) -> Result<(u64, Vec<u8>), OprfError> {
    let opening = RowKey::of(key.at(of)?);
    Ok((opening.hash(), opening.seal(value)?))
}
