//! The client: query and recover. It holds only public data, and every query has its own secret.
//!
//! No branch, index or allocation depends on the requested index or on a secret; the only exception
//! is refusing an index past the end.

use crate::YpirSp;
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::{CryptoRng, Misuse, OneServer, Record, RecordIndex, Result, SumElement, SumScheme};
use sotto_lattice::secret::SecretKey;
use sotto_silent::one_hot::OneHot;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{VectorEncryptor, bytes_of};

/// A client in preparation, which needs no artifact.
pub struct Prepare {
    params: Params,
}

impl sotto_core::Prepare<YpirSp> for Prepare {
    fn begin(params: &Params, _rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { params: params.clone() })
    }

    fn finish(self) -> Result<Client> {
        let encryption = VectorEncryptor::new(self.params.m(), PlainModulus::BYTES)?;
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

impl sotto_core::Client<YpirSp> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    /// The paper's Query: an encrypted unit vector under a fresh secret, and the packing keys of that secret.
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        YpirSp::query_sum(self, index, 1, rng)
    }

    /// The paper's Extract: decrypt each packed ciphertext, and round to the nearest number.
    fn recover(&mut self, pending: Pending, OneServer(Answer(groups)): OneServer<Answer>) -> Result<Record> {
        if groups.len() != self.params.groups() {
            return Err(Misuse::ForeignValue("ticket").into());
        }
        let (bits, l) = (self.params.bits(), self.params.l());
        let mut record = Vec::with_capacity(l.next_multiple_of(2));
        for [mask, body] in &groups {
            let numbers = self.encryption.numbers(&pending.secret, bits, mask, body);
            let missing = l.saturating_sub(record.len()).div_ceil(2);
            record.extend(numbers.iter().take(missing).flat_map(|number| bytes_of(*number)));
        }
        record.truncate(l);
        Ok(Record::new(record))
    }
}

impl SumScheme for YpirSp {
    const UNIT: SumElement = SumElement::Pair;

    fn query_sum(
        client: &mut Client,
        first: RecordIndex,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(OneServer<Query>, Pending)> {
        let Client { params, encryption } = client;
        let m = params.m();
        if first.0 >= m as u64 {
            return Err(Misuse::IndexPastEnd { index: first.0, len: m as u64 }.into());
        }
        let (encrypted, secret) = encryption.sum(m, OneHot::new(first.0 as u32, ones), params.bits(), rng);
        Ok((OneServer(Query { words: encrypted.words, keys: encrypted.keys }), Pending { secret }))
    }
}
