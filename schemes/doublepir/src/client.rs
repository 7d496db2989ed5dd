//! The client: absorb the hint of the second matrix, query, recover.
//!
//! No branch, index or allocation depends on the requested index or on a secret; the only exception
//! is refusing an index past the end.

use crate::DoublePir;
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::{
    Artifact, ArtifactNeed, CryptoRng, Misuse, OneServer, Params as _, Record, RecordIndex, Result,
};
use sotto_pages::HugeWords;
use sotto_silent::lwe::encrypt::{LweVectorEncryptor, mask, read, rounded_mask};
use sotto_silent::lwe::hint::HintDownload;
use sotto_silent::lwe::ring::{N, Ring, switch};
use sotto_silent::two_pass::record;
use zeroize::Zeroizing;

/// A client in preparation, which downloads its hint.
pub struct Prepare {
    params: Params,
    hint: HintDownload,
}

impl sotto_core::Prepare<DoublePir> for Prepare {
    fn begin(params: &Params, _rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { params: params.clone(), hint: HintDownload::new(params.literal().hint_bytes()) })
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        vec![self.hint.need()]
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        self.hint.absorb(from, chunk)
    }

    fn finish(self) -> Result<Client> {
        let hint = self.hint.finish()?;
        let cut = self.params.cut();
        // Both vectors are encrypted under the first rows of one matrix.
        let blocks = cut.columns().max(cut.blocks).div_ceil(N as u64);
        let encryption = LweVectorEncryptor::new(Ring::new()?, blocks as usize);
        Ok(Client { params: self.params, encryption, hint })
    }
}

/// A client that holds the hint of the second matrix.
pub struct Client {
    params: Params,
    encryption: LweVectorEncryptor,
    hint: HugeWords,
}

/// The secrets of one query.
pub struct Pending {
    /// The secrets of both vectors.
    secrets: [Zeroizing<Vec<i32>>; 2],
    /// The hint times the second secret, switched to modulus 2^32.
    mask: Zeroizing<Vec<u32>>,
}

impl sotto_core::Client<DoublePir> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    /// The paper's Query: two encrypted unit vectors, under a fresh secret each.
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        let cut = self.params.cut();
        if index.0 >= cut.records {
            return Err(Misuse::IndexPastEnd { index: index.0, len: cut.records }.into());
        }
        let [column, block] = cut.place(index.0);
        let [first, second] = self.params.query_bits();
        let mut encrypted = |words: u64, place, bits| {
            let secret = self.encryption.secret(rng);
            (self.encryption.unit(words as usize, place, &secret, rng, |word| switch(word, bits)), secret)
        };
        let (columns, s1) = encrypted(cut.columns(), column, first);
        let (blocks, s2) = encrypted(cut.blocks, block, second);
        let mask = mask(&self.hint, &s2, |word| switch(word, 32));
        Ok((OneServer(Query([columns, blocks])), Pending { secrets: [s1, s2], mask }))
    }

    /// The paper's Recover, from the second level to the first: the bytes of rounded hint rows and of fresh words, then the
    /// record that they stand for.
    fn recover(&mut self, pending: Pending, OneServer(answer): OneServer<Answer>) -> Result<Record> {
        let rows = self.params.literal().fresh_rows() as usize;
        let [s1, s2] = &pending.secrets;
        let lengths = (answer.words.len(), answer.masks.len());
        if lengths != (pending.mask.len() + rows, rows * N) {
            return Err(Misuse::ForeignValue("ticket").into());
        }
        let (fixed, fresh) = answer.words.split_at(pending.mask.len());
        let bits = self.params.answer_bits();
        let hint: Zeroizing<Vec<u8>> = Zeroizing::new(read(fixed, &pending.mask, bits).collect());
        let masks = answer.masks.chunks_exact(N).map(|row| rounded_mask(row, self.params.mask_bits(), s2));
        let masks: Zeroizing<Vec<u32>> = Zeroizing::new(masks.collect());
        let bytes: Zeroizing<Vec<u8>> = Zeroizing::new(read(fresh, &masks, bits).collect());
        let (low, high) = bytes.split_at(rows / 2);
        let words = low.iter().zip(high).map(|(low, high)| u16::from_le_bytes([*low, *high]));
        let words: Zeroizing<Vec<u16>> = Zeroizing::new(words.collect());
        Ok(Record::new(record(&hint, &words, s1).to_vec()))
    }
}
