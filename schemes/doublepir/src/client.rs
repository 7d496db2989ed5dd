//! The client: the paper's Query and Recover.

use crate::DoublePir;
use sotto_core::{CryptoRng, Misuse, Result};
use sotto_pages::HugeWords;
use sotto_silent::lwe::encrypt::{LweVectorEncryptor, mask, read, rounded_mask};
use sotto_silent::lwe::hint::HintDownload;
use sotto_silent::lwe::ring::{N, Ring, switch};
use sotto_silent::message::Query;
use sotto_silent::two_pass::record;
use sotto_silent::{MatrixClient, Params};
use zeroize::Zeroizing;

/// A client that holds the hint of the second matrix.
pub struct Client {
    encryption: LweVectorEncryptor,
    hint: HugeWords,
}

/// The secrets of one query.
pub struct Secrets {
    /// The secrets of both vectors.
    secrets: [Zeroizing<Vec<i32>>; 2],
    /// The hint times the second secret, switched to modulus 2^32.
    mask: Zeroizing<Vec<u32>>,
}

impl MatrixClient<DoublePir> for Client {
    type Pending = Secrets;

    fn new(params: &Params<DoublePir>, hint: HintDownload) -> Result<Self> {
        let (hint, cut) = (hint.finish()?, params.cut());
        // Both vectors are encrypted under the first rows of one matrix.
        let blocks = cut.columns().max(cut.blocks).div_ceil(N as u64);
        Ok(Client { encryption: LweVectorEncryptor::new(Ring::new()?, blocks as usize), hint })
    }

    /// The paper's Query: two encrypted unit vectors, under a fresh secret each.
    fn query(
        &self,
        params: &Params<DoublePir>,
        record: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, Secrets)> {
        let (cut, [first, second]) = (params.cut(), params.query_bits.map(u32::from));
        let [column, block] = cut.place(record);
        let mut encrypted = |words: u64, place, bits| {
            let secret = self.encryption.secret(rng);
            let to = |word| switch(word, bits).into();
            (self.encryption.unit(words as usize, place, &secret, rng, to), secret)
        };
        let (columns, s1) = encrypted(cut.columns(), column, first);
        let (blocks, s2) = encrypted(cut.blocks, block, second);
        let mask = mask(&self.hint, &s2, |word| switch(word, 32));
        Ok((Query(vec![columns, blocks]), Secrets { secrets: [s1, s2], mask }))
    }

    /// The paper's Recover, from the second level to the first: the bytes of rounded hint rows and of
    /// fresh words, then the record that they stand for.
    fn recover(
        &self,
        params: &Params<DoublePir>,
        Secrets { secrets: [s1, s2], mask }: Secrets,
        answer: Vec<Vec<u64>>,
    ) -> Result<Vec<u8>> {
        let [words, masks] = answer.as_slice() else {
            return Err(Misuse::ForeignValue("pending query").into());
        };
        let (fixed, fresh) =
            words.split_at_checked(mask.len()).ok_or(Misuse::ForeignValue("pending query"))?;
        let (bits, mask_bits) = (params.answer_bits.into(), params.mask_bits.into());
        let hint: Zeroizing<Vec<u8>> = Zeroizing::new(read(fixed, &mask, bits).collect());
        let masks = masks.chunks_exact(N).map(|row| rounded_mask(row, mask_bits, &s2));
        let masks: Zeroizing<Vec<u32>> = Zeroizing::new(masks.collect());
        let bytes: Zeroizing<Vec<u8>> = Zeroizing::new(read(fresh, &masks, bits).collect());
        let (low, high) = bytes.split_at(bytes.len() / 2);
        let words = low.iter().zip(high).map(|(low, high)| u16::from_le_bytes([*low, *high]));
        let words: Zeroizing<Vec<u16>> = Zeroizing::new(words.collect());
        Ok(record(&hint, &words, &s1))
    }
}
