//! The client: query and recover. It holds only public data, and every query has its own secret.
//!
//! No branch, index or allocation depends on the requested index or on a secret; the only exception
//! is refusing an index past the end.

use crate::InspireTwo;
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::{CryptoRng, Misuse, OneServer, Params as _, Record, RecordIndex, Result};
use sotto_lattice::secret::SecretKey;
use sotto_math::bits;
use sotto_silent::lattice::N;
use sotto_silent::one_hot::OneHot;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{MessageBits, VectorEncryptor, bytes_of};
use zeroize::Zeroizing;

/// A client in preparation, which needs no artifact.
pub struct Prepare {
    params: Params,
}

impl sotto_core::Prepare<InspireTwo> for Prepare {
    fn begin(params: &Params, _rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { params: params.clone() })
    }

    fn finish(self) -> Result<Client> {
        let encryption =
            VectorEncryptor::several(&[self.params.columns(), self.params.picks()], PlainModulus::BYTES)?;
        Ok(Client { params: self.params, encryption })
    }
}

/// A client, which is ready without preparation.
pub struct Client {
    params: Params,
    encryption: VectorEncryptor,
}

/// The secret of one query, which is wiped when dropped.
pub struct Pending {
    secret: SecretKey,
}

impl sotto_core::Client<InspireTwo> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    /// The paper's Query: encrypted unit vectors for column and block under one fresh secret, and its packing key.
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        let params = &self.params;
        if index.0 >= params.records() {
            return Err(Misuse::IndexPastEnd { index: index.0, len: params.records() }.into());
        }
        // The number of blocks is a power of two: no division, whose time would depend on the
        // index.
        let places = [index.0 >> params.blocks().ilog2(), index.0 & (params.blocks() as u64 - 1)];
        let secret = self.encryption.secret(rng);
        let [first, second] = params.bits();
        let mut vector = |which, words, place: u64, bits| {
            self.encryption.vector(which, words, OneHot::new(place as u32, 1), bits, &secret, rng)
        };
        let vectors =
            [vector(0, params.columns(), places[0], first), vector(1, params.picks(), places[1], second)];
        let key = self.encryption.key(&secret, first, rng);
        Ok((OneServer(Query { vectors, key }), Pending { secret }))
    }

    /// The paper's Extract: decrypt the second layer, assemble the first layer's ciphertext, and
    /// decrypt that.
    fn recover(&mut self, pending: Pending, OneServer(Answer(answer)): OneServer<Answer>) -> Result<Record> {
        let (params, secret) = (&self.params, &pending.secret);
        if answer.len() != params.literal().parts().len() {
            return Err(Misuse::ForeignValue("ticket").into());
        }
        let [bits, _] = params.bits();
        let numbers = match answer.as_slice() {
            [[mask, body]] => self.numbers(secret, bits, mask, body),
            picked => {
                let [mask, body] = self.picked(secret, picked)?;
                self.numbers(secret, bits, &mask, &body)
            }
        };
        let mut record: Vec<u8> = numbers.iter().flat_map(|number| bytes_of(*number)).collect();
        record.truncate(params.record_bytes());
        Ok(Record::new(record))
    }
}

impl Client {
    /// The size of a packing is the next power of two.
    fn numbers(
        &self,
        secret: &SecretKey,
        bits: MessageBits,
        mask: &[u64],
        body: &[u64],
    ) -> Zeroizing<Vec<u16>> {
        self.encryption.few_numbers(secret, bits, body.len().next_power_of_two(), mask, body)
    }

    /// The first layer's ciphertext of the selected block.
    fn picked(&self, secret: &SecretKey, answer: &[[Vec<u64>; 2]]) -> Result<[Zeroizing<Vec<u64>>; 2]> {
        let (params, [first, second]) = (&self.params, self.params.bits());
        let [of_masks, _] = params.groups();
        let (of_masks, of_bodies) = answer.split_at(of_masks.len());
        let mut mask = Zeroizing::new(Vec::with_capacity(params.literal().masks().rows()));
        for [a, b] in of_masks {
            mask.extend(self.numbers(secret, second, a, b).iter().flat_map(|number| bytes_of(*number)));
        }
        // Zeros follow the last body, so that eight of them at a time are whole bytes.
        let count = params.numbers().next_multiple_of(8);
        let whole = count / 8 * first.body as usize;
        let mut body = Zeroizing::new(Vec::with_capacity(whole + 2));
        for [a, b] in of_bodies {
            body.extend(self.numbers(secret, second, a, b).iter().flat_map(|number| number.to_le_bytes()));
        }
        body.truncate(params.body_bytes());
        body.resize(whole, 0);
        let unpack = |bytes: &[u8], width, count| {
            let words = bits::unpack_words(bytes, width, count);
            words.map(Zeroizing::new).ok_or(Misuse::Rule("the words must fill whole bytes"))
        };
        let mut body = unpack(&body, first.body, count)?;
        body.truncate(params.numbers());
        Ok([unpack(&mask, first.mask, N)?, body])
    }
}
