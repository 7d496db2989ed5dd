//! Keys of a gateway over time: the newest is published to clients, and older ones still open
//! requests for a while, for clients that still have them.
//!
//! ```text
//! published ... | opens ......... |              of one key
//!      from     + every           + after
//!               published ... | opens .........  of its successor
//! ```
//!
//! A file of keys has a line that names the format, and a line for each key, oldest first: its id,
//! the time from which on it was published, in seconds since 1970, and its 32 bytes in hexadecimal
//! digits.

use crate::gateway::GatewayKey;
use crate::suite::KEY;
use rand_core::CryptoRng;
use std::fmt::Write;
use zeroize::Zeroizing;

/// Format in the first line of a file of keys.
const FORMAT: &str = "sotto-ohttp-keys/1";

/// Largest number of keys in a file: ids are bytes.
const MAX: usize = 256;

/// Largest size of a file of keys in bytes.
pub const MAX_BYTES: usize = 64 << 10;

/// Times for which keys are used, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationSchedule {
    /// Seconds for which a key is published.
    pub every: u64,
    /// Seconds for which a key still opens requests after that.
    pub after: u64,
}

/// Keys of a gateway, oldest first.
#[derive(Debug, Clone)]
pub struct GatewayKeys {
    rotation: RotationSchedule,
    keys: Vec<(u64, GatewayKey)>,
}

impl GatewayKeys {
    /// Makes an empty ring, which [`GatewayKeys::turned`] must rotate before it can be used.
    pub fn new(rotation: RotationSchedule) -> Self {
        GatewayKeys { rotation, keys: Vec::new() }
    }

    /// Parses a file of keys. `None` if it is not valid.
    pub fn read(rotation: RotationSchedule, text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if text.len() > MAX_BYTES || lines.next() != Some(FORMAT) {
            return None;
        }
        let mut ring = GatewayKeys::new(rotation);
        for line in lines {
            let mut parts = line.split(' ');
            let (id, from, secret) = (parts.next()?, parts.next()?, parts.next()?);
            let key = GatewayKey::of(number(id)?.try_into().ok()?, &*bytes(secret)?)?;
            if parts.next().is_some() || ring.of(key.id()).is_some() || ring.keys.len() == MAX {
                return None;
            }
            ring.keys.push((number(from)?, key));
        }
        Some(ring)
    }

    /// Text of the file of keys.
    pub fn to_text(&self) -> Zeroizing<String> {
        // Allocated at once: a growing text leaves copies of itself behind.
        let mut out = Zeroizing::new(String::with_capacity(FORMAT.len() + 1 + self.keys.len() * 100));
        out.push_str(FORMAT);
        out.push('\n');
        for (from, key) in &self.keys {
            // Writing to a string does not fail.
            let _ = write!(out, "{} {from} ", key.id());
            for byte in key.secret() {
                let _ = write!(out, "{byte:02x}");
            }
            out.push('\n');
        }
        out
    }

    /// Whether [`GatewayKeys::turned`] would change the keys.
    pub fn is_due(&self, now: u64) -> bool {
        self.needs_another(now) || self.keys.iter().any(|(from, _)| self.is_over(*from, now))
    }

    /// Rotates the keys as due at this time. `None` if no key can be generated.
    pub fn turned(&self, now: u64, rng: &mut dyn CryptoRng) -> Option<Self> {
        let mut ring = GatewayKeys { rotation: self.rotation, keys: self.keys.clone() };
        ring.keys.retain(|(from, _)| !self.is_over(*from, now));
        if self.needs_another(now) {
            let last = self.keys.last().map_or(0, |(_, key)| key.id());
            let id = (1..=u8::MAX).map(|step| last.wrapping_add(step)).find(|id| ring.of(*id).is_none())?;
            ring.keys.push((now, GatewayKey::generate(id, rng)?));
        }
        Some(ring)
    }

    /// Whether another key is due. A clock that goes back makes no keys: the newest continues.
    fn needs_another(&self, now: u64) -> bool {
        self.keys.last().is_none_or(|(from, _)| now >= from.saturating_add(self.rotation.every))
    }

    fn is_over(&self, from: u64, now: u64) -> bool {
        now >= from.saturating_add(self.rotation.every).saturating_add(self.rotation.after)
    }

    fn of(&self, id: u8) -> Option<&GatewayKey> {
        self.keys().find(|key| key.id() == id)
    }

    /// All keys that open requests.
    pub fn keys(&self) -> impl Iterator<Item = &GatewayKey> {
        self.keys.iter().map(|(_, key)| key)
    }

    /// Published configuration: the newest key alone, as a list.
    pub fn published(&self) -> Vec<u8> {
        self.keys.last().map(|(_, key)| key.config().to_bytes()).unwrap_or_default()
    }
}

/// Parses a number in its canonical form only.
fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

fn bytes(text: &str) -> Option<Zeroizing<[u8; KEY]>> {
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    let pairs: &[[u8; 2]; KEY] = pairs.as_array().filter(|_| odd.is_empty())?;
    let mut all = Zeroizing::new([0; KEY]);
    for (byte, [high, low]) in all.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(all)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}
