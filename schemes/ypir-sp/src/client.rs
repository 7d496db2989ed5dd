//! The client: the paper's Query and Extract. It holds only public data, and every query has its own
//! secret.

use crate::YpirSp;
use sotto_core::{CryptoRng, Result, SumElement};
use sotto_lattice::secret::SecretKey;
use sotto_silent::message::Query;
use sotto_silent::one_hot::OneHot;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{VectorEncryptor, bytes_of};
use sotto_silent::{MatrixClient, Params, SumClient};

/// A client, which is ready without preparation.
pub struct Client {
    encryption: VectorEncryptor,
}

impl MatrixClient<YpirSp> for Client {
    type Pending = SecretKey;

    fn new(params: &Params<YpirSp>, (): ()) -> Result<Self> {
        Ok(Client { encryption: VectorEncryptor::new(params.records as usize, PlainModulus::BYTES)? })
    }

    fn query(
        &self,
        params: &Params<YpirSp>,
        record: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, SecretKey)> {
        self.query_sum(params, record, 1, rng)
    }

    /// The paper's Extract: decrypt each packed ciphertext, and round to the nearest number.
    fn recover(&self, params: &Params<YpirSp>, secret: SecretKey, answer: Vec<Vec<u64>>) -> Result<Vec<u8>> {
        let mut record = Vec::with_capacity(params.record_bytes.next_multiple_of(2) as usize);
        for [mask, body] in answer.as_chunks().0 {
            let numbers = self.encryption.numbers(&secret, params.bits(), mask, body);
            let missing = (params.record_bytes as usize - record.len()).div_ceil(2);
            record.extend(numbers.iter().take(missing).flat_map(|number| bytes_of(*number)));
        }
        Ok(record)
    }
}

impl SumClient<YpirSp> for Client {
    const UNIT: SumElement = SumElement::Pair;

    /// The paper's Query: an encrypted unit vector under a fresh secret, and the packing keys of that
    /// secret.
    fn query_sum(
        &self,
        params: &Params<YpirSp>,
        first: u64,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, SecretKey)> {
        let ones = OneHot::new(first as u32, ones);
        let (fields, secret) = self.encryption.sum(params.records as usize, ones, params.bits(), rng);
        Ok((Query(fields), secret))
    }
}
