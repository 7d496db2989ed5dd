//! The client: query and recover. It holds only public data, and every query has its own secret.
//!
//! No branch, index or allocation depends on the requested index or on a secret; the only exception
//! is refusing an index past the end. Column and place are bits of the index, since the number of
//! places is a power of two.

use crate::Inspire;
use crate::message::{Answer, Query};
use crate::numbers::{NUMBER_BITS, PLAIN};
use crate::params::Params;
use crate::selector::RootEncryptor;
use sotto_core::{CryptoRng, Misuse, OneServer, Params as _, Record, RecordIndex, Result};
use sotto_lattice::secret::SecretKey;
use sotto_math::bits::pack16;
use sotto_silent::lattice::N;
use sotto_silent::unit_vector::VectorEncryptor;
use zeroize::Zeroizing;

/// A client in preparation, which needs no artifact.
pub struct Prepare {
    params: Params,
}

impl sotto_core::Prepare<Inspire> for Prepare {
    fn begin(params: &Params, _rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { params: params.clone() })
    }

    fn finish(self) -> Result<Client> {
        let encryption = VectorEncryptor::new(self.params.m(), PLAIN)?;
        let selector = RootEncryptor::new(self.params.places())?;
        Ok(Client { params: self.params, encryption, selector })
    }
}

/// A client, which is ready without preparation.
pub struct Client {
    params: Params,
    encryption: VectorEncryptor,
    selector: RootEncryptor,
}

/// The secret of one query, which is wiped when dropped.
pub struct Pending {
    secret: SecretKey,
}

impl sotto_core::Client<Inspire> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    /// The paper's Query: an encrypted unit vector under a fresh secret with the packing keys of
    /// that secret, and the root of the requested place under the same secret.
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        let (params, records) = (&self.params, self.params.literal().records);
        if index.0 >= records {
            return Err(Misuse::IndexPastEnd { index: index.0, len: records }.into());
        }
        let places = params.places();
        let column = (index.0 >> places.ilog2()) as u32;
        let place = index.0 as u32 & (places as u32 - 1);
        let (encrypted, secret) = self.encryption.unit(params.m(), column, params.bits(), rng);
        let ring = self.encryption.ring();
        let selector = self.selector.encrypt(ring, &secret, place, params.selector_bits(), rng);
        Ok((OneServer(Query { words: encrypted.words, keys: encrypted.keys, selector }), Pending { secret }))
    }

    /// The paper's Extract: decrypt each ciphertext, and round to the nearest number.
    fn recover(&mut self, pending: Pending, OneServer(Answer(groups)): OneServer<Answer>) -> Result<Record> {
        let params = &self.params;
        if groups.len() != params.groups() {
            return Err(Misuse::ForeignValue("ticket").into());
        }
        let mut numbers = Zeroizing::new(Vec::with_capacity(groups.len() * N));
        for [mask, body] in &groups {
            let group = self.encryption.numbers(&pending.secret, params.bits(), mask, body);
            numbers.extend_from_slice(&group);
        }
        let mut record = Vec::new();
        pack16(&numbers, NUMBER_BITS, &mut record);
        record.truncate(params.literal().record_bytes as usize);
        Ok(Record::new(record))
    }
}
