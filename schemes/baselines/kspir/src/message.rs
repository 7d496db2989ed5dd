//! Keys, queries and answers, and their bits on the wire: a seed that determines all masks of a
//! message, and bodies whose coefficients are packed without gaps, least significant bit first.

use crate::literal::SEED_BYTES;
use crate::params::{Inner, Params};
use crate::ring::N;
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use sotto_lattice::encrypt::{restore, truncate};
use sotto_lattice::ring::ModulusLevel;
use sotto_math::bits;
use sotto_prg::PublicSeed;

/// The keys that a client registers.
#[derive(Debug, Clone)]
pub struct Keys {
    /// Seed of the keys' masks.
    pub seed: PublicSeed,
    /// Bodies in slots: of baby steps, of giant steps, of packing.
    pub bodies: Vec<Vec<u64>>,
}

/// A query for one record.
#[derive(Debug, Clone)]
pub struct Query {
    /// Seed of the query's masks.
    pub seed: PublicSeed,
    /// Bodies in slots: of the vector, and of the rows of X^-p.
    pub bodies: Vec<Vec<u64>>,
}

/// An answer: for each page of a record the coefficients of a mask and a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub Vec<[Vec<u64>; 2]>);

fn put(
    params: &Inner,
    seed: &PublicSeed,
    bodies: &[Vec<u64>],
    levels: impl Iterator<Item = ModulusLevel>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&seed.0);
    for (body, level) in bodies.iter().zip(levels) {
        let width = params.ring.bits(level);
        bits::pack(&truncate(&params.ring, level, body, width), width, out);
    }
}

fn take(
    what: &'static str,
    params: &Inner,
    bytes: &[u8],
    levels: impl Iterator<Item = ModulusLevel>,
) -> Result<(PublicSeed, Vec<Vec<u64>>)> {
    let bad = || PeerMisbehaved::NotCanonical(what);
    let (seed, mut rest) = bytes.split_first_chunk::<SEED_BYTES>().ok_or_else(bad)?;
    let mut bodies = Vec::new();
    for level in levels {
        let (body, after) = rest.split_at_checked(params.body_bytes(level)).ok_or_else(bad)?;
        let width = params.ring.bits(level);
        let words = bits::unpack(body, width, N);
        bodies.push(words.and_then(|words| restore(&params.ring, level, &words, width)).ok_or_else(bad)?);
        rest = after;
    }
    Ok((PublicSeed(*seed), bodies))
}

impl Wire<Params> for Keys {
    fn size(params: &Params) -> usize {
        params.bytes_of(params.key_bodies())
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        put(params, &self.seed, &self.bodies, params.key_bodies(), out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("keys", bytes, Self::size(params))?;
        let (seed, bodies) = take("keys", params, bytes, params.key_bodies())?;
        Ok(Keys { seed, bodies })
    }
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        params.bytes_of(params.query_bodies())
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        put(params, &self.seed, &self.bodies, params.query_bodies(), out);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let (seed, bodies) = take("query", params, bytes, params.query_bodies())?;
        Ok(Query { seed, bodies })
    }
}

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        params.answer_bytes()
    }

    fn put(&self, params: &Params, out: &mut Vec<u8>) {
        for page in &self.0 {
            for (words, width) in page.iter().zip(params.literal.answer_bits) {
                bits::pack_words(words, width.into(), out);
            }
        }
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, Self::size(params))?;
        let [mask, body] = params.literal.answer_bits.map(u32::from);
        let page = |bytes: &[u8]| {
            let (first, second) = bytes.split_at_checked(mask as usize * N / 8)?;
            Some([bits::unpack_words(first, mask, N)?, bits::unpack_words(second, body, N)?])
        };
        let pages: Option<Vec<_>> = bytes.chunks(bytes.len() / params.grid.pages).map(page).collect();
        Ok(Answer(pages.ok_or(PeerMisbehaved::NotCanonical("answer"))?))
    }
}
