//! Keys, queries and answers, and their bits on the wire.
//!
//! Masks are never sent: 32 bytes of seed determine all masks of a message. spec/bgvpir.md draws
//! the bytes.
#![deny(clippy::indexing_slicing)]

use crate::cost::{self, SEED_BYTES, answer_bytes, keys_bytes, query_bytes};
use crate::params::{Inner, Params};
use crate::rings::on_ring;
use sotto_core::wire::exact;
use sotto_core::{PeerMisbehaved, Result, Wire};
use sotto_lattice::bgv::wire::{body_bytes, put_body, take_body};
use sotto_lattice::bgv::{Answer as Cipher, Level};
use sotto_prg::PublicSeed;

/// The keys that a client registers: for each key one body a prime, modulo all primes and the
/// special one.
#[derive(Debug, Clone)]
pub struct Keys {
    /// Seed of the keys' masks.
    pub seed: PublicSeed,
    /// Bodies of the key for the rotation by one.
    pub rotation: Vec<Vec<u64>>,
    /// Bodies of the key for relinearization.
    pub square: Vec<Vec<u64>>,
    /// Bodies of the key for the rotation by a stride; empty if there is no such key.
    pub stride: Vec<Vec<u64>>,
}

/// One query: a body modulo all primes but the special one.
#[derive(Debug, Clone)]
pub struct Query {
    /// Seed of the query's mask.
    pub seed: PublicSeed,
    /// The body.
    pub body: Vec<u64>,
}

/// The answer: a ciphertext of few bits for each layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub Vec<Cipher>);

/// The level of a query, and that of keys.
fn levels(params: &Inner) -> [Level; 2] {
    on_ring!(&*params.ring, rns => [rns.top(), rns.full()])
}

fn put(params: &Inner, level: Level, body: &[u64], out: &mut Vec<u8>) {
    on_ring!(&*params.ring, rns => put_body(rns, level, body, out));
}

/// Bodies of one level, one after the other.
fn take(what: &'static str, params: &Inner, level: Level, bytes: &[u8]) -> Result<Vec<Vec<u64>>> {
    on_ring!(&*params.ring, rns => {
        let body = |bytes| take_body(rns, level, bytes).ok_or_else(|| PeerMisbehaved::NotCanonical(what).into());
        bytes.chunks_exact(body_bytes(rns, level)).map(body).collect()
    })
}

fn seed<'a>(what: &'static str, bytes: &'a [u8], want: usize) -> Result<(PublicSeed, &'a [u8])> {
    exact(what, bytes, want)?;
    let (seed, rest) = bytes.split_first_chunk::<SEED_BYTES>().ok_or(PeerMisbehaved::NotCanonical(what))?;
    Ok((PublicSeed(*seed), rest))
}

impl Wire<Params> for Keys {
    fn size(params: &Params) -> usize {
        keys_bytes(&params.literal, params.set)
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.seed.0);
        let [_, level] = levels(params);
        self.rotation
            .iter()
            .chain(&self.square)
            .chain(&self.stride)
            .for_each(|body| put(params, level, body, out));
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        let (seed, rest) = seed("keys", bytes, Self::size(params))?;
        let [_, level] = levels(params);
        let mut rotation = take("keys", params, level, rest)?;
        let each = rotation.len() / cost::keys(&params.literal);
        let mut square = rotation.split_off(each);
        let stride = square.split_off(each);
        Ok(Keys { seed, rotation, square, stride })
    }
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        query_bytes(&params.literal, params.set)
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.seed.0);
        let [level, _] = levels(params);
        put(params, level, &self.body, out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        let (seed, rest) = seed("query", bytes, Self::size(params))?;
        let [level, _] = levels(params);
        let body = take("query", params, level, rest)?.pop().ok_or(PeerMisbehaved::NotCanonical("query"))?;
        Ok(Query { seed, body })
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        answer_bytes(&params.literal, params.set)
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        self.0.iter().for_each(|layer| layer.put(params.bits, out));
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        exact("answer", bytes, Self::size(params))?;
        let layer = |bytes| on_ring!(&*params.ring, rns => Cipher::take(rns, params.bits, bytes));
        let layer = |bytes| layer(bytes).ok_or_else(|| PeerMisbehaved::NotCanonical("answer").into());
        let each = Self::size(params) / params.literal.layers as usize;
        Ok(Answer(bytes.chunks_exact(each).map(layer).collect::<Result<_>>()?))
    }
}
