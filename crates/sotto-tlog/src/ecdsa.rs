//! Tree heads signed under P-256, as in RFC 6962 (sections 2.1.4 and 3.5).

use p256::ecdsa::signature::Verifier;
use p256::ecdsa::{Signature, VerifyingKey};
use sotto_tree::log::Hash;

/// Bytes before the point in the DER of every uncompressed P-256 key (RFC 5480).
const SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Key of a SubjectPublicKeyInfo in DER; `None` if it is of another kind, or not on the curve.
pub(crate) fn key(spki: &[u8]) -> Option<VerifyingKey> {
    VerifyingKey::from_sec1_bytes(spki.strip_prefix(&SPKI)?).ok()
}

/// Signed bytes of a tree head: version v1, `tree_hash`, and the head.
fn signed(timestamp: u64, size: u64, root: &Hash) -> [u8; 50] {
    let mut message = [0; 50];
    message[1] = 1;
    message[2..10].copy_from_slice(&timestamp.to_be_bytes());
    message[10..18].copy_from_slice(&size.to_be_bytes());
    message[18..].copy_from_slice(root);
    message
}

/// Whether a `DigitallySigned` of TLS 1.2 is a signature of this head: SHA-256, ECDSA, a length,
/// DER.
pub(crate) fn verify(key: &VerifyingKey, timestamp: u64, size: u64, root: &Hash, signature: &[u8]) -> bool {
    let [4, 3, high, low, der @ ..] = signature else { return false };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let Ok(signature) = Signature::from_der(der) else { return false };
    length == der.len() && key.verify(&signed(timestamp, size, root), &signature).is_ok()
}
