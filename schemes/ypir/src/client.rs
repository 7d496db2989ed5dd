//! The client: the paper's Query and Extract. It holds only public data, and every query has its own
//! secrets.

use crate::Ypir;
use sotto_core::{CryptoRng, Result};
use sotto_lattice::secret::SecretKey;
use sotto_silent::lattice::N;
use sotto_silent::lwe::encrypt::LweVectorEncryptor;
use sotto_silent::lwe::ring::{self, Ring, switch};
use sotto_silent::masks::MaskDownload;
use sotto_silent::message::Query;
use sotto_silent::one_hot::OneHot;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::two_pass::record;
use sotto_silent::unit_vector::{VectorEncryptor, bytes_of};
use sotto_silent::{MatrixClient, MatrixLiteral as _, Params};
use zeroize::Zeroizing;

/// A client that holds the masks of a table's answers.
pub struct Client {
    /// The encryptor of the first pass, followed by that of the second.
    first: LweVectorEncryptor,
    second: VectorEncryptor,
    masks: Vec<Vec<u64>>,
}

/// The secrets of both vectors of one query, which are wiped when dropped.
pub struct Secrets {
    first: Zeroizing<Vec<i32>>,
    second: SecretKey,
}

impl MatrixClient<Ypir> for Client {
    type Pending = Secrets;

    fn new(params: &Params<Ypir>, masks: MaskDownload) -> Result<Self> {
        let blocks = params.cut().columns().div_ceil(ring::N as u64) as usize;
        let first = LweVectorEncryptor::new(Ring::new()?, blocks);
        let second = VectorEncryptor::new(params.blocks as usize, PlainModulus::PAIR)?;
        Ok(Client { first, second, masks: masks.finish(&params.masks())? })
    }

    /// The paper's Query: two encrypted unit vectors under a fresh secret each, and the packing keys of
    /// the second.
    fn query(&self, params: &Params<Ypir>, record: u64, rng: &mut dyn CryptoRng) -> Result<(Query, Secrets)> {
        let (cut, [bits, _]) = (params.cut(), params.query_bits.map(u32::from));
        let [column, block] = cut.place(record);
        let first = self.first.secret(rng);
        let columns = cut.columns() as usize;
        let mut fields =
            vec![self.first.unit(columns, column, &first, rng, |word| switch(word, bits).into())];
        let one = OneHot::new(block, 1);
        let (vector_and_keys, second) = self.second.sum((cut.blocks as usize, N), one, params.bits(), rng);
        fields.extend(vector_and_keys);
        Ok((Query(fields), Secrets { first, second }))
    }

    /// The paper's Extract, from the second level to the first: the numbers of rounded hint rows and
    /// the fresh ones, then the record that they stand for.
    fn recover(&self, params: &Params<Ypir>, secrets: Secrets, answer: Vec<Vec<u64>>) -> Result<Vec<u8>> {
        let numbers = |mask: &[u64], body: &[u64]| {
            self.second.few_numbers(&secrets.second, params.bits(), N, mask, body)
        };
        let (packed, fresh) = answer.split_at(params.groups() as usize);
        let mut hint = Zeroizing::new(Vec::with_capacity(params.cut().second_rows() as usize));
        for (mask, body) in self.masks.iter().zip(packed) {
            hint.extend(numbers(mask, body).iter().flat_map(|number| bytes_of(*number)));
        }
        let mut words = Zeroizing::new(Vec::with_capacity(params.record_bytes as usize));
        for [mask, body] in fresh.as_chunks().0 {
            words.extend_from_slice(&numbers(mask, body));
        }
        Ok(record(&hint, &words, &secrets.first))
    }
}
