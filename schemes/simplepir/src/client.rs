//! The client: take in the hint, ask, read the answer.
//!
//! Nothing here branches, indexes or allocates by the index asked for or by a secret; the only
//! exception is refusing an index past the end.

use crate::SimplePir;
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::{Artifact, ArtifactNeed, CryptoRng, Misuse, One, Record, RecordIndex, Result, Summed, Unit};
use sotto_pages::HugeWords;
use sotto_silent::lwe::encrypt::{Encryption, mask};
use sotto_silent::lwe::hint;
use sotto_silent::lwe::ring::{self, Ring};
use sotto_silent::ones::Ones;
use zeroize::Zeroizing;

/// A client that is taking in its hint.
pub struct Prepare {
    params: Params,
    ring: Ring,
    hint: HugeWords,
    /// Bytes of a word that a chunk boundary cut.
    cut: Vec<u8>,
}

impl sotto_core::Prepare<SimplePir> for Prepare {
    fn begin(params: &Params, _rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare {
            params: params.clone(),
            ring: Ring::new()?,
            hint: HugeWords::default(),
            cut: Vec::new(),
        })
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        vec![ArtifactNeed { artifact: Artifact::Hint, bytes: self.params.hint_bytes() }]
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        if from != Artifact::Hint || chunk.len() as u64 > self.params.hint_bytes() - self.absorbed() {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        if !self.hint.has_room() {
            self.hint = hint::room(self.params.hint_bytes())?;
        }
        let missing = if self.cut.is_empty() { 0 } else { 4 - self.cut.len() };
        let (head, rest) = chunk.split_at(missing.min(chunk.len()));
        self.cut.extend_from_slice(head);
        if let Ok(word) = <[u8; 4]>::try_from(self.cut.as_slice()) {
            self.cut.clear();
            ring::take_words("hint", &[word], &mut self.hint)?;
        }
        let (words, tail) = rest.as_chunks::<4>();
        ring::take_words("hint", words, &mut self.hint)?;
        self.cut.extend_from_slice(tail);
        Ok(())
    }

    fn finish(self) -> Result<Client> {
        let (got, need) = (self.absorbed(), self.params.hint_bytes());
        if got != need {
            return Err(Misuse::NotPrepared { artifact: Artifact::Hint.name(), got, need }.into());
        }
        let encryption = Encryption::new(self.ring, self.params.blocks());
        Ok(Client { params: self.params, encryption, hint: self.hint })
    }
}

impl Prepare {
    fn absorbed(&self) -> u64 {
        self.hint.len() as u64 * 4 + self.cut.len() as u64
    }
}

/// A client that holds a hint.
pub struct Client {
    params: Params,
    encryption: Encryption,
    /// H, l rows of n words.
    hint: HugeWords,
}

/// The secret of one query: the mask H s, switched to modulus 2^32. The key s itself is already gone.
pub struct Pending {
    mask: Zeroizing<Vec<u32>>,
}

impl sotto_core::Client<SimplePir> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    /// The paper's Query: a fresh secret s and `c = A s + e` plus Q/p times a unit vector, switched to 2^b.
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(One<Query>, Pending)> {
        SimplePir::ask_sum(self, index, 1, rng)
    }

    /// The paper's Recover: take off the mask and round to the nearest byte.
    fn recover(&mut self, pending: Pending, One(Answer(words)): One<Answer>) -> Result<Record> {
        if words.len() != pending.mask.len() {
            return Err(Misuse::Foreign("ticket").into());
        }
        let raise = 32 - self.params.answer_bits();
        let bytes = words.iter().zip(pending.mask.iter()).map(|(word, mask)| {
            let phase = (word << raise).wrapping_sub(*mask);
            (phase.wrapping_add(1 << 23) >> 24) as u8
        });
        Ok(Record::new(bytes.collect()))
    }
}

impl Summed for SimplePir {
    const UNIT: Unit = Unit::Byte;

    fn ask_sum(
        client: &mut Client,
        first: RecordIndex,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(One<Query>, Pending)> {
        let Client { params, encryption, hint } = client;
        let (m, b) = (params.m(), params.query_bits());
        if first.0 >= m as u64 {
            return Err(Misuse::IndexPastEnd { index: first.0, len: m as u64 }.into());
        }
        let s = encryption.secret(rng);
        let ones = Ones::new(first.0 as u32, ones);
        let words = encryption.sum(m, ones, &s, rng, |word| ring::switch(word, b));
        Ok((One(Query(words)), Pending { mask: mask(hint, &s, |word| ring::switch(word, 32)) }))
    }
}
