//! The client: the paper's Query and Extract. It holds only public data, and every query has its own
//! secret.

use crate::YpirSp;
use sotto_core::{CryptoRng, Misuse, Result, SumElement};
use sotto_lattice::secret::SecretKey;
use sotto_silent::masks::MaskDownload;
use sotto_silent::message::Query;
use sotto_silent::nibbles::byte_of;
use sotto_silent::one_hot::OneHot;
use sotto_silent::unit_vector::VectorEncryptor;
use sotto_silent::{BatchClient, MatrixClient, MatrixLiteral as _, Params, SumClient};

/// A client that holds the masks of a table's answers.
pub struct Client {
    encryption: VectorEncryptor,
    masks: Vec<Vec<u64>>,
}

impl MatrixClient<YpirSp> for Client {
    type Pending = SecretKey;

    fn new(params: &Params<YpirSp>, masks: MaskDownload) -> Result<Self> {
        let masks = masks.finish(&params.masks())?;
        let sizes = (params.buckets() as usize, params.words() as usize);
        let encryption = VectorEncryptor::of_buckets(sizes, params.plain())?;
        Ok(Client { encryption: encryption.of_blocks(params.block as usize), masks })
    }

    fn query(
        &self,
        params: &Params<YpirSp>,
        record: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, SecretKey)> {
        Ok(self.sum(params, OneHot::new(record as u32, 1), rng))
    }

    /// The sum of the buckets' records: all vectors but that of the record's bucket are of zeros. So the
    /// record of a bucket is selected by no secret.
    fn recover(&self, params: &Params<YpirSp>, secret: SecretKey, answer: Vec<Vec<u64>>) -> Result<Vec<u8>> {
        let mut records = self.recover_buckets(params, secret, answer)?.into_iter();
        let mut sum = records.next().unwrap_or_default();
        for record in records {
            sum.iter_mut().zip(record).for_each(|(sum, byte)| *sum = sum.wrapping_add(byte));
        }
        Ok(sum)
    }
}

impl BatchClient<YpirSp> for Client {
    /// The paper's Query for each bucket, under one fresh secret, and the packing keys of that secret.
    fn query_buckets(
        &self,
        params: &Params<YpirSp>,
        places: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, SecretKey)> {
        let (fields, secret) = self.encryption.one_each(sizes(params), places, params.bits(), rng);
        Ok((Query(fields), secret))
    }

    /// The paper's Extract: decrypt each packed ciphertext, and round to the nearest number.
    fn recover_buckets(
        &self,
        params: &Params<YpirSp>,
        secret: SecretKey,
        answer: Vec<Vec<u64>>,
    ) -> Result<Vec<Vec<u8>>> {
        let groups = params.groups() as usize;
        let record = |(masks, bodies): (&[Vec<u64>], &[Vec<u64>])| {
            let mut record = Vec::with_capacity(groups * params.samples());
            for (mask, body) in masks.iter().zip(bodies) {
                let numbers =
                    self.encryption.few_numbers(&secret, params.bits(), params.samples(), mask, body);
                let numbers = numbers.iter().map(|number| *number as u8);
                let mut group: Vec<u8> = match params.number_bits {
                    4 => numbers.clone().step_by(2).zip(numbers.skip(1).step_by(2)).map(byte_of).collect(),
                    _ => numbers.collect(),
                };
                params.short_blocks().iter().for_each(|blocks| blocks.change_signs(&mut group));
                record.append(&mut group);
            }
            record
        };
        Ok(self.masks.chunks(groups).zip(answer.chunks(groups)).map(record).collect())
    }
}

/// Words of a vector, and numbers that are packed together.
fn sizes(params: &Params<YpirSp>) -> (usize, usize) {
    (params.words() as usize, params.samples())
}

impl SumClient<YpirSp> for Client {
    const UNIT: SumElement = SumElement::Byte;

    fn query_sum(
        &self,
        params: &Params<YpirSp>,
        first: u64,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, SecretKey)> {
        // What is left of records at lower scales would add up.
        if params.scales.is_some() {
            return Err(
                Misuse::Rule("a table with records at several scales must be asked for no sums").into()
            );
        }
        Ok(self.sum(params, OneHot::new(first as u32, ones), rng))
    }
}

impl Client {
    /// The paper's Query: an encrypted unit vector under a fresh secret, and the packing keys of that
    /// secret.
    fn sum(&self, params: &Params<YpirSp>, ones: OneHot, rng: &mut dyn CryptoRng) -> (Query, SecretKey) {
        let (fields, secret) = self.encryption.sum(sizes(params), ones, params.bits(), rng);
        (Query(fields), secret)
    }
}
