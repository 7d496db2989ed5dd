//! The client of every scheme of the family: makes keys and queries, and reads answers.
//!
//! Nothing here branches, indexes or allocates by the index of the lookup or by a secret; the only
//! exception is the refusal of an index past the end.

use crate::literal::{TableForm, Upload};
use crate::message::{self, Answer, Body, KeyUse, Keys, Query, UnitAnswer};
use crate::params::{CubeScheme, Family, Inner, Params};
use crate::query::QueryTarget;
use crate::whitening::whiten;
use sotto_core::{CryptoRng, Misuse, OneServer, Record, RecordIndex, Result};
use sotto_lattice::automorphism::AutomorphismKey;
use sotto_lattice::encrypt::{ErrorSource, MaskSource, encrypt, truncate};
use sotto_lattice::expand::element;
use sotto_lattice::pack;
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::rgsw_conversion::ConversionKey;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::secret::SecretKey;
use sotto_math::bits;
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;
use zeroize::Zeroizing;

/// Label of the mask streams of keys.
pub(crate) const KEY_MASKS: &str = "cube key";
/// Label of the mask streams of queries.
pub(crate) const QUERY_MASKS: &str = "cube query";

/// A client in preparation. Its keys are made at once, since no artifact is needed.
pub struct Prepare<F> {
    client: Client<F>,
}

impl<F: Family> sotto_core::Prepare<CubeScheme<F>> for Prepare<F> {
    fn begin(params: &Params<F>, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { client: Client::new(params.clone(), rng) })
    }

    fn finish(self) -> Result<Client<F>> {
        Ok(self.client)
    }
}

/// A client with its secrets.
pub struct Client<F> {
    params: Params<F>,
    /// Distribution of the errors.
    error: Gaussian,
    /// The secret key of queries.
    pub(crate) secret: SecretKey,
    /// The secret keys of packed answers; empty in the plain form.
    pub(crate) packed: Vec<SecretKey>,
    keys: Keys,
}

/// The secret of one query: the record that it asks for.
pub struct Pending {
    record: Zeroizing<u64>,
}

impl<F: Family> sotto_core::Client<CubeScheme<F>> for Client<F> {
    type Pending = Pending;

    fn keys(&self) -> Keys {
        self.keys.clone()
    }

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        let len = self.params.grid.records();
        if index.0 >= len {
            return Err(Misuse::IndexPastEnd { index: index.0, len }.into());
        }
        Ok((OneServer(self.make_query(index.0, rng)?), Pending { record: Zeroizing::new(index.0) }))
    }

    fn recover(&mut self, pending: Pending, OneServer(Answer(units)): OneServer<Answer>) -> Result<Record> {
        if units.len() as u64 != self.params.grid.units() {
            return Err(Misuse::ForeignValue("answer").into());
        }
        let mut record = Vec::with_capacity(self.params.literal.record_bytes as usize);
        for (unit, answer) in (0..).zip(&units) {
            record.extend_from_slice(self.open(&pending, unit, answer)?.bytes());
        }
        Ok(Record::new(record))
    }
}

impl<F> Client<F> {
    /// Draws the secret keys and makes every key to register.
    fn new(params: Params<F>, rng: &mut dyn CryptoRng) -> Self {
        let set = params.set;
        let error = Gaussian::new(set.sigma);
        let secret = SecretKey::sample(&params.ring, set.distribution, rng);
        let places = if params.literal.form == TableForm::Plain { 0 } else { params.literal.n };
        let packed: Vec<SecretKey> =
            (0..places).map(|_| SecretKey::sample(&params.ring, set.distribution, rng)).collect();
        let seed = PublicSeed::fresh(rng);
        let bodies = bodies(&params, &secret, &packed, &seed, &mut ErrorSource { law: &error, rng });
        Client { params, error, secret, packed, keys: Keys { seed, bodies } }
    }

    /// Makes a query: one ciphertext, or one for each selector and for each row of each bit.
    fn make_query(&self, record: u64, rng: &mut dyn CryptoRng) -> Result<Query> {
        let (params, ring) = (&*self.params, &self.params.ring);
        let level = params.query_level();
        let target = QueryTarget::new(params, record);
        let seed = PublicSeed::fresh(rng);
        let masks = |first| MaskSource { seed: &seed, label: QUERY_MASKS, first };
        let mut bodies: Vec<Body> = Vec::with_capacity(params.query_polynomials());
        let mut send = |slots: Vec<Vec<u64>>| {
            let sent_bits = params.literal.query_bits.into();
            bodies.extend(slots.iter().map(|body| truncate(ring, level, body, sent_bits)));
        };
        let mut next = 0;
        let mut one = |message: &[u64], rng: &mut dyn CryptoRng| {
            let a = masks(next).mask(ring, level, 0);
            next += 1;
            encrypt(ring, level, &[&self.secret], &a, &[message], &self.error, rng)
        };
        if params.literal.upload == Upload::Expanded {
            let f = target.packed().ok_or(Misuse::Rule("checked parameters must have an expansion"))?;
            let message = Zeroizing::new(ring.from_integers(level, &f));
            send(one(&message, rng));
            return Ok(Query { seed, bodies });
        }
        for selector in target.selectors() {
            send(one(&selector, rng));
        }
        let mut first = u64::from(params.literal.rows);
        for bit in target.bits() {
            let Some(gadget) = &params.gadgets.fold else { break };
            if params.literal.form == TableForm::Matrix {
                // The server converts these to RGSW: only the rows m g_j are sent.
                for power in gadget.powers() {
                    let mut message = bit.clone();
                    ring.scale(level, &mut message, power);
                    send(one(&message, rng));
                }
            } else {
                let mut errors = ErrorSource { law: &self.error, rng };
                send(RgswCiphertext::generate(
                    ring,
                    level,
                    [gadget; 2],
                    &[&self.secret],
                    &bit,
                    masks(first),
                    &mut errors,
                ));
                first += 2 * u64::from(gadget.digits());
            }
        }
        Ok(Query { seed, bodies })
    }

    /// Recovers one unit: subtracts the masks, rounds, and removes the whitening.
    ///
    /// # Errors
    /// [`Misuse::ForeignValue`] for the answer of another shape.
    pub fn open(&self, pending: &Pending, unit: u64, answer: &UnitAnswer) -> Result<Record> {
        let params = &*self.params;
        let side = usize::from(params.literal.n);
        let secrets: Vec<&SecretKey> = match params.literal.form {
            TableForm::Plain => vec![&self.secret],
            TableForm::Packed | TableForm::Matrix => self.packed.iter().collect(),
        };
        let columns = answer.polynomials.chunks_exact(1 + secrets.len());
        if columns.len() * (1 + secrets.len()) != answer.polynomials.len() || columns.len() != side {
            return Err(Misuse::ForeignValue("answer").into());
        }
        // Entry (i, j) of a unit is polynomial i n + j, and body i of column j.
        let mut words: Vec<Zeroizing<Vec<u64>>> = vec![Zeroizing::new(Vec::new()); side * side];
        for (j, column) in columns.enumerate() {
            let Some((mask, bodies)) = column.split_first() else { continue };
            let mut slots = mask.clone();
            params.ring.forward(ModulusLevel::Main, &mut slots);
            for (i, (body, secret)) in bodies.iter().zip(&secrets).enumerate() {
                if let Some(words) = words.get_mut(i * side + j) {
                    *words = self.round(&slots, body, secret);
                }
            }
        }
        let grid = &params.grid;
        let mut bytes = Vec::with_capacity(grid.unit_bytes());
        let mut part = Zeroizing::new(Vec::with_capacity(grid.part_bytes()));
        for (k, words) in words.iter().enumerate() {
            part.clear();
            bits::pack_words(words, params.literal.p_log2.into(), &mut part);
            whiten(&params.literal.mask, *pending.record, grid.part(unit, k), &mut part);
            bytes.extend_from_slice(&part);
        }
        bytes.truncate(grid.bytes_of_unit(unit).len());
        Ok(Record::new(bytes))
    }

    /// Rounds `p (b' / 2^t_b - a' s / 2^t_a)` to the nearest integer modulo p: the words of one
    /// polynomial.
    ///
    /// The product is exact modulo q: see [`MAX_MASK_BITS`](crate::params::MAX_MASK_BITS).
    fn round(&self, mask: &[u64], body: &[u64], secret: &SecretKey) -> Zeroizing<Vec<u64>> {
        let (params, ring) = (&*self.params, &self.params.ring);
        let [mask_bits, body_bits] = params.literal.answer_bits.map(u32::from);
        let p = u32::from(params.literal.p_log2);
        let mut product = Zeroizing::new(secret.slots(ring, ModulusLevel::Main).to_vec());
        ring.mul(ModulusLevel::Main, &mut product, mask);
        ring.inverse(ModulusLevel::Main, &mut product);
        let half = 1u64 << (mask_bits - p - 1);
        let words = body.iter().zip(product.iter()).map(|(body, product)| {
            let phase = (body << (mask_bits - body_bits)).wrapping_sub(ring.q().centered(*product) as u64);
            (phase.wrapping_add(half) & ((1 << mask_bits) - 1)) >> (mask_bits - p)
        });
        Zeroizing::new(words.collect())
    }
}

/// The bodies of every key, truncated, in the order of the key list.
fn bodies(
    params: &Inner,
    secret: &SecretKey,
    packed: &[SecretKey],
    seed: &PublicSeed,
    errors: &mut ErrorSource<'_>,
) -> Vec<Body> {
    let ring = &params.ring;
    let targets: Vec<&SecretKey> = packed.iter().collect();
    let mut out = Vec::new();
    for entry in message::key_entries(params) {
        let masks = MaskSource { seed, label: KEY_MASKS, first: entry.first };
        let (level, gadget) = (entry.level, &entry.gadget);
        let slots = match entry.usage {
            KeyUse::Left(round) | KeyUse::Right(round) => {
                let k = element(params.n(), round);
                AutomorphismKey::generate(ring, level, gadget, k, secret, masks, errors)
            }
            KeyUse::Convert if params.literal.form == TableForm::Matrix => {
                ConversionKey::generate(ring, level, gadget, secret, &targets, masks, errors)
            }
            KeyUse::Convert => ConversionKey::generate(ring, level, gadget, secret, &[secret], masks, errors),
            KeyUse::Pack(place) => {
                pack::generate(ring, level, gadget, (secret, place), &targets, masks, errors)
            }
        };
        let sent_bits = message::sent_bits(params, &entry).into();
        out.extend(slots.iter().map(|body| truncate(ring, level, body, sent_bits)));
    }
    out
}
