//! Query and answer: words of four bytes, then polynomials of values, packed without gaps as in the
//! lattice core.

use crate::linpir::RINGS;
use crate::linpir::client::EncryptedSecret;
use crate::params::Params;
use sotto_core::{Params as _, PeerMisbehaved, Result, Wire, wire};
use sotto_lattice::bgv::wire::{body_bytes, put_body, take_body};
use sotto_lattice::bgv::{Level, Pow2, RnsRing};
use std::ops::Range;

/// A query: an encrypted unit vector, and its secret under encryption in each ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) words: Vec<u32>,
    pub(crate) secret: Vec<EncryptedSecret>,
}

/// An answer: words of an encrypted record, and for each ring the ciphertexts of the products to
/// subtract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub(crate) words: Vec<u32>,
    pub(crate) products: Vec<Vec<[Vec<u64>; 2]>>,
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        params.literal().query_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        put_words(&self.words, out);
        for (ring, encrypted) in params.rings().iter().zip(&self.secret) {
            put_body(ring, ring.top(), &encrypted.body, out);
            encrypted.key.iter().for_each(|body| put_body(ring, ring.full(), body, out));
        }
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let bad = || PeerMisbehaved::NotCanonical("query");
        let (words, mut rest) = take_words(params.m(), bytes).ok_or_else(bad)?;
        let secret = params.rings().iter().map(|ring| {
            let body = polynomial(ring, ring.top(), &mut rest)?;
            let key: Option<Vec<_>> =
                (0..ring.top().primes()).map(|_| polynomial(ring, ring.full(), &mut rest)).collect();
            Some(EncryptedSecret { body, key: key? })
        });
        Ok(Query { words, secret: secret.collect::<Option<_>>().ok_or_else(bad)? })
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        params.literal().answer_bytes() as usize
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        self.put_some(params, 0..RINGS, out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, Self::size(params))?;
        let answer = Answer::take_some(params, params.l(), 0..RINGS, bytes);
        Ok(answer.ok_or(PeerMisbehaved::NotCanonical("answer"))?)
    }
}

impl Answer {
    /// Appends an answer with the products of some rings.
    pub(crate) fn put_some(&self, params: &Params, rings: Range<usize>, out: &mut Vec<u8>) {
        put_words(&self.words, out);
        for (ring, blocks) in params.rings().iter().skip(rings.start).zip(&self.products) {
            let level = ring.level(1).unwrap_or(ring.top());
            blocks.iter().flatten().for_each(|x| put_body(ring, level, x, out));
        }
    }

    /// Takes the words, and the products of some rings.
    pub(crate) fn take_some(
        params: &Params,
        words: usize,
        rings: Range<usize>,
        bytes: &[u8],
    ) -> Option<Self> {
        let (words, mut rest) = take_words(words, bytes)?;
        let products = params.rings().get(rings)?.iter().map(|ring| {
            let level = ring.level(1)?;
            let mut one = || polynomial(ring, level, &mut rest);
            (0..params.blocks()).map(|_| Some([one()?, one()?])).collect::<Option<Vec<_>>>()
        });
        Some(Answer { words, products: products.collect::<Option<_>>()? })
    }
}

fn put_words(words: &[u32], out: &mut Vec<u8>) {
    words.iter().for_each(|word| out.extend(word.to_le_bytes()));
}

/// Takes `count` words, and returns them with the remaining bytes.
fn take_words(count: usize, bytes: &[u8]) -> Option<(Vec<u32>, &[u8])> {
    let (words, rest) = bytes.split_at_checked(4 * count)?;
    Some((words.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect(), rest))
}

/// The next polynomial of these bytes.
fn polynomial(ring: &RnsRing<Pow2>, level: Level, bytes: &mut &[u8]) -> Option<Vec<u64>> {
    let (now, rest) = bytes.split_at_checked(body_bytes(ring, level))?;
    *bytes = rest;
    take_body(ring, level, now)
}
