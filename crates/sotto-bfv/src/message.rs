//! Keys, queries and answers, and their bits on the wire.
//!
//! Masks are never sent: a seed of 32 bytes replaces all masks of a message. spec/bfv.md specifies
//! the bytes.
#![deny(clippy::indexing_slicing)]

use crate::cost::{self, SEED_BYTES};
use crate::family::{Family, Method};
use crate::params::Params;
use sotto_core::wire::exact;
use sotto_core::{PeerMisbehaved, Result, Wire};
use sotto_lattice::bgv::wire::{body_bytes, put_body, take_body};
use sotto_lattice::bgv::{Answer as Cipher, Level};
use sotto_prg::PublicSeed;

/// The keys that a client registers: for each key one body for each prime, modulo all primes and
/// the special one.
#[derive(Debug, Clone)]
pub struct Keys {
    /// Seed of the masks.
    pub seed: PublicSeed,
    /// Bodies key by key: rotation, relinearization, each round of expansion.
    pub bodies: Vec<Vec<u64>>,
}

/// One query: bodies modulo all primes but the special one.
#[derive(Debug, Clone)]
pub struct Query {
    /// Seed of the masks.
    pub seed: PublicSeed,
    /// Bodies of the query.
    pub bodies: Vec<Vec<u64>>,
}

/// The answer: ciphertexts of few bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub Vec<Cipher>);

fn put<F: Family>(
    params: &Params<F>,
    level: Level,
    seed: &PublicSeed,
    bodies: &[Vec<u64>],
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&seed.0);
    bodies.iter().for_each(|body| put_body(&params.ring, level, body, out));
}

/// Decodes a seed, and consecutive bodies of one level.
fn take<F: Family>(
    what: &'static str,
    params: &Params<F>,
    level: Level,
    bytes: &[u8],
    want: usize,
) -> Result<(PublicSeed, Vec<Vec<u64>>)> {
    exact(what, bytes, want)?;
    let refuse = || PeerMisbehaved::NotCanonical(what);
    let (seed, rest) = bytes.split_first_chunk::<SEED_BYTES>().ok_or_else(refuse)?;
    let body = |bytes| take_body(&params.ring, level, bytes).ok_or_else(|| refuse().into());
    let bodies = rest.chunks_exact(body_bytes(&params.ring, level)).map(body).collect::<Result<_>>()?;
    Ok((PublicSeed(*seed), bodies))
}

impl<F: Family> Wire<Params<F>> for Keys {
    fn size(params: &Params<F>) -> usize {
        cost::keys_bytes(params.set, params.method.keys())
    }

    fn put(&self, params: &Params<F>, out: &mut Vec<u8>) {
        put(params, params.ring.full(), &self.seed, &self.bodies, out);
    }

    fn take(params: &Params<F>, bytes: &[u8]) -> Result<Self> {
        let want = <Self as Wire<Params<F>>>::size(params);
        let (seed, bodies) = take("keys", params, params.ring.full(), bytes, want)?;
        Ok(Keys { seed, bodies })
    }
}

impl<F: Family> Wire<Params<F>> for Query {
    fn size(params: &Params<F>) -> usize {
        cost::query_bytes(params.set, params.layout.queries)
    }

    fn put(&self, params: &Params<F>, out: &mut Vec<u8>) {
        put(params, params.ring.top(), &self.seed, &self.bodies, out);
    }

    fn take(params: &Params<F>, bytes: &[u8]) -> Result<Self> {
        let want = <Self as Wire<Params<F>>>::size(params);
        let (seed, bodies) = take("query", params, params.ring.top(), bytes, want)?;
        Ok(Query { seed, bodies })
    }
}

impl<F: Family> Wire<Params<F>> for Answer {
    fn size(params: &Params<F>) -> usize {
        params.method.answers(&params.layout) * params.bits.bytes(&params.ring)
    }

    fn put(&self, params: &Params<F>, out: &mut Vec<u8>) {
        self.0.iter().for_each(|cipher| cipher.put(params.bits, out));
    }

    fn take(params: &Params<F>, bytes: &[u8]) -> Result<Self> {
        exact("answer", bytes, <Self as Wire<Params<F>>>::size(params))?;
        let refuse = || PeerMisbehaved::NotCanonical("answer").into();
        let cipher = |bytes| Cipher::take(&params.ring, params.bits, bytes).ok_or_else(refuse);
        Ok(Answer(bytes.chunks_exact(params.bits.bytes(&params.ring)).map(cipher).collect::<Result<_>>()?))
    }
}
