//! The client: query and recover. It holds only public data, and every query has its own secrets.
//!
//! No branch, index or allocation depends on the requested index or on a secret; the only exception
//! is refusing an index past the end.

use crate::Ypir;
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::{CryptoRng, Misuse, OneServer, Params as _, Record, RecordIndex, Result};
use sotto_lattice::secret::SecretKey;
use sotto_silent::lattice::N;
use sotto_silent::lwe;
use sotto_silent::lwe::ring::{Ring, switch};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::two_pass::record;
use sotto_silent::unit_vector::{VectorEncryptor, bytes_of};
use zeroize::Zeroizing;

/// A client in preparation, which needs no artifact.
pub struct Prepare {
    params: Params,
}

impl sotto_core::Prepare<Ypir> for Prepare {
    fn begin(params: &Params, _rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { params: params.clone() })
    }

    fn finish(self) -> Result<Client> {
        let cut = self.params.cut();
        let blocks = cut.columns().div_ceil(lwe::ring::N as u64) as usize;
        let first = lwe::encrypt::LweVectorEncryptor::new(Ring::new()?, blocks);
        let second = VectorEncryptor::new(cut.blocks as usize, PlainModulus::BYTES)?;
        Ok(Client { params: self.params, first, second })
    }
}

/// A client, which is ready without preparation.
pub struct Client {
    params: Params,
    /// The encryptor of the first pass, followed by that of the second.
    first: lwe::encrypt::LweVectorEncryptor,
    second: VectorEncryptor,
}

/// The secrets of both vectors of one query, which are wiped when dropped.
pub struct Pending {
    first: Zeroizing<Vec<i32>>,
    second: SecretKey,
}

impl sotto_core::Client<Ypir> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    /// The paper's Query: two encrypted unit vectors under a fresh secret each, and the packing keys of the second.
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        let (cut, bits) = (self.params.cut(), self.params.first_bits());
        if index.0 >= cut.records {
            return Err(Misuse::IndexPastEnd { index: index.0, len: cut.records }.into());
        }
        let [column, block] = cut.place(index.0);
        let first = self.first.secret(rng);
        let columns = self.first.unit(cut.columns() as usize, column, &first, rng, |word| switch(word, bits));
        let (blocks, second) = self.second.unit(cut.blocks as usize, block, self.params.bits(), rng);
        Ok((OneServer(Query { columns, blocks }), Pending { first, second }))
    }

    /// The paper's Extract, from the second level to the first: the numbers of rounded hint rows and the fresh ones, then the
    /// record that they stand for.
    fn recover(&mut self, pending: Pending, OneServer(answer): OneServer<Answer>) -> Result<Record> {
        let width = self.params.literal().record_bytes as usize;
        if (answer.packed.len(), answer.fresh.len()) != (self.params.groups(), width) {
            return Err(Misuse::ForeignValue("ticket").into());
        }
        let bits = self.params.bits();
        let numbers =
            |[mask, body]: &[Vec<u64>; 2]| self.second.few_numbers(&pending.second, bits, N, mask, body);
        let mut hint = Zeroizing::new(Vec::with_capacity(self.params.cut().second_rows() as usize));
        for part in &answer.packed {
            hint.extend(numbers(part).iter().flat_map(|number| bytes_of(*number)));
        }
        let mut fresh = Zeroizing::new(Vec::with_capacity(width));
        answer.fresh.iter().for_each(|part| fresh.extend_from_slice(&numbers(part)));
        Ok(Record::new(record(&hint, &fresh, &pending.first).to_vec()))
    }
}
