//! Queries and responses of tables, given the client's keys.

use crate::codec::Codec;
use crate::drbg::SEED_BYTES;
use crate::proto::{EncryptedIndices, PirResponse, SerializedCiphertextVec};
use rand_core::CryptoRng;
use sotto_bfv::mulpir::{EntryShape, Keys, ValueTable};
use sotto_bfv::mulpir::{entry, query_plaintexts};
use sotto_core::{Misuse, PeerMisbehaved, Result};
use sotto_lattice::bgv::SecretKey;
use sotto_lattice::bgv::bfv::{decrypt, encrypt};
use sotto_lattice::encrypt::ErrorSource;
use sotto_math::sample::Gaussian;
use zeroize::Zeroizing;

/// Largest size of a query's message in bytes.
pub fn most_bytes(codec: &Codec, shape: &EntryShape) -> usize {
    let ciphertexts = shape.outputs().div_ceil(codec.kit().degree());
    ciphertexts * (codec.poly_bytes(codec.top()) + SEED_BYTES + 32) + 32
}

/// Approximate size of an answer's message in bytes.
pub fn answer_bytes(codec: &Codec, shape: &EntryShape) -> usize {
    shape.batch() * shape.chunks() * (codec.answer_bytes() + 16)
}

impl Codec {
    /// Checks that a query has as many parts as tables of this shape require. Code that stores
    /// queries before they are answered calls this first: empty parts take many times their bytes
    /// in memory.
    pub(crate) fn count(&self, query: &EncryptedIndices, shape: &EntryShape) -> Result<(), PeerMisbehaved> {
        let count = |what, got: u64, want: usize| match got == want as u64 {
            true => Ok(()),
            false => Err(PeerMisbehaved::Count { what, got, want: want as u64 }),
        };
        count("entries", query.num_pir_calls, shape.batch())?;
        count("ciphertexts", query.ciphertexts.len() as u64, shape.outputs().div_ceil(self.kit().degree()))
    }

    /// Answers a query: its entry `j` is for table `j`, or for the only one.
    ///
    /// # Errors
    /// [`Peer`](sotto_core::Error::Peer) if the query does not fit tables of this shape; `Misuse`
    /// if the tables differ in shape.
    pub fn answer(
        &self,
        keys: &Keys,
        query: &EncryptedIndices,
        tables: &[&ValueTable],
    ) -> Result<PirResponse> {
        let shape = *tables.first().ok_or(Misuse::Rule("the query needs at least one table"))?.shape();
        self.count(query, &shape)?;
        let ciphers = query.ciphertexts.iter().map(|c| self.take_fresh(c)).collect::<Result<Vec<_>, _>>()?;
        let replies = self.kit().answer(keys, &ciphers, tables)?;
        let reply = |chunks: &Vec<[Vec<u64>; 2]>| SerializedCiphertextVec {
            ciphertexts: chunks.iter().map(|parts| self.put_answer(parts)).collect(),
        };
        Ok(PirResponse { replies: replies.iter().map(reply).collect() })
    }

    /// Makes a query for some entries, as many as a query of this shape has, in a time that does
    /// not depend on which.
    ///
    /// # Errors
    /// [`Misuse`] if their number differs, or if one is past the end.
    pub fn query(
        &self,
        secret: &SecretKey,
        shape: &EntryShape,
        entries: &[usize],
        rng: &mut dyn CryptoRng,
    ) -> Result<EncryptedIndices> {
        if entries.len() != shape.batch() || entries.iter().any(|entry| *entry >= shape.entries()) {
            return Err(Misuse::Rule("expected one entry of the table for each selector of the query").into());
        }
        let law = Gaussian::new(sotto_bfv::rings::SIGMA);
        let mut ciphertexts = Vec::new();
        for coefficients in query_plaintexts(self.kit(), shape, entries) {
            let mut seed = [0; SEED_BYTES];
            rng.fill_bytes(&mut seed);
            let mask = self.mask(self.top(), &seed);
            let mut errors = ErrorSource { law: &law, rng: &mut *rng };
            let body = encrypt(self.kit().ring(), secret, &mask, &coefficients, &mut errors);
            ciphertexts.push(self.put_fresh(&body, &seed));
        }
        Ok(EncryptedIndices { ciphertexts, num_pir_calls: entries.len() as u64 })
    }

    /// Recovers the requested entries, in a time that does not depend on which those are.
    ///
    /// # Errors
    /// [`Peer`](sotto_core::Error::Peer) if the response does not fit a query of this shape.
    pub fn open(
        &self,
        secret: &SecretKey,
        shape: &EntryShape,
        entries: &[usize],
        response: &PirResponse,
    ) -> Result<Vec<Zeroizing<Vec<u8>>>> {
        let count = |what, got: usize, want: usize| match got == want {
            true => Ok(()),
            false => Err(PeerMisbehaved::Count { what, got: got as u64, want: want as u64 }),
        };
        count("replies", response.replies.len(), entries.len())?;
        let mut out = Vec::with_capacity(entries.len());
        for (i, reply) in entries.iter().zip(&response.replies) {
            count("ciphertexts", reply.ciphertexts.len(), shape.chunks())?;
            let mut plaintexts = Vec::with_capacity(reply.ciphertexts.len());
            for c in &reply.ciphertexts {
                let [first, second] = self.take_answer(c)?;
                plaintexts.push(decrypt(self.kit().ring(), secret, [&first, &second]));
            }
            out.push(entry(self.kit(), shape, *i, &plaintexts));
        }
        Ok(out)
    }
}
