//! The client: the paper's Query and Extract. It holds only public data, and every query has its own
//! secret.

use crate::InspireTwo;
use sotto_core::{CryptoRng, Misuse, Result};
use sotto_lattice::secret::SecretKey;
use sotto_math::bits;
use sotto_silent::lattice::N;
use sotto_silent::masks::MaskDownload;
use sotto_silent::message::Query;
use sotto_silent::one_hot::OneHot;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{MessageBits, VectorEncryptor, bytes_of};
use sotto_silent::{MatrixClient, MatrixLiteral as _, Params};
use zeroize::Zeroizing;

/// A client that holds the masks of a table's answers.
pub struct Client {
    encryption: VectorEncryptor,
    masks: Vec<Vec<u64>>,
}

impl MatrixClient<InspireTwo> for Client {
    type Pending = SecretKey;

    fn new(params: &Params<InspireTwo>, masks: MaskDownload) -> Result<Self> {
        let words = [params.columns(), params.picks()].map(|words| words as usize);
        let encryption = VectorEncryptor::several(&words, PlainModulus::PAIR)?;
        Ok(Client { encryption, masks: masks.finish(&params.masks())? })
    }

    /// The paper's Query: encrypted unit vectors for column and block under one fresh secret, and its
    /// packing key.
    fn query(
        &self,
        params: &Params<InspireTwo>,
        record: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, SecretKey)> {
        // The number of blocks is a power of two: no division, whose time would depend on the
        // record.
        let [column, block] = [record >> params.blocks.ilog2(), record & (params.blocks - 1)];
        let secret = self.encryption.secret(rng);
        let [first, second] = params.bits();
        let mut vector = |which, words: u64, place: u64, bits| {
            let mut one = OneHot::new(place as u32, 1);
            self.encryption.vector(which, words as usize, |place| one.is_one(place), bits, &secret, rng)
        };
        let columns = vector(0, params.columns(), column, first);
        let blocks = vector(1, params.picks(), block, second);
        let key = self.encryption.key(&secret, first, rng);
        Ok((Query(vec![columns, blocks, key]), secret))
    }

    /// The paper's Extract: decrypt the second layer, assemble the first layer's ciphertext, and
    /// decrypt that.
    fn recover(
        &self,
        params: &Params<InspireTwo>,
        secret: SecretKey,
        answer: Vec<Vec<u64>>,
    ) -> Result<Vec<u8>> {
        let [bits, _] = params.bits();
        let numbers = match (self.masks.as_slice(), answer.as_slice()) {
            ([mask], [body]) if params.picks() == 0 => self.numbers(&secret, bits, mask, body),
            (_, picked) => {
                let [mask, body] = self.picked(params, &secret, picked)?;
                self.numbers(&secret, bits, &mask, &body)
            }
        };
        Ok(numbers.iter().flat_map(|number| bytes_of(*number)).collect())
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
    fn picked(
        &self,
        params: &Params<InspireTwo>,
        secret: &SecretKey,
        answer: &[Vec<u64>],
    ) -> Result<[Zeroizing<Vec<u64>>; 2]> {
        let [first, second] = params.bits();
        let (of_masks, of_bodies) = answer.split_at(self.masks.len());
        let mut mask = Zeroizing::new(Vec::with_capacity(params.mask_matrix().rows()));
        for (a, b) in self.masks.iter().zip(of_masks) {
            mask.extend(self.numbers(secret, second, a, b).iter().flat_map(|number| bytes_of(*number)));
        }
        // Zeros follow the last body, so that eight of them at a time are whole bytes.
        let count = params.numbers().next_multiple_of(8);
        let whole = count / 8 * first.body as usize;
        let mut body = Zeroizing::new(Vec::with_capacity(whole + 2));
        for [a, b] in of_bodies.as_chunks().0 {
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
