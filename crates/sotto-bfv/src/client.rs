//! The client of every scheme of the family: makes keys and queries, and reads answers.
//!
//! Nothing here branches, indexes or allocates by the places of the lookup or by a secret; the only
//! exception is the refusal of a place past the end.

use crate::family::{Bfv, Family, Method};
use crate::layout::{BucketPlace, equal};
use crate::message::{Answer, Keys, Query};
use crate::params::Params;
use crate::rings::SIGMA;
use crate::whitening::whiten;
use sotto_core::{CryptoRng, Misuse, OneServer, Record, RecordIndex, Result, check_bucket_places};
use sotto_lattice::bgv::encrypt::encrypt_divided;
use sotto_lattice::bgv::keyswitch::SwitchKey;
use sotto_lattice::bgv::{AnswerBits, RotationKey, SecretKey, SlotRing, expand};
use sotto_lattice::encrypt::{ErrorSource, MaskSource};
use sotto_math::modulus::divide;
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;
use zeroize::Zeroizing;

/// Label of the mask streams of keys.
const KEY_MASKS: &str = "bfv key";
/// Label of the mask streams of queries.
pub(crate) const QUERY_MASKS: &str = "bfv query";

/// The masks of one key, which has one for each prime.
pub(crate) fn key_masks(seed: &PublicSeed, key: usize, primes: usize) -> MaskSource<'_> {
    MaskSource { seed, label: KEY_MASKS, first: (key * primes) as u64 }
}

/// A client in preparation. Its keys are made at once, since no artifact is needed.
pub struct Prepare<F: Family> {
    client: Client<F>,
}

impl<F: Family> sotto_core::Prepare<Bfv<F>> for Prepare<F> {
    fn begin(params: &Params<F>, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { client: Client::new(params.clone(), rng) })
    }

    fn finish(self) -> Result<Client<F>> {
        Ok(self.client)
    }
}

/// A client with its secret key.
pub struct Client<F: Family> {
    params: Params<F>,
    error: Gaussian,
    secret: SecretKey,
    keys: Keys,
}

/// The secret of one query: the record that it asks for in each bucket.
pub struct Pending {
    /// The bucket of a single lookup.
    bucket: Zeroizing<u64>,
    places: Zeroizing<Vec<u64>>,
}

impl<F: Family> sotto_core::Client<Bfv<F>> for Client<F> {
    type Pending = Pending;

    fn keys(&self) -> Keys {
        self.keys.clone()
    }

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        let (layout, len) = (&self.params.layout, self.params.literal.records);
        // Checked as if all records were in one bucket.
        check_bucket_places(&[index.0], 1, len)?;
        // The other buckets, which have equally many records, are queried at the same place.
        let (bucket, place) = divide(index.0, layout.records);
        // Not `vec!`, which branches on whether the value is zero.
        let places: Vec<u64> = std::iter::repeat_n(place, layout.buckets).collect();
        Ok((
            OneServer(self.make_query(&places, rng)),
            Pending { bucket: bucket.into(), places: places.into() },
        ))
    }

    fn recover(&mut self, pending: Pending, OneServer(answer): OneServer<Answer>) -> Result<Record> {
        let records = self.recover_buckets(&pending, &answer)?;
        let mut out = vec![0; self.params.layout.record_bytes()];
        for (bucket, record) in (0..).zip(&records) {
            let mask = equal(bucket, *pending.bucket) as u8;
            out.iter_mut().zip(record.iter()).for_each(|(out, byte)| *out |= byte & mask);
        }
        Ok(Record::new(out))
    }
}

impl<F: Family> Client<F> {
    /// Draws the secret key and makes the keys to register.
    fn new(params: Params<F>, rng: &mut dyn CryptoRng) -> Self {
        let (ring, error, seed) = (&params.ring, Gaussian::new(SIGMA), PublicSeed::fresh(rng));
        let secret = SecretKey::sample(ring, rng);
        let keyring = params.method.keys();
        let mut errors = ErrorSource { law: &error, rng };
        let mut bodies = Vec::new();
        let mut next = 0..;
        let mut masks = || key_masks(&seed, next.next().unwrap_or_default(), params.set.query_primes());
        for by in [keyring.rotation, keyring.stride].into_iter().flatten() {
            bodies.extend(RotationKey::generate(ring, by, &secret, masks(), &mut errors));
        }
        if keyring.square {
            bodies.extend(SwitchKey::generate_square(ring, &secret, masks(), &mut errors));
        }
        for round in 0..keyring.rounds {
            bodies.extend(expand::generate(ring, round, &secret, masks(), &mut errors));
        }
        Client { error, secret, keys: Keys { seed, bodies }, params }
    }

    /// Makes the query for one record of each bucket, given by their places within the buckets.
    ///
    /// # Errors
    /// The errors of [`check_bucket_places`].
    pub(crate) fn query_buckets(&self, places: &[u64], rng: &mut dyn CryptoRng) -> Result<(Query, Pending)> {
        let layout = &self.params.layout;
        check_bucket_places(places, layout.buckets as u64, layout.records)?;
        let pending = Pending { bucket: 0.into(), places: places.to_vec().into() };
        Ok((self.make_query(places, rng), pending))
    }

    fn make_query(&self, places: &[u64], rng: &mut dyn CryptoRng) -> Query {
        let params = &*self.params;
        let (ring, seed) = (&params.ring, PublicSeed::fresh(rng));
        let plaintexts = params.method.query_plaintexts(&params.layout, &self.places(places));
        let mut errors = ErrorSource { law: &self.error, rng };
        let bodies = (0..).zip(&plaintexts).map(|(i, (numbers, halvings))| {
            let mut coefficients = Zeroizing::new(vec![0; ring.ring().words()]);
            ring.ring().encode(numbers, &mut coefficients);
            let mask = ring.mask(ring.top(), &seed, QUERY_MASKS, i);
            encrypt_divided(ring, ring.top(), &self.secret, &mask, &coefficients, *halvings, &mut errors)
        });
        Query { bodies: bodies.collect(), seed }
    }

    fn places(&self, places: &[u64]) -> Zeroizing<Vec<BucketPlace>> {
        places.iter().map(|place| self.params.layout.place(*place)).collect::<Vec<_>>().into()
    }

    /// Recovers the records of all buckets.
    ///
    /// # Errors
    /// [`Misuse::ForeignValue`] for the answer to another query.
    pub(crate) fn recover_buckets(
        &self,
        pending: &Pending,
        answer: &Answer,
    ) -> Result<Vec<Zeroizing<Vec<u8>>>> {
        let params = &*self.params;
        if answer.0.len() != params.method.answers(&params.layout)
            || pending.places.len() != params.layout.buckets
        {
            return Err(Misuse::ForeignValue("answer").into());
        }
        let open = |answer: &sotto_lattice::bgv::Answer, bits: Option<AnswerBits>| {
            let coefficients = answer.decrypt(&params.ring, bits.unwrap_or(params.bits), &self.secret);
            let mut numbers = Zeroizing::new(vec![0; params.layout.n]);
            params.ring.ring().decode(&coefficients, &mut numbers);
            numbers
        };
        let layout = &params.layout;
        let read = params.method.read(layout, &open, &answer.0, &self.places(&pending.places));
        let records =
            read.into_iter().zip(pending.places.iter()).enumerate().map(|(bucket, (mut words, place))| {
                whiten(&params.literal.mask, layout.whitening_index(bucket, *place), layout.bits, &mut words);
                Zeroizing::new(layout.bytes_of(&words))
            });
        Ok(records.collect())
    }
}
