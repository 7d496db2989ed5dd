//! The client: take in the hint, ask, read the answer.
//!
//! Nothing here branches, indexes or allocates by the index asked for or by a secret; the only
//! exception is refusing an index past the end.

use crate::SimplePir;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::ring::{self, N, Q, Ring, SIGMA, STEP};
use sotto_core::{
    Artifact, ArtifactNeed, CryptoRng, Misuse, One, PeerMisbehaved, Record, RecordIndex, Result,
};
use sotto_math::matrix::dot_rows;
use sotto_math::sample::Gaussian;
use std::io;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

/// A client that is taking in its hint.
pub struct Prepare {
    params: Params,
    ring: Ring,
    hint: Vec<u32>,
    /// Bytes of a word that a chunk boundary cut.
    cut: Vec<u8>,
}

impl sotto_core::Prepare<SimplePir> for Prepare {
    fn begin(params: &Params, _rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { params: params.clone(), ring: Ring::new()?, hint: Vec::new(), cut: Vec::new() })
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        vec![ArtifactNeed { artifact: Artifact::Hint, bytes: self.params.hint_bytes() }]
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        if from != Artifact::Hint || chunk.len() as u64 > self.params.hint_bytes() - self.absorbed() {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        if self.hint.capacity() == 0 {
            let words = usize::try_from(self.params.hint_bytes() / 4).unwrap_or(usize::MAX);
            self.hint.try_reserve_exact(words).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        }
        let missing = if self.cut.is_empty() { 0 } else { 4 - self.cut.len() };
        let (head, rest) = chunk.split_at(missing.min(chunk.len()));
        self.cut.extend_from_slice(head);
        if let Ok(word) = <[u8; 4]>::try_from(self.cut.as_slice()) {
            self.cut.clear();
            self.take_words(&[word])?;
        }
        let (words, tail) = rest.as_chunks::<4>();
        self.take_words(words)?;
        self.cut.extend_from_slice(tail);
        Ok(())
    }

    fn finish(self) -> Result<Client> {
        let (got, need) = (self.absorbed(), self.params.hint_bytes());
        if got != need {
            return Err(Misuse::NotPrepared { artifact: Artifact::Hint.name(), got, need }.into());
        }
        // At most 4 MiB, next to a hint that is usually larger; it saves a
        // sampling and a transform per block and query.
        let blocks = (0..self.params.blocks()).map(|k| self.ring.block(k)).collect();
        let gaussian = Gaussian::new(SIGMA);
        Ok(Client { params: self.params, ring: self.ring, gaussian, blocks, hint: self.hint })
    }
}

impl Prepare {
    fn absorbed(&self) -> u64 {
        self.hint.len() as u64 * 4 + self.cut.len() as u64
    }

    fn take_words(&mut self, words: &[[u8; 4]]) -> Result<()> {
        self.hint.extend(words.iter().map(|word| u32::from_le_bytes(*word)));
        let fresh = self.hint.iter().rev().take(words.len());
        if fresh.fold(false, |bad, word| bad | (*word >= Q)) {
            return Err(PeerMisbehaved::NotCanonical("hint").into());
        }
        Ok(())
    }
}

/// A client that holds a hint.
pub struct Client {
    params: Params,
    ring: Ring,
    gaussian: Gaussian,
    /// Values of a_k(X), block by block.
    blocks: Vec<Vec<u64>>,
    /// H, l rows of n words.
    hint: Vec<u32>,
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
        let m = self.params.m();
        if index.0 >= m as u64 {
            return Err(Misuse::IndexPastEnd { index: index.0, len: m as u64 }.into());
        }
        let s = self.sample(N, rng);
        let words = self.encrypt_unit(index.0 as u32, &s, rng);
        Ok((One(Query(words)), Pending { mask: self.mask(&s) }))
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

impl Client {
    fn sample(&self, len: usize, rng: &mut dyn CryptoRng) -> Zeroizing<Vec<i32>> {
        let mut out = Zeroizing::new(vec![0; len]);
        self.gaussian.fill(rng, &mut out);
        out
    }

    /// `A s + e` plus [`STEP`] times a unit vector modulo Q, switched to 2^b: m words.
    ///
    /// The unit vector goes in before the switch, because Q is no multiple of 2^b: what words modulo Q are
    /// switched to is not uniform, at 32 bits it never is one of 2^32 - Q words. A step added after the
    /// switch would carry those gaps along, to the one place that must not differ from the others.
    fn encrypt_unit(&self, index: u32, s: &[i32], rng: &mut dyn CryptoRng) -> Vec<u32> {
        let (m, b) = (self.params.m(), self.params.query_bits());
        let mut s_hat = ring::lift(s);
        self.ring.plan().forward(&mut s_hat);
        let e = self.sample(m, rng);
        let mut words = Vec::with_capacity(m);
        let mut c = Zeroizing::new(vec![0; N]);
        let mut places = 0u32..;
        for (a_hat, e) in self.blocks.iter().zip(e.chunks(N)) {
            c.fill(0);
            self.ring.plan().mul_acc(&mut c, a_hat, &s_hat);
            self.ring.plan().inverse(&mut c);
            words.extend(c.iter().zip(e).zip(places.by_ref()).map(|((c, e), place)| {
                let unit = u32::conditional_select(&0, &STEP, place.ct_eq(&index));
                ring::switch(ring::reduce(*c as i64 + i64::from(*e) + i64::from(unit)), b)
            }));
        }
        words
    }

    /// `H s` modulo Q, switched to 2^32, for every row: which of them matter is not known to this code.
    fn mask(&self, s: &[i32]) -> Zeroizing<Vec<u32>> {
        let mut sums = Zeroizing::new(vec![0i64; self.params.l()]);
        dot_rows(&self.hint, N, s, &mut sums);
        Zeroizing::new(sums.iter().map(|sum| ring::switch(ring::reduce(*sum), 32)).collect())
    }
}
