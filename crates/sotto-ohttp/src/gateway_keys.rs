//! All keys of a gateway: the newest is told to clients, and older ones are opened with for a while, for those who still have
//! them.
//!
//! ```text
//! told ........ | opened with ... |              of one key
//!      from   + every           + after
//!               told ........ | opened with ...  of its successor
//! ```
//!
//! As a file: a line that names the format, and a line for each key, the oldest first: its id, from when on it was told, in
//! seconds since 1970, and its 32 bytes in hexadecimal digits.

use crate::gateway::GatewayKey;
use crate::suite::KEY;
use rand_core::CryptoRng;
use std::fmt::Write;
use zeroize::Zeroizing;

/// What says that a file is one of these.
const FORMAT: &str = "sotto-ohttp-keys/1";

/// Keys of a file at most: ids are bytes.
const MAX: usize = 256;

/// Bytes of such a file at most.
pub const MAX_BYTES: usize = 64 << 10;

/// How long keys are used, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationSchedule {
    /// How long a key is told.
    pub every: u64,
    /// How long it is opened with after that.
    pub after: u64,
}

/// Keys, the oldest first.
#[derive(Debug, Clone)]
pub struct GatewayKeys {
    rotation: RotationSchedule,
    keys: Vec<(u64, GatewayKey)>,
}

impl GatewayKeys {
    /// One without keys, which has to be turned before it is of use.
    pub fn new(rotation: RotationSchedule) -> Self {
        GatewayKeys { rotation, keys: Vec::new() }
    }

    /// The keys of a file. `None` if it is no such file.
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

    /// Such a file.
    pub fn to_text(&self) -> Zeroizing<String> {
        // All at once: a text that grows leaves copies of itself.
        let mut out = Zeroizing::new(String::with_capacity(FORMAT.len() + 1 + self.keys.len() * 100));
        out.push_str(FORMAT);
        out.push('\n');
        for (from, key) in &self.keys {
            // Writing to a text does not fail.
            let _ = write!(out, "{} {from} ", key.id());
            for byte in key.secret() {
                let _ = write!(out, "{byte:02x}");
            }
            out.push('\n');
        }
        out
    }

    /// Whether [`GatewayKeys::turned`] has something to do.
    pub fn is_due(&self, now: u64) -> bool {
        self.needs_another(now) || self.keys.iter().any(|(from, _)| self.is_over(*from, now))
    }

    /// The ring as it should be now. `None` if no key can be made.
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

    /// A clock that goes back makes no keys: the newest goes on.
    fn needs_another(&self, now: u64) -> bool {
        self.keys.last().is_none_or(|(from, _)| now >= from.saturating_add(self.rotation.every))
    }

    fn is_over(&self, from: u64, now: u64) -> bool {
        now >= from.saturating_add(self.rotation.every).saturating_add(self.rotation.after)
    }

    fn of(&self, id: u8) -> Option<&GatewayKey> {
        self.keys().find(|key| key.id() == id)
    }

    /// Every key that is opened with.
    pub fn keys(&self) -> impl Iterator<Item = &GatewayKey> {
        self.keys.iter().map(|(_, key)| key)
    }

    /// What clients are told: the newest key alone, as a list.
    pub fn told(&self) -> Vec<u8> {
        self.keys.last().map(|(_, key)| key.config().to_bytes()).unwrap_or_default()
    }
}

/// A number as it is written here, and no other spelling of it.
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
