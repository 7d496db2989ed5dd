//! The client: query and recover. It holds only public data, and every query has its own secrets.
//!
//! No branch, index or allocation depends on the requested index or on a secret; the only exception
//! is refusing an index past the end.

use crate::Hintless;
use crate::linpir::client::LinPir;
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::{CryptoRng, Misuse, OneServer, Params as _, Record, RecordIndex, Result};
use sotto_lattice::bgv::SecretKey;
use sotto_silent::lwe::dense::{HINTLESS, byte};
use sotto_silent::one_hot::OneHot;

/// A client in preparation, which needs no artifact.
pub struct Prepare {
    params: Params,
}

impl sotto_core::Prepare<Hintless> for Prepare {
    fn begin(params: &Params, _rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { params: params.clone() })
    }

    fn finish(self) -> Result<Client> {
        let seed = self.params.literal().seed;
        let linpir = LinPir::new(self.params.rings(), seed, [self.params.l(), self.params.block_rows()]);
        Ok(Client { params: self.params, linpir })
    }
}

/// A client, which is ready without preparation.
pub struct Client {
    params: Params,
    linpir: LinPir,
}

/// The secrets of one query in LinPIR's rings, which are wiped when dropped. The secret of its
/// words is dropped already.
pub struct Pending {
    secrets: Vec<SecretKey>,
}

impl sotto_core::Client<Hintless> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    /// The paper's Query: `A s + e` plus 2^24 times a unit vector, and s under encryption.
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        let m = self.params.m();
        if index.0 >= m as u64 {
            return Err(Misuse::IndexPastEnd { index: index.0, len: m as u64 }.into());
        }
        let s = HINTLESS.secret(rng);
        let words = HINTLESS.sum(&self.params.literal().seed, m, OneHot::new(index.0 as u32, 1), &s, rng);
        let (secret, secrets) = self.linpir.encrypt(&s, rng)?;
        Ok((OneServer(Query { words, secret }), Pending { secrets }))
    }

    /// The paper's Recover: decrypt `H s`, subtract it, and round to the nearest byte.
    fn recover(&mut self, pending: Pending, OneServer(answer): OneServer<Answer>) -> Result<Record> {
        let Answer { words, products } = answer;
        let blocks = self.params.blocks();
        if words.len() != self.params.l() || products.iter().any(|of_ring| of_ring.len() != blocks) {
            return Err(Misuse::ForeignValue("ticket").into());
        }
        let products = self.linpir.products(&pending.secrets, &products)?;
        let bytes =
            words.iter().zip(products.iter()).map(|(word, product)| byte(word.wrapping_sub(*product)));
        Ok(Record::new(bytes.collect()))
    }
}
