//! The secret key of a symmetric table: stored beside its epochs, for its owner alone. A file
//! contains only its public key.

use super::error::ImageError;
use super::open::newest;
use crate::image::UseCaseDescription;
use crate::symmetric::OTHER_KEY;
use rand_core::CryptoRng;
use sotto_db::{DbError, TableDir, WriteLock};
use sotto_oprf::OprfError;
use sotto_oprf::p384::{PublicKey, SecretKey};

/// Reads the secret key of a folder's table.
///
/// # Errors
/// [`DbError::NoOprfKey`] if it does not exist; [`DbError::OprfKey`] if it is not a key;
/// [`DbError::KeyExposed`] if others can read it.
pub fn read(dir: &TableDir) -> Result<SecretKey, ImageError> {
    let text = dir.oprf_text()?;
    SecretKey::from_file(&text).map_err(|why| refuse(dir, why))
}

/// Reads the secret key of a folder's table, and checks that rows were sealed with it.
///
/// # Errors
/// The errors of [`read`]; [`DbError::OprfKey`] if it belongs to another table.
pub fn read_fitting(dir: &TableDir, public: &PublicKey) -> Result<SecretKey, ImageError> {
    let key = read(dir)?;
    if key.public() == *public { Ok(key) } else { Err(refuse(dir, OTHER_KEY)) }
}

/// Reads the secret key of a folder, or creates it. All epochs of a folder are sealed with one key,
/// so no new key is made where an existing epoch needs the one that is missing.
///
/// # Errors
/// The errors of [`read`].
pub fn read_or_make(lock: &WriteLock, rng: &mut dyn CryptoRng) -> Result<SecretKey, ImageError> {
    match read(lock.dir()) {
        Err(ImageError::Db(DbError::NoOprfKey { .. })) if !is_symmetric(lock.dir()) => {
            let key = SecretKey::generate(rng).map_err(|why| refuse(lock.dir(), why))?;
            lock.keep_oprf_text(&key.to_file())?;
            Ok(key)
        }
        read => read,
    }
}

/// Whether the newest epoch of a folder is symmetric. A damaged newest epoch counts as not
/// symmetric, since it does not prevent encoding the next one.
pub fn is_symmetric(dir: &TableDir) -> bool {
    let file = newest(dir.path()).ok();
    let description = file.and_then(|file| UseCaseDescription::parse(file.description()).ok());
    description.is_some_and(|description| description.oprf.is_some())
}

fn refuse(dir: &TableDir, why: OprfError) -> ImageError {
    DbError::OprfKey { path: dir.oprf_key_path(), why }.into()
}

/// Serializes a public key in a description as lower-case hexadecimal digits.
pub(super) mod digits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use sotto_catalog::Hex;
    use sotto_oprf::p384::{Element, PublicKey};

    pub(crate) fn serialize<S: Serializer>(key: &Option<PublicKey>, to: S) -> Result<S::Ok, S::Error> {
        key.map(|key| Hex::from(*key.bytes())).serialize(to)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<PublicKey>, D::Error> {
        let key = Hex::<{ size_of::<Element>() }>::deserialize(from)?;
        let key = PublicKey::from_bytes(&key.0).ok();
        key.map(Some).ok_or_else(|| D::Error::custom("invalid public key of the OPRF"))
    }
}
