//! The client: the paper's preparation, Query, Verify and Recover.
//!
//! Beside the record past the end, which the frame refuses, one thing is seen of secrets: whether an
//! answer is refused.

use super::VeriSimplePir;
use super::check::{CheckSums, Combinations, Digest, PassOutput, TablePass, holds};
use sotto_core::{Artifact, ArtifactNeed, CryptoRng, Error, Misuse, Result};
use sotto_pages::HugeWords;
use sotto_silent::lwe::encrypt::{LweVectorEncryptor, mask};
use sotto_silent::lwe::ring;
use sotto_silent::message::Query;
use sotto_silent::{MatrixClient, Params, Preparation};
use zeroize::Zeroizing;

/// A client in preparation, which streams the table.
pub struct Streaming {
    combinations: Combinations,
    /// The pass; none before the first bytes, so that absurd parameters cost little.
    pass: Option<TablePass>,
}

impl Preparation<VeriSimplePir> for Streaming {
    fn begin(params: &Params<VeriSimplePir>, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Streaming { combinations: Combinations::draw(params, rng), pass: None })
    }

    fn needs(&self, params: &Params<VeriSimplePir>) -> Vec<ArtifactNeed> {
        vec![ArtifactNeed { artifact: Artifact::Rows, bytes: params.table_bytes() }]
    }

    fn absorb(&mut self, params: &Params<VeriSimplePir>, from: Artifact, chunk: &[u8]) -> Result<()> {
        let missing = params.table_bytes() - self.absorbed();
        if from != Artifact::Rows || chunk.len() as u64 > missing {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        let pass = match &mut self.pass {
            Some(pass) => pass,
            none => none.insert(TablePass::new(params)?),
        };
        pass.absorb(&self.combinations, chunk)
    }
}

impl Streaming {
    fn absorbed(&self) -> u64 {
        self.pass.as_ref().map_or(0, TablePass::absorbed)
    }
}

/// A client that has seen the whole table once.
pub struct Client {
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
pub struct Secret {
    mask: Zeroizing<Vec<u32>>,
    /// The product Z c, which the answer has to match.
    due: CheckSums,
}

impl MatrixClient<VeriSimplePir> for Client {
    type Pending = Secret;

    fn new(params: &Params<VeriSimplePir>, prepared: Streaming) -> Result<Self> {
        let (got, need) = (prepared.absorbed(), params.table_bytes());
        let short = Misuse::NotPrepared { artifact: Artifact::Rows.name(), got, need };
        let pass = prepared.pass.filter(|_| got == need).ok_or(short)?;
        let PassOutput { ring, hint, digest } = pass.finish();
        let encryption = LweVectorEncryptor::new(ring, params.blocks());
        Ok(Client { encryption, hint, combinations: prepared.combinations, digest })
    }

    /// The paper's Query: a fresh secret s and `c = A s + e` plus Q/p times a unit vector, modulo Q.
    fn query(
        &self,
        params: &Params<VeriSimplePir>,
        record: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, Secret)> {
        let s = self.encryption.secret(rng);
        let words = self.encryption.unit(params.records as usize, record as u32, &s, rng, |word| word);
        // Residues are below 2^32.
        let mask = mask(&self.hint, &s, |word| word as u32);
        let due = self.digest.times(&words);
        Ok((Query(vec![words]), Secret { mask, due }))
    }

    /// The paper's Verify and Recover: nothing is read from an answer that is not D c.
    fn recover(
        &self,
        _: &Params<VeriSimplePir>,
        Secret { mask, due }: Secret,
        answer: Vec<Vec<u64>>,
    ) -> Result<Vec<u8>> {
        let words = answer.first().filter(|words| words.len() == mask.len());
        let words = words.ok_or(Misuse::ForeignValue("pending query"))?;
        if !holds(&due, &self.combinations.times(words)) {
            return Err(Error::Unreadable);
        }
        let bytes = words.iter().zip(mask.iter()).map(|(word, mask)| {
            let phase = ring::reduce(*word as i64 - i64::from(*mask));
            // Rounds to the nearest multiple of Q / 256.
            ring::switch(phase, 8) as u8
        });
        Ok(bytes.collect())
    }
}
