//! What a cosignature signs (`c2sp.org/tlog-cosignature`), under Ed25519 and under ML-DSA-44.
//!
//! Under Ed25519 it is a header, the time and the note's text. Under ML-DSA-44 it is a structure with
//! the cosigner's name, so that one key cannot pass for two cosigners; it does not cover extension
//! lines. A log signs its own checkpoints with ML-DSA-44 in the same form.
#![deny(clippy::indexing_slicing)]

use sotto_catalog::MlDsaPublicKey;
use sotto_tree::log::Hash;

/// Signature type of a cosignature under Ed25519.
pub(crate) const ED25519: u8 = 4;

/// Signature type of a cosignature under ML-DSA-44.
pub(crate) const ML_DSA_44: u8 = 6;

/// Largest time that a cosignature may state, in seconds since 1970.
const MAX_TIME: u64 = i64::MAX as u64;

/// What a checkpoint says of its log.
pub(crate) struct SignedHead<'a> {
    pub(crate) origin: &'a str,
    pub(crate) size: u64,
    pub(crate) root: &'a Hash,
}

/// Message of an Ed25519 cosignature of a note's text.
pub(crate) fn ed25519_message(time: u64, text: &str) -> Vec<u8> {
    format!("cosignature/v1\ntime {time}\n{text}").into_bytes()
}

/// Message of an ML-DSA-44 cosignature of a whole tree: `cosigned_message` with `start` 0. `None` for
/// names that are longer than the structure holds.
pub(crate) fn ml_dsa_message(name: &str, time: u64, head: &SignedHead<'_>) -> Option<Vec<u8>> {
    let mut message = b"subtree/v1\n\0".to_vec();
    let mut opaque = |text: &str, number: u64| {
        message.push(u8::try_from(text.len()).ok()?);
        message.extend_from_slice(text.as_bytes());
        message.extend_from_slice(&number.to_be_bytes());
        Some(())
    };
    opaque(name, time)?;
    opaque(head.origin, 0)?;
    message.extend_from_slice(&head.size.to_be_bytes());
    message.extend_from_slice(head.root);
    Some(message)
}

/// Time that an ML-DSA-44 cosignature of a tree head states; `None` if it is not valid.
pub(crate) fn ml_dsa_time(
    key: &MlDsaPublicKey,
    name: &str,
    head: &SignedHead<'_>,
    bytes: &[u8],
) -> Option<u64> {
    let (time, signature) = bytes.split_first_chunk::<8>()?;
    let time = u64::from_be_bytes(*time);
    let message = ml_dsa_message(name, time, head)?;
    (time <= MAX_TIME && key.verifies(&message, signature)).then_some(time)
}
