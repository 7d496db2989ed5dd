//! The client: absorb the hint, query, recover.
//!
//! No branch, index or allocation depends on the requested index or on a secret; the only exception
//! is refusing an index past the end.

use crate::SimplePir;
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::{
    Artifact, ArtifactNeed, CryptoRng, Misuse, OneServer, Params as _, Record, RecordIndex, Result,
    SumElement, SumScheme,
};
use sotto_pages::HugeWords;
use sotto_silent::lwe::dense::DenseLwe;
use sotto_silent::lwe::encrypt::{LweVectorEncryptor, mask, read};
use sotto_silent::lwe::hint::HintDownload;
use sotto_silent::lwe::ring::{self, Ring};
use sotto_silent::one_hot::OneHot;
use zeroize::Zeroizing;

/// A client in preparation, which downloads its hint.
pub struct Prepare {
    params: Params,
    hint: HintDownload,
}

impl sotto_core::Prepare<SimplePir> for Prepare {
    fn begin(params: &Params, _rng: &mut dyn CryptoRng) -> Result<Self> {
        let bytes = params.hint_bytes();
        // Any word is valid modulo 2^32.
        let hint =
            params.dense().map_or_else(|| HintDownload::new(bytes), |_| HintDownload::of_any_words(bytes));
        Ok(Prepare { params: params.clone(), hint })
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        vec![self.hint.need()]
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        self.hint.absorb(from, chunk)
    }

    fn finish(self) -> Result<Client> {
        let hint = self.hint.finish()?;
        let lattice = match self.params.dense() {
            None => LatticeKind::Ring(Box::new(LweVectorEncryptor::new(Ring::new()?, self.params.blocks()))),
            Some(dense) => LatticeKind::Dense(*dense),
        };
        Ok(Client { params: self.params, lattice, hint })
    }
}

/// A client that holds a hint.
pub struct Client {
    params: Params,
    lattice: LatticeKind,
    /// The hint H, l rows of n words.
    hint: HugeWords,
}

/// The lattice of a client, with its encryption.
enum LatticeKind {
    Ring(Box<LweVectorEncryptor>),
    Dense(DenseLwe),
}

/// The secret of one query: the mask H s, switched to modulus 2^32. The key s itself is dropped
/// already.
pub struct Pending {
    mask: Zeroizing<Vec<u32>>,
}

impl sotto_core::Client<SimplePir> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    /// The paper's Query: a fresh secret s and `c = A s + e` plus Q/p times a unit vector, switched to 2^b.
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        SimplePir::query_sum(self, index, 1, rng)
    }

    /// The paper's Recover: subtract the mask and round to the nearest byte.
    fn recover(&mut self, pending: Pending, OneServer(Answer(words)): OneServer<Answer>) -> Result<Record> {
        if words.len() != pending.mask.len() {
            return Err(Misuse::ForeignValue("ticket").into());
        }
        Ok(Record::new(read(&words, &pending.mask, self.params.answer_bits()).collect()))
    }
}

impl SumScheme for SimplePir {
    const UNIT: SumElement = SumElement::Byte;

    fn query_sum(
        client: &mut Client,
        first: RecordIndex,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(OneServer<Query>, Pending)> {
        let Client { params, lattice, hint } = client;
        let (m, b) = (params.m(), params.query_bits());
        if first.0 >= m as u64 {
            return Err(Misuse::IndexPastEnd { index: first.0, len: m as u64 }.into());
        }
        let ones = OneHot::new(first.0 as u32, ones);
        let (words, mask) = match lattice {
            LatticeKind::Ring(encryption) => {
                let s = encryption.secret(rng);
                let words = encryption.sum(m, ones, &s, rng, |word| ring::switch(word, b));
                (words, mask(hint, &s, |word| ring::switch(word, 32)))
            }
            LatticeKind::Dense(dense) => {
                let s = dense.secret(rng);
                (dense.sum(&params.literal().seed, m, ones, &s, rng), dense.mask(hint, &s))
            }
        };
        Ok((OneServer(Query(words)), Pending { mask }))
    }
}
