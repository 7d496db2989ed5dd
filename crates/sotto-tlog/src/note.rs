//! Signed notes (`c2sp.org/signed-note`): a text, an empty line, and lines of signatures.
//!
//! A note is trusted only after a signature of a known key is verified; signatures of unknown keys
//! are ignored. Numbers and hashes have canonical text forms.
#![deny(clippy::indexing_slicing)]

use crate::{LogError, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sotto_tree::log::Hash;

/// Largest size of a note in bytes. Post-quantum signatures have about 5 KB, and 16 signatures must
/// be accepted.
pub const MAX_NOTE_BYTES: usize = 1 << 18;

/// Prefix of a line with a signature.
const MARK: &str = "\u{2014} ";

/// A parsed note whose signatures are not verified yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedNote {
    /// Text of the note, with the newline at its end.
    pub text: String,
    /// Signatures in the note's order, at least one.
    pub signatures: Vec<NoteSignature>,
}

/// An unverified signature of a note's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    /// Name of the key.
    pub name: String,
    /// Id of the key, which together with the name identifies key and algorithm.
    pub id: u32,
    /// Signature bytes, in the form of the algorithm.
    pub bytes: Vec<u8>,
}

impl SignedNote {
    /// Parses a note.
    ///
    /// # Errors
    /// [`LogError::TooLarge`], [`LogError::Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let refuse = |why: &str| LogError::malformed("signed note", why);
        if bytes.len() > MAX_NOTE_BYTES {
            return Err(LogError::TooLarge { what: "signed note".into(), limit: MAX_NOTE_BYTES as u64 });
        }
        let all =
            std::str::from_utf8(bytes).map_err(|_| refuse("not UTF-8").of_file("the signed note", bytes))?;
        if all.bytes().any(|byte| byte < b' ' && byte != b'\n') {
            return Err(refuse("control characters"));
        }
        // The text may contain empty lines, the signatures may not: the last empty line separates
        // the two.
        let (text, lines) = all.rsplit_once("\n\n").ok_or_else(|| refuse("expected an empty line"))?;
        let lines = lines.strip_suffix('\n').ok_or_else(|| refuse("expected a newline at the end"))?;
        let signatures = lines.split('\n').map(NoteSignature::parse).collect::<Option<_>>();
        let signatures = signatures.ok_or_else(|| refuse("a line after the text is not a signature"))?;
        Ok(SignedNote { text: format!("{text}\n"), signatures })
    }
}

/// Writes the note as it was parsed.
impl std::fmt::Display for SignedNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.text)?;
        for NoteSignature { name, id, bytes } in &self.signatures {
            writeln!(f, "{MARK}{name} {}", base64(&[&id.to_be_bytes(), bytes.as_slice()].concat()))?;
        }
        Ok(())
    }
}

impl NoteSignature {
    fn parse(line: &str) -> Option<Self> {
        let (name, encoded) = line.strip_prefix(MARK)?.split_once(' ')?;
        let decoded = unbase64(encoded)?;
        let (id, bytes) = decoded.split_first_chunk::<4>()?;
        let whole = is_key_name(name) && !bytes.is_empty();
        whole.then(|| NoteSignature { name: name.into(), id: u32::from_be_bytes(*id), bytes: bytes.to_vec() })
    }
}

/// Whether a text is valid as the name of a key.
pub(crate) fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '+')
}

/// Parses a decimal number without leading zeros.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = text == "0" || !text.starts_with('0');
    if digits && canonical { text.parse().ok() } else { None }
}

/// Decodes base64 of RFC 4648, section 4, with its padding and without stray bits.
pub(crate) fn unbase64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Encodes base64 of RFC 4648, section 4, with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes a hash in base64.
pub(crate) fn hash(text: &str) -> Option<Hash> {
    // The length is checked first: no text is decoded into more bytes than expected.
    if text.len() != 44 { None } else { unbase64(text)?.try_into().ok() }
}
