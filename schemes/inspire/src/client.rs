//! The client: the paper's Query and Extract. It holds only public data, and every query has its own
//! secret. Column and place are bits of the index, since the number of places is a power of two.

use crate::Inspire;
use crate::literal::{NUMBER_BITS, PLAIN};
use crate::selector::RootEncryptor;
use sotto_core::{CryptoRng, Result};
use sotto_lattice::secret::SecretKey;
use sotto_math::bits::pack16;
use sotto_silent::lattice::N;
use sotto_silent::message::Query;
use sotto_silent::one_hot::OneHot;
use sotto_silent::unit_vector::VectorEncryptor;
use sotto_silent::{MatrixClient, Params};
use zeroize::Zeroizing;

/// A client, which is ready without preparation.
pub struct Client {
    encryption: VectorEncryptor,
    selector: RootEncryptor,
}

impl MatrixClient<Inspire> for Client {
    type Pending = SecretKey;

    fn new(params: &Params<Inspire>, (): ()) -> Result<Self> {
        let encryption = VectorEncryptor::new(params.columns() as usize, PLAIN)?;
        Ok(Client { encryption, selector: RootEncryptor::new(params.places as usize)? })
    }

    /// The paper's Query: an encrypted unit vector under a fresh secret with the packing keys of
    /// that secret, and the root of the requested place under the same secret.
    fn query(
        &self,
        params: &Params<Inspire>,
        record: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, SecretKey)> {
        let column = OneHot::new((record >> params.places.ilog2()) as u32, 1);
        let place = record as u32 & (params.places as u32 - 1);
        let columns = params.columns() as usize;
        let (mut fields, secret) = self.encryption.sum((columns, N), column, params.bits(), rng);
        let ring = self.encryption.ring();
        fields.extend(self.selector.encrypt(ring, &secret, place, params.selector_bits(), rng));
        Ok((Query(fields), secret))
    }

    /// The paper's Extract: decrypt each ciphertext, and round to the nearest number.
    fn recover(&self, params: &Params<Inspire>, secret: SecretKey, answer: Vec<Vec<u64>>) -> Result<Vec<u8>> {
        let mut numbers = Zeroizing::new(Vec::with_capacity(answer.len() / 2 * N));
        for [mask, body] in answer.as_chunks().0 {
            numbers.extend_from_slice(&self.encryption.numbers(&secret, params.bits(), mask, body));
        }
        let mut record = Vec::new();
        pack16(&numbers, NUMBER_BITS, &mut record);
        Ok(record)
    }
}
