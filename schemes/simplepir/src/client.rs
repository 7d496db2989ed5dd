//! The client: the paper's Query and Recover.

use crate::SimplePir;
use sotto_core::{CryptoRng, Misuse, Result, SumElement};
use sotto_pages::HugeWords;
use sotto_silent::lwe::dense::DenseLwe;
use sotto_silent::lwe::encrypt::{LweVectorEncryptor, mask, read};
use sotto_silent::lwe::hint::HintDownload;
use sotto_silent::lwe::ring::{N, Ring, switch};
use sotto_silent::message::Query;
use sotto_silent::one_hot::OneHot;
use sotto_silent::{MatrixClient, Params, SumClient};
use zeroize::Zeroizing;

/// A client that holds a hint.
pub struct Client {
    lattice: LatticeKind,
    /// The hint H, l rows of n words.
    hint: HugeWords,
}

/// The lattice of a client, with its encryption.
enum LatticeKind {
    Ring(Box<LweVectorEncryptor>),
    Dense(DenseLwe),
}

/// The mask H s of one query, switched to modulus 2^32. The key s itself is dropped already.
type Mask = Zeroizing<Vec<u32>>;

impl MatrixClient<SimplePir> for Client {
    type Pending = Mask;

    fn new(params: &Params<SimplePir>, hint: HintDownload) -> Result<Self> {
        let (hint, blocks) = (hint.finish()?, params.records.div_ceil(N as u64) as usize);
        let lattice = match params.dense() {
            None => LatticeKind::Ring(Box::new(LweVectorEncryptor::new(Ring::new()?, blocks))),
            Some(dense) => LatticeKind::Dense(dense),
        };
        Ok(Client { lattice, hint })
    }

    fn query(
        &self,
        params: &Params<SimplePir>,
        record: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, Mask)> {
        self.query_sum(params, record, 1, rng)
    }

    /// The paper's Recover: subtract the mask and round to the nearest byte.
    fn recover(&self, params: &Params<SimplePir>, mask: Mask, answer: Vec<Vec<u64>>) -> Result<Vec<u8>> {
        let words = answer.first().filter(|words| words.len() == mask.len());
        let words = words.ok_or(Misuse::ForeignValue("pending query"))?;
        Ok(read(words, &mask, params.answer_bits.into()).collect())
    }
}

impl SumClient<SimplePir> for Client {
    const UNIT: SumElement = SumElement::Byte;

    /// The paper's Query: a fresh secret s and `c = A s + e` plus Q/p times a unit vector, switched to
    /// 2^b.
    fn query_sum(
        &self,
        params: &Params<SimplePir>,
        first: u64,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, Mask)> {
        let (m, b, ones) = (params.records as usize, params.query_bits, OneHot::new(first as u32, ones));
        let (words, mask) = match &self.lattice {
            LatticeKind::Ring(encryption) => {
                let s = encryption.secret(rng);
                let words = encryption.sum(m, ones, &s, rng, |word| switch(word, b.into()).into());
                (words, mask(&self.hint, &s, |word| switch(word, 32)))
            }
            LatticeKind::Dense(dense) => {
                let s = dense.secret(rng);
                let words = dense.sum(&params.seed, m, ones, &s, rng);
                (words.into_iter().map(u64::from).collect(), dense.mask(&self.hint, &s))
            }
        };
        Ok((Query(vec![words]), mask))
    }
}
