//! The server: one pass over the records, the weights and the masks each, for a few queries at once.

use crate::InspireTwo;
use crate::encode::encode;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::second::{Pick, Second};
use rayon::prelude::*;
use sotto_core::server::together;
use sotto_core::{Held, Image, Params as _, Result, Rows, Section, Sink, Stored};
use sotto_lattice::ring::{Level, Ring};
use sotto_math::basis::round_to_bits;
use sotto_math::bits;
use sotto_math::matrix::{QueryPlanes, scan_planes};
use sotto_silent::lattice::{self, N, Q_BITS};
use sotto_silent::matrix::times;
use sotto_silent::packed::{Keys, residues};
use sotto_silent::weights::Weighing;
use std::sync::Arc;

/// Queries in one pass: their words are of six planes, and twenty planes keep the multipliers busy.
const BATCH: usize = 4;

/// An open table.
pub struct Server {
    params: Params,
    held: Held,
    ring: Ring,
    weighing: Weighing,
    /// Of one block there is nothing to pick.
    second: Option<Second>,
}

/// A query as the passes take it.
struct Prepared {
    words: QueryPlanes,
    pick: Pick,
}

impl sotto_core::Server<InspireTwo> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        encode(params, rows, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let [first, _] = params.bits();
        Ok(Server {
            params: params.clone(),
            held: held(params, image)?,
            ring: lattice::ring()?,
            weighing: Weighing::new(params.numbers(), params.blocks(), first)?,
            second: if params.picks() > 0 { Some(Second::new(params)?) } else { None },
        })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn Rows>> {
        let (layout, grid) = (params.literal().matrix(), params.clone());
        let read = move |matrix: &[u8], record: u64, offset: usize, out: &mut [u8]| {
            let (column, row) = grid.place(record);
            for (row, byte) in (row as usize + offset..).zip(out) {
                *byte = *matrix.get(layout.offset(row, column as usize))?;
            }
            Some(())
        };
        let (records, record_bytes) = (params.records(), params.record_bytes());
        Ok(Box::new(Stored { held: held(params, image)?, records, record_bytes, read }))
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer: multiply the records by the first vectors of a few queries, and pack each block; multiply all blocks' ciphertexts
    /// by the second vectors, and pack that.
    fn answer_many(&self, asks: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let prepared = asks.into_iter().map(|(_, query)| Ok(self.prepare(query))).collect();
        together(prepared, |mut queries: Vec<Prepared>| {
            let mut answers = Vec::new();
            while !queries.is_empty() {
                let rest = queries.split_off(BATCH.min(queries.len()));
                answers.extend(self.answers(std::mem::replace(&mut queries, rest)).into_iter().map(Ok));
            }
            answers
        })
    }
}

fn held(params: &Params, image: Arc<dyn Image>) -> Result<Held> {
    let [_, _, _, _, end] = params.literal().starts();
    Held::open(image, Section::Resident, "matrix", end)
}

impl Server {
    fn prepare(&self, Query { vectors: [first, words], key }: Query) -> Prepared {
        let (literal, [planes, _]) = (self.params.literal(), self.params.planes());
        let dropped = Q_BITS.saturating_sub(u32::from(literal.key_bits));
        let slots = |body: &[u64]| {
            let mut slots: Vec<u64> = body.iter().map(|word| self.ring.q().reduce(word << dropped)).collect();
            self.ring.forward(Level::Main, &mut slots);
            slots
        };
        Prepared {
            words: QueryPlanes::from_u64(&first, planes, &literal.matrix()),
            pick: Pick {
                words,
                keys: Keys::first(&key, dropped),
                key: key.chunks_exact(N).map(slots).collect(),
            },
        }
    }

    fn answers(&self, queries: Vec<Prepared>) -> Vec<Answer> {
        let (literal, [planes, _]) = (self.params.literal(), self.params.planes());
        let [_, weights, masks, packing, end] = literal.starts();
        let part = |start: u64, end: u64| self.held.bytes().get(start as usize..end as usize).unwrap_or(&[]);
        let (mut words, mut picks) = (Vec::new(), Vec::new());
        for query in queries {
            words.push(query.words);
            picks.push(query.pick);
        }
        let sums = times(part(0, weights), &literal.matrix(), &words, planes, scan_planes);
        let keys: Vec<QueryPlanes> = picks.iter().map(|pick: &Pick| pick.keys.planes().clone()).collect();
        let added = self.weighing.bodies(part(weights, masks), &keys);
        let bodies: Vec<Vec<u64>> =
            sums.par_iter().zip(&added).map(|(sums, added)| self.bodies(sums, added)).collect();
        let masks = (part(masks, packing), part(packing, end));
        match &self.second {
            Some(second) => second.answers(masks, &picks, &bodies),
            None => bodies.into_iter().map(|bodies| Answer(vec![[self.mask(masks.0), bodies]])).collect(),
        }
    }

    /// The bodies of all blocks' ciphertexts, in the bits that come next: products, and what packing adds.
    fn bodies(&self, sums: &[i64], added: &[u64]) -> Vec<u64> {
        let (q, [planes, _], [bits, _]) = (self.ring.q(), self.params.planes(), self.params.bits());
        let rows = self.params.literal().matrix().rows();
        let sums = sums.get(..rows * planes).unwrap_or_default();
        let mut bodies = residues(&self.ring, sums, [2, planes], bits.dropped());
        bodies.iter_mut().zip(added).for_each(|(body, added)| *body = q.add(*body, *added));
        let mut rounded = vec![0; bodies.len()];
        round_to_bits(q, &bodies, bits.body, &mut rounded);
        rounded
    }

    /// The mask of the only block.
    fn mask(&self, masks: &[u8]) -> Vec<u64> {
        let (layout, [bits, _]) = (self.params.literal().masks(), self.params.bits());
        let byte = |row| masks.get(layout.offset(row, 0)).copied();
        let bytes: Vec<u8> = (0..layout.rows()).filter_map(byte).collect();
        bits::unpack_words(&bytes, bits.mask, N).unwrap_or_else(|| vec![0; N])
    }
}
