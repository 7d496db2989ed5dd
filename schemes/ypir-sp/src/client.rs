//! The client: the paper's Query and Extract. It holds only public data, and every query has its own
//! secret.

use crate::YpirSp;
use sotto_core::{CryptoRng, Result, SumElement};
use sotto_lattice::secret::SecretKey;
use sotto_silent::masks::MaskDownload;
use sotto_silent::message::Query;
use sotto_silent::one_hot::OneHot;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::VectorEncryptor;
use sotto_silent::{MatrixClient, MatrixLiteral as _, Params, SumClient};

/// A client that holds the masks of a table's answers.
pub struct Client {
    encryption: VectorEncryptor,
    masks: Vec<Vec<u64>>,
}

impl MatrixClient<YpirSp> for Client {
    type Pending = SecretKey;

    fn new(params: &Params<YpirSp>, masks: MaskDownload) -> Result<Self> {
        let masks = masks.finish(&params.masks())?;
        Ok(Client { encryption: VectorEncryptor::new(params.records as usize, PlainModulus::BYTE)?, masks })
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
        let mut record = Vec::with_capacity(answer.len() * params.samples());
        for (mask, body) in self.masks.iter().zip(&answer) {
            let numbers = self.encryption.few_numbers(&secret, params.bits(), params.samples(), mask, body);
            record.extend(numbers.iter().map(|number| *number as u8));
        }
        Ok(record)
    }
}

impl SumClient<YpirSp> for Client {
    const UNIT: SumElement = SumElement::Byte;

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
        let sizes = (params.records as usize, params.samples());
        let (fields, secret) = self.encryption.sum(sizes, ones, params.bits(), rng);
        Ok((Query(fields), secret))
    }
}
