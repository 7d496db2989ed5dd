//! The client: absorb the table, query, verify the answer, recover.
//!
//! No branch, index or allocation depends on the requested index or on a secret; the only
//! exceptions are refusing an index past the end, and refusing an answer.

use super::VeriSimplePir;
use super::check::{CheckSums, Combinations, Digest, holds};
use super::message::{Answer, Query};
use super::params::Params;
use super::pass::{PassOutput, TablePass};
use sotto_core::{Artifact, ArtifactNeed, CryptoRng, Error, Misuse, OneServer, Record, RecordIndex, Result};
use sotto_pages::HugeWords;
use sotto_silent::lwe::encrypt::{LweVectorEncryptor, mask};
use sotto_silent::lwe::ring;
use zeroize::Zeroizing;

/// A client in preparation, which streams the table.
pub struct Prepare {
    params: Params,
    combinations: Combinations,
    /// The pass; none before the first bytes, so that absurd parameters cost little.
    pass: Option<TablePass>,
}

impl sotto_core::Prepare<VeriSimplePir> for Prepare {
    fn begin(params: &Params, rng: &mut dyn CryptoRng) -> Result<Self> {
        let combinations = Combinations::draw(params, rng);
        Ok(Prepare { params: params.clone(), combinations, pass: None })
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        vec![ArtifactNeed { artifact: Artifact::Rows, bytes: self.params.table_bytes() }]
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        let missing = self.params.table_bytes() - self.absorbed();
        if from != Artifact::Rows || chunk.len() as u64 > missing {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        let pass = match &mut self.pass {
            Some(pass) => pass,
            none => none.insert(TablePass::new(&self.params)?),
        };
        pass.absorb(&self.combinations, chunk)
    }

    fn finish(self) -> Result<Client> {
        let (got, need) = (self.absorbed(), self.params.table_bytes());
        let short = Misuse::NotPrepared { artifact: Artifact::Rows.name(), got, need };
        let PassOutput { ring, hint, digest } = self.pass.filter(|_| got == need).ok_or(short)?.finish();
        let encryption = LweVectorEncryptor::new(ring, self.params.blocks());
        Ok(Client { params: self.params, encryption, hint, combinations: self.combinations, digest })
    }
}

impl Prepare {
    fn absorbed(&self) -> u64 {
        self.pass.as_ref().map_or(0, TablePass::absorbed)
    }
}

/// A client that has seen the whole table once.
pub struct Client {
    params: Params,
    encryption: LweVectorEncryptor,
    /// The hint H, l rows of n words, which the client computed.
    hint: HugeWords,
    /// The secret matrix C.
    combinations: Combinations,
    /// The matrix Z = C D.
    digest: Digest,
}

/// The secret of one query: the mask H s, and the required combinations of the answer. The key s
/// itself is dropped already.
pub struct Pending {
    mask: Zeroizing<Vec<u32>>,
    /// The product Z c, which the answer has to match.
    due: CheckSums,
}

impl sotto_core::Client<VeriSimplePir> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    /// The paper's Query: a fresh secret s and `c = A s + e` plus Q/p times a unit vector, modulo Q.
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        let m = self.params.m();
        if index.0 >= m as u64 {
            return Err(Misuse::IndexPastEnd { index: index.0, len: m as u64 }.into());
        }
        let s = self.encryption.secret(rng);
        // Both are residues below 2^32.
        let words = self.encryption.unit(m, index.0 as u32, &s, rng, |word| word as u32);
        let pending =
            Pending { mask: mask(&self.hint, &s, |word| word as u32), due: self.digest.times(&words) };
        Ok((OneServer(Query(words)), pending))
    }

    /// The paper's Verify and Recover: nothing is read from an answer that is not D c.
    fn recover(&mut self, pending: Pending, OneServer(Answer(words)): OneServer<Answer>) -> Result<Record> {
        if words.len() != pending.mask.len() {
            return Err(Misuse::ForeignValue("ticket").into());
        }
        if !holds(&pending.due, &self.combinations.times(&words)) {
            return Err(Error::Unreadable);
        }
        let bytes = words.iter().zip(pending.mask.iter()).map(|(word, mask)| {
            let phase = ring::reduce(i64::from(*word) - i64::from(*mask));
            // Rounds to the nearest multiple of Q / 256.
            ring::switch(phase, 8) as u8
        });
        Ok(Record::new(bytes.collect()))
    }
}
