//! The client: make keys, query, recover.
//!
//! No branch, index or allocation depends on the requested record or on a secret; the only
//! exception is refusing a record past the end.

use crate::BgvPir;
use crate::message::{Answer, Keys, Query};
use crate::params::{Inner, Params};
use crate::rings::{SIGMA, on_ring};
use crate::whitening::whiten;
use sotto_core::{CryptoRng, Misuse, OneServer, Record, RecordIndex, Result, check_bucket_places};
use sotto_lattice::bgv::encrypt::encrypt;
use sotto_lattice::bgv::keyswitch::SwitchKey;
use sotto_lattice::bgv::{RotationKey, SecretKey, SlotRing};
use sotto_lattice::encrypt::{ErrorSource, MaskSource};
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;
use zeroize::Zeroizing;

/// Label of the masks of keys.
pub(crate) const KEY_MASKS: &str = "bgvpir key";
/// Label of the masks of queries.
pub(crate) const QUERY_MASKS: &str = "bgvpir query";

/// The sources of the keys' masks: each key has one mask for each prime.
pub(crate) fn masks(seed: &PublicSeed, primes: u8) -> [MaskSource<'_>; 3] {
    [0, 1, 2].map(|key| key * u64::from(primes)).map(|first| MaskSource { seed, label: KEY_MASKS, first })
}

/// A client in preparation: its keys are made at once, since no artifact is needed.
pub struct Prepare {
    client: Client,
}

impl sotto_core::Prepare<BgvPir> for Prepare {
    fn begin(params: &Params, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { client: Client::new(params.clone(), rng) })
    }

    fn finish(self) -> Result<Client> {
        Ok(self.client)
    }
}

/// A client with its secret key.
pub struct Client {
    params: Params,
    error: Gaussian,
    secret: SecretKey,
    keys: Keys,
}

/// The secret of one query: the number of the requested record.
pub struct Pending {
    record: Zeroizing<u64>,
}

impl sotto_core::Client<BgvPir> for Client {
    type Pending = Pending;

    fn keys(&self) -> Keys {
        self.keys.clone()
    }

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        let len = self.params.literal.records;
        // All records count as one bucket.
        check_bucket_places(&[index.0], 1, len)?;
        Ok((OneServer(self.make_query(index.0, rng)), Pending { record: Zeroizing::new(index.0) }))
    }

    fn recover(&mut self, pending: Pending, OneServer(answer): OneServer<Answer>) -> Result<Record> {
        if answer.0.len() != self.params.literal.layers as usize {
            return Err(Misuse::ForeignValue("answer").into());
        }
        Ok(Record::new(self.read(*pending.record, &answer)))
    }
}

impl Client {
    /// Draws the secret and makes the keys.
    fn new(params: Params, rng: &mut dyn CryptoRng) -> Self {
        let error = Gaussian::new(SIGMA);
        let seed = PublicSeed::fresh(rng);
        let [rotation_masks, square_masks, stride_masks] = masks(&seed, params.literal.primes);
        let by = params.literal.stride as usize;
        let (secret, rotation, square, stride) = on_ring!(&*params.ring, rns => {
            let secret = SecretKey::sample(rns, rng);
            let mut errors = ErrorSource { law: &error, rng };
            let rotation = RotationKey::generate(rns, 1, &secret, rotation_masks, &mut errors);
            let square = SwitchKey::generate_square(rns, &secret, square_masks, &mut errors);
            let stride = (by > 1).then(|| RotationKey::generate(rns, by, &secret, stride_masks, &mut errors));
            (secret, rotation, square, stride.unwrap_or_default())
        });
        Client { params, error, secret, keys: Keys { seed, rotation, square, stride } }
    }

    /// Query (Algorithm 2): the folded vector of the row, from the block's slot on and repeated, in one ciphertext.
    fn make_query(&self, record: u64, rng: &mut dyn CryptoRng) -> Query {
        let Inner { tree, layout, ring, .. } = &*self.params;
        let (alpha, beta) = layout.place(record);
        let ones = Zeroizing::new(tree.fold(alpha));
        let slots = Zeroizing::new(layout.query(&ones, beta));
        let seed = PublicSeed::fresh(rng);
        let body = on_ring!(&**ring, rns => {
            let mut coefficients = Zeroizing::new(vec![0; rns.ring().words()]);
            rns.ring().encode(&slots, &mut coefficients);
            let mask = rns.mask(rns.top(), &seed, QUERY_MASKS, 0);
            let mut errors = ErrorSource { law: &self.error, rng };
            encrypt(rns, rns.top(), &self.secret, &mask, &coefficients, &mut errors)
        });
        Query { seed, body }
    }

    /// All slots of each layer of an answer, still whitened.
    pub(crate) fn opened(&self, answer: &Answer) -> Vec<Zeroizing<Vec<u64>>> {
        let slots = |cipher: &sotto_lattice::bgv::Answer| {
            on_ring!(&*self.params.ring, rns => {
                let coefficients = cipher.decrypt(rns, self.params.bits, &self.secret);
                let mut slots = Zeroizing::new(vec![0; rns.ring().slots() * rns.ring().cycles()]);
                rns.ring().decode(&coefficients, &mut slots);
                slots
            })
        };
        answer.0.iter().map(slots).collect()
    }

    /// Extract: decrypt each layer, read its slots, remove the whitening of the row, and gather
    /// those of the block.
    fn read(&self, record: u64, answer: &Answer) -> Vec<u8> {
        let Inner { layout, set, .. } = &*self.params;
        let (alpha, beta) = layout.place(record);
        let mut layers = self.opened(answer);
        for (layer, slots) in (0..).zip(&mut layers) {
            whiten(&self.params.literal.mask, alpha, layer, set.slot_bits, slots);
        }
        layout.take(&layers.iter().map(|slots| slots.as_slice()).collect::<Vec<_>>(), beta)
    }
}
