//! Keys of the function: the secret key, the public key, and their text and bytes.

use crate::input::Input;
use crate::rng_compat::RngCompat;
use crate::{ELEMENT_BYTES, Element, OUTPUT_BYTES, OprfError, OprfOutput, Result, Suite};
use rand_core::CryptoRng;
use std::fmt;
use voprf::{Group, VoprfServer};
use zeroize::Zeroizing;

const TEXT: KeyFileFormat = KeyFileFormat {
    header: "# sotto OPRF key, version 1. Whoever reads this file can unmask every row of the table.",
    prefix: "sotto-oprf-sk:",
    other_header: "the first line is not that of a sotto OPRF key, version 1",
    other_prefix: "the second line does not start with sotto-oprf-sk:",
    other_digits: "the key must have 64 lower-case hex digits",
};

/// The secret key of the function. Wiped on drop; `Debug` does not print it.
pub struct SecretKey(pub(crate) VoprfServer<Suite>);

/// The public key that evaluations are proved against. It is a checked element of the group, and
/// not the identity.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey {
    bytes: Element,
    pub(crate) point: <Suite as Group>::Elem,
}

impl SecretKey {
    /// Draws a fresh key.
    ///
    /// # Errors
    /// [`OprfError::KeyText`] with negligible probability.
    pub fn generate(rng: &mut dyn CryptoRng) -> Result<Self> {
        let error = OprfError::KeyText("cannot draw a key");
        VoprfServer::new(&mut RngCompat(rng)).map(SecretKey).map_err(|_| error)
    }

    /// Returns the public key.
    pub fn public(&self) -> PublicKey {
        let point = self.0.get_public_key();
        PublicKey { bytes: Suite::serialize_elem(point).into(), point }
    }

    /// Evaluates the function at an input, which only the holder of the key can do without a
    /// server.
    ///
    /// # Errors
    /// [`OprfError::Input`].
    pub fn at(&self, input: &Input) -> Result<OprfOutput> {
        let output = self.0.evaluate(input.bytes()).map_err(|_| OprfError::Input)?;
        let mut out = Zeroizing::new([0; OUTPUT_BYTES]);
        out.iter_mut().zip(output).for_each(|(out, byte)| *out = byte);
        Ok(OprfOutput(out))
    }

    /// Writes the text of a key file: a comment line and the key. The caller stores it with mode
    /// 0600.
    ///
    /// ```
    /// use sotto_oprf::SecretKey;
    ///
    /// let key = SecretKey::generate(&mut sotto_prg::system_rng()?)?;
    /// let again = SecretKey::from_file(&key.to_file())?;
    /// assert_eq!(again.public().bytes(), key.public().bytes());
    /// assert!(SecretKey::from_file("no key").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_file(&self) -> Zeroizing<String> {
        let both = Zeroizing::new(<[u8; 2 * ELEMENT_BYTES]>::from(self.0.serialize()));
        // The public key follows in `both`; it is recomputed when the file is read.
        let (key, _) = both.split_at(ELEMENT_BYTES);
        TEXT.write(key)
    }

    /// Parses the text of a key file.
    ///
    /// # Errors
    /// [`OprfError::KeyText`], which never holds the text.
    pub fn from_file(text: &str) -> Result<Self> {
        let bytes = TEXT.read::<ELEMENT_BYTES>(text)?;
        let error = OprfError::KeyText("the digits are not a key");
        VoprfServer::new_with_key(bytes.as_slice()).map(SecretKey).map_err(|_| error)
    }
}

impl PublicKey {
    /// Decodes a public key.
    ///
    /// # Errors
    /// [`OprfError::Element`].
    pub fn from_bytes(bytes: Element) -> Result<Self> {
        let point = Suite::deserialize_elem(&bytes).map_err(|_| OprfError::Element)?;
        Ok(PublicKey { bytes, point })
    }

    /// The encoded public key.
    pub fn bytes(&self) -> &Element {
        &self.bytes
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(for {:?})", self.public())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicKey(")?;
        self.bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

/// The format of the files of one kind of key, and the errors for other text.
pub(crate) struct KeyFileFormat {
    /// First line of the file.
    pub(crate) header: &'static str,
    /// Prefix of the digits.
    pub(crate) prefix: &'static str,
    /// Error for another first line.
    pub(crate) other_header: &'static str,
    /// Error for a second line with another prefix.
    pub(crate) other_prefix: &'static str,
    /// Error for too many digits, too few, or characters that are not digits.
    pub(crate) other_digits: &'static str,
}

impl KeyFileFormat {
    /// Writes the text of a file. It is allocated once, so that no copy stays in memory.
    pub(crate) fn write(&self, key: &[u8]) -> Zeroizing<String> {
        let length = self.header.len() + self.prefix.len() + 2 * key.len() + 2;
        let mut text = Zeroizing::new(String::with_capacity(length));
        text.push_str(self.header);
        text.push('\n');
        text.push_str(self.prefix);
        for byte in key {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        text.push('\n');
        text
    }

    /// Parses a key file.
    ///
    /// # Errors
    /// [`OprfError::KeyText`], which never holds the text.
    pub(crate) fn read<const N: usize>(&self, text: &str) -> Result<Zeroizing<[u8; N]>> {
        let refuse = OprfError::KeyText;
        let (header, key) = text.split_once('\n').ok_or(refuse("an OPRF key file must have two lines"))?;
        if header.trim_end() != self.header {
            return Err(refuse(self.other_header));
        }
        let digits = key.trim_end().strip_prefix(self.prefix).ok_or(refuse(self.other_prefix))?;
        digits_of(digits).ok_or(refuse(self.other_digits))
    }
}

/// Decodes lower-case hexadecimal digits, two for each byte.
fn digits_of<const N: usize>(digits: &str) -> Option<Zeroizing<[u8; N]>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let mut bytes = Zeroizing::new([0; N]);
    for (out, &[high, low]) in bytes.iter_mut().zip(pairs) {
        *out = digit(high)? << 4 | digit(low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_prg::system_rng;

    #[test]
    fn a_key_file_restores_the_key_and_other_text_is_refused() {
        let key = SecretKey::generate(&mut system_rng().unwrap()).unwrap();
        let text = key.to_file();
        assert_eq!(SecretKey::from_file(&text).unwrap().public(), key.public());
        let secret = text.lines().nth(1).unwrap().strip_prefix(TEXT.prefix).unwrap();
        assert!(!format!("{key:?}").contains(secret));
        let digits = |with: &str| format!("{}\n{}{with}\n", TEXT.header, TEXT.prefix);
        let (zero, large) = ("0".repeat(64), "f".repeat(64));
        let short = &secret[1..];
        let upper = secret.to_ascii_uppercase() + "A";
        for wrong in [
            String::new(),
            text.replace("version 1", "version 2"),
            text.replace("oprf-sk", "sk"),
            digits(short),
            digits(&upper),
            digits(&zero),
            digits(&large),
        ] {
            assert!(matches!(SecretKey::from_file(&wrong), Err(OprfError::KeyText(_))), "{wrong}");
        }
    }

    #[test]
    fn a_public_key_is_an_element_in_its_one_form() {
        let key = SecretKey::generate(&mut system_rng().unwrap()).unwrap().public();
        assert_eq!(PublicKey::from_bytes(*key.bytes()).unwrap(), key);
        let identity = [0; 32];
        // 2^255 - 19 and larger: an unreduced field element. An odd one has the other sign.
        let mut unreduced = [0xff; 32];
        unreduced[31] = 0x7f;
        let mut odd = [0; 32];
        odd[0] = 1;
        for wrong in [identity, unreduced, odd, [0xff; 32]] {
            assert_eq!(PublicKey::from_bytes(wrong).unwrap_err(), OprfError::Element);
        }
    }
}
