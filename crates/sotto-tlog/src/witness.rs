//! Witnesses (`c2sp.org/tlog-cosignature`), who check that a log grows without a fork, and sign
//! that with the time.
//!
//! A cosignature is a line of the checkpoint's note, with signature type 4. It is eight bytes of
//! time, in seconds since 1970, and an Ed25519 signature of
//!
//! ```text
//! cosignature/v1
//! time 1679315147
//! <the note's text, with the newline at its end>
//! ```
//!
//! A witness keeps the last checkpoint of each log that it cosigned, and cosigns no other one of
//! that length and no shorter one; so two contradicting checkpoints of one log never both have its
//! cosignature. Of a publisher's log it reads the entries too, and does not cosign a log with two
//! catalogs of one epoch ([`LogHistory`]).
#![deny(clippy::indexing_slicing)]

use crate::key::{CUT, OTHER_NUMBER, from_key_file, id, to_key_file};
use crate::note::{NoteSignature, SignedNote, is_key_name};
use crate::note::{base64, unbase64};
use crate::{Checkpoint, LogError, LogHistory, LogKey, LogLayout, LogSource, Result, VerifiedLog};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use sotto_core::CryptoRng;
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroizing;

/// Signature type of cosignatures with a time, under Ed25519.
const KIND: u8 = 4;

/// Message of a cosignature: its header and the note's text.
fn message(time: u64, text: &str) -> Vec<u8> {
    format!("cosignature/v1\ntime {time}\n{text}").into_bytes()
}

/// Public key of a witness with its name: `NAME+ID+BASE64`, where BASE64 encodes the byte 04 and
/// the key's 32 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessKey {
    name: String,
    key: VerifyingKey,
}

impl WitnessKey {
    fn new(name: &str, key: VerifyingKey) -> Result<Self> {
        if !is_key_name(name) {
            return Err(LogError::KeyText("expected a witness name without spaces and plus signs"));
        }
        Ok(WitnessKey { name: name.into(), key })
    }

    /// Name of the witness in the line of a cosignature.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Key id in the line of a cosignature.
    pub fn id(&self) -> u32 {
        id(&self.name, KIND, self.key.as_bytes())
    }

    /// Time at which this witness cosigned a note, in seconds since 1970: the latest one if there
    /// are several; `None` if it did not.
    ///
    /// # Errors
    /// [`LogError::BadSignature`] if a line claims to be of this witness, but is not.
    pub fn cosigned(&self, note: &SignedNote) -> Result<Option<u64>> {
        let id = self.id();
        let ours = note.signatures.iter().filter(|line| line.name == self.name && line.id == id);
        let times = ours.map(|line| self.time(&note.text, &line.bytes));
        let refuse = || LogError::BadSignature(self.name.clone());
        times.map(|time| time.ok_or_else(refuse)).try_fold(None, |latest, time| Ok(latest.max(Some(time?))))
    }

    fn time(&self, text: &str, bytes: &[u8]) -> Option<u64> {
        let (time, signature) = bytes.split_first_chunk::<8>()?;
        let time = u64::from_be_bytes(*time);
        let signature = ed25519_dalek::Signature::from_slice(signature).ok()?;
        self.key.verify_strict(&message(time, text), &signature).ok().map(|()| time)
    }
}

impl fmt::Display for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&[KIND], self.key.as_bytes().as_slice()].concat();
        write!(f, "{}+{:08x}+{}", self.name, self.id(), base64(&bytes))
    }
}

impl FromStr for WitnessKey {
    type Err = LogError;
    fn from_str(text: &str) -> Result<Self> {
        let refuse = || LogError::KeyText("expected NAME+ID+BASE64 of a witness (signature type 4)");
        let mut parts = text.trim().splitn(3, '+');
        let (Some(name), Some(number), Some(encoded)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(refuse());
        };
        let decoded = unbase64(encoded).ok_or(LogError::KeyText(CUT))?;
        let Some((&KIND, bytes)) = decoded.split_first() else { return Err(refuse()) };
        let bytes: &[u8; 32] = bytes.try_into().map_err(|_| LogError::KeyText(CUT))?;
        let key = VerifyingKey::from_bytes(bytes);
        let key = Self::new(name, key.map_err(|_| LogError::KeyText("not an Ed25519 key"))?)?;
        if number != format!("{:08x}", key.id()) {
            return Err(LogError::KeyText(OTHER_NUMBER));
        }
        Ok(key)
    }
}

/// Signing key of a witness. Wiped on drop; it does not print itself.
pub struct Cosigner {
    key: SigningKey,
    public: WitnessKey,
}

impl Cosigner {
    /// Generates a key for a witness with this name.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for a name with spaces or a plus.
    pub fn generate(name: &str, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut secret = Zeroizing::new([0; 32]);
        rng.fill_bytes(secret.as_mut_slice());
        Self::new(name, &secret)
    }

    /// Makes the key with these secret bytes.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for a name with spaces or a plus.
    pub fn new(name: &str, secret: &[u8; 32]) -> Result<Self> {
        let key = SigningKey::from_bytes(secret);
        Ok(Cosigner { public: WitnessKey::new(name, key.verifying_key())?, key })
    }

    /// Public key that verifies cosignatures of this key.
    pub fn public(&self) -> &WitnessKey {
        &self.public
    }

    /// The text of a key file. The caller writes it with mode 0600.
    pub fn to_file(&self) -> Zeroizing<String> {
        to_key_file(KIND, self.public.name(), self.public.id(), &self.key)
    }

    /// Reads the text of a key file.
    ///
    /// # Errors
    /// [`LogError::KeyText`].
    pub fn from_file(text: &str) -> Result<Self> {
        let expected = "expected PRIVATE+KEY+NAME+ID+BASE64 of a witness";
        let (name, number, secret) = from_key_file(text, KIND, expected)?;
        let cosigner = Self::new(name, &secret)?;
        if number != format!("{:08x}", cosigner.public.id()) {
            return Err(LogError::KeyText(OTHER_NUMBER));
        }
        Ok(cosigner)
    }

    /// Cosigns a note's text at a time. The log is not checked: see [`examine`].
    pub fn cosign(&self, text: &str, time: u64) -> NoteSignature {
        let signature = self.key.sign(&message(time, text)).to_bytes();
        let bytes = [&time.to_be_bytes(), signature.as_slice()].concat();
        NoteSignature { name: self.public.name.clone(), id: self.public.id(), bytes }
    }
}

impl fmt::Debug for Cosigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cosigner(for {})", self.public)
    }
}

/// Examines a publisher's log before a witness cosigns it: its signature, that it extends what was
/// cosigned before, and that its new entries do not contradict earlier ones. `history` contains
/// what was read before, and is updated to this checkpoint; it must be on disk before a cosignature
/// is sent.
///
/// # Errors
/// The errors of [`Checkpoint::open`] and [`VerifiedLog::open`]; [`LogError::Older`],
/// [`LogError::Fork`], [`LogError::Conflict`].
pub fn examine<S: LogSource + Clone>(
    source: S,
    key: &LogKey,
    note: &[u8],
    known: Option<&Checkpoint>,
    history: &mut LogHistory,
) -> Result<Checkpoint> {
    let checkpoint = Checkpoint::open(note, key)?;
    consistent(source.clone(), known, &checkpoint)?;
    history.read(&mut VerifiedLog::open(source, LogLayout::Tiles, &checkpoint)?)?;
    Ok(checkpoint)
}

/// Checks that a log that was seen before extends to this checkpoint.
///
/// # Errors
/// The errors of [`VerifiedLog::open`]; [`LogError::Older`], [`LogError::Fork`].
pub fn consistent<S: LogSource>(source: S, known: Option<&Checkpoint>, found: &Checkpoint) -> Result<()> {
    match known {
        Some(known) if known.size > found.size => {
            Err(LogError::Older { known: known.size, found: found.size })
        }
        Some(known) if known.size == found.size && known.root == found.root => Ok(()),
        Some(known) if known.size == found.size => Err(LogError::Fork { size: known.size }),
        Some(known) => VerifiedLog::open(source, LogLayout::Tiles, found)?.extends(known),
        None => VerifiedLog::open(source, LogLayout::Tiles, found).map(drop),
    }
}
