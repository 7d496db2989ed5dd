//! The client: the paper's Query and Recover. It holds only public data, and every query has its own
//! secrets.

use crate::Hintless;
use crate::linpir::{EncryptedSecret, LinPir, rings};
use sotto_core::{CryptoRng, Misuse, Result};
use sotto_lattice::bgv::SecretKey;
use sotto_silent::lwe::dense::{HINTLESS, byte};
use sotto_silent::message::Query;
use sotto_silent::one_hot::OneHot;
use sotto_silent::{MatrixClient, Params};

/// A client, which is ready without preparation.
pub struct Client {
    linpir: LinPir,
}

impl MatrixClient<Hintless> for Client {
    /// The secrets of one query in LinPIR's rings. The secret of its words is dropped already.
    type Pending = Vec<SecretKey>;

    fn new(params: &Params<Hintless>, (): ()) -> Result<Self> {
        Ok(Client { linpir: LinPir::new(rings()?, params.seed, params.rows()) })
    }

    /// The paper's Query: `A s + e` plus 2^24 times a unit vector, and s under encryption.
    fn query(
        &self,
        params: &Params<Hintless>,
        record: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, Vec<SecretKey>)> {
        let s = HINTLESS.secret(rng);
        let one = OneHot::new(record as u32, 1);
        let words = HINTLESS.sum(&params.seed, params.records as usize, one, &s, rng);
        let mut fields = vec![words.into_iter().map(u64::from).collect()];
        let (encrypted, secrets) = self.linpir.encrypt(&s, rng)?;
        fields.extend(encrypted.iter().flat_map(EncryptedSecret::fields));
        Ok((Query(fields), secrets))
    }

    /// The paper's Recover: decrypt `H s`, subtract it, and round to the nearest byte.
    fn recover(
        &self,
        _: &Params<Hintless>,
        secrets: Vec<SecretKey>,
        answer: Vec<Vec<u64>>,
    ) -> Result<Vec<u8>> {
        let (words, products) = answer.split_first().ok_or(Misuse::ForeignValue("pending query"))?;
        let products = self.linpir.products(&secrets, products.as_chunks().0)?;
        let words = words.iter().zip(products.iter());
        Ok(words.map(|(word, product)| byte((*word as u32).wrapping_sub(*product))).collect())
    }
}
