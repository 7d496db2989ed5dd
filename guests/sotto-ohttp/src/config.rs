//! Key configurations that a gateway publishes (RFC 9458, section 3).
//!
//! ```text
//! keys   (len u16 | key)*
//! key    id u8 | KEM u16 | public key | len u16 | (KDF u16 | AEAD u16)*
//! ```
//!
//! Numbers have their most significant byte first.

use crate::suite::{Aead, KDF, KEM, KEY};

/// A public key of a gateway, and the ciphers that messages to it may be sealed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyConfig {
    /// Id of the key at the gateway.
    pub id: u8,
    /// Public key, a point of X25519.
    pub public: [u8; KEY],
    /// Ciphers, the one that the gateway prefers first.
    pub aeads: Vec<Aead>,
}

impl KeyConfig {
    /// Configuration of a key with every cipher that is supported.
    pub fn new(id: u8, public: [u8; KEY]) -> Self {
        KeyConfig { id, public, aeads: Aead::ALL.to_vec() }
    }

    /// Encodes the configuration after its length.
    pub fn to_bytes(&self) -> Vec<u8> {
        let suites: Vec<u8> = self
            .aeads
            .iter()
            .flat_map(|aead| [KDF.to_be_bytes(), aead.id().to_be_bytes()].concat())
            .collect();
        let parts =
            [&[self.id][..], &KEM.to_be_bytes(), &self.public, &(suites.len() as u16).to_be_bytes(), &suites];
        let key = parts.concat();
        [&(key.len() as u16).to_be_bytes()[..], &key].concat()
    }

    /// Parses a list of configurations, and returns those that this library supports, in order.
    /// `None` if the bytes are not such a list.
    pub fn read_all(mut bytes: &[u8]) -> Option<Vec<Self>> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let (key, rest) = lengthy(bytes)?;
            all.extend(KeyConfig::read(key)?);
            bytes = rest;
        }
        Some(all)
    }

    /// Parses one configuration; `Some(None)` if the key is of another kind.
    fn read(bytes: &[u8]) -> Option<Option<Self>> {
        let (id, rest) = bytes.split_first()?;
        let (kem, rest) = rest.split_first_chunk()?;
        if u16::from_be_bytes(*kem) != KEM {
            return Some(None);
        }
        let (public, rest) = rest.split_first_chunk()?;
        let (suites, rest) = lengthy(rest)?;
        let (suites, odd) = suites.as_chunks::<4>();
        if suites.is_empty() || !odd.is_empty() || !rest.is_empty() {
            return None;
        }
        let aeads: Vec<Aead> = suites
            .iter()
            .filter(|[a, b, ..]| u16::from_be_bytes([*a, *b]) == KDF)
            .filter_map(|[.., a, b]| Aead::find(u16::from_be_bytes([*a, *b])))
            .collect();
        Some((!aeads.is_empty()).then_some(KeyConfig { id: *id, public: *public, aeads }))
    }
}

fn lengthy(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}
