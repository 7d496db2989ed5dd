//! The server: one pass over the records, the weights and the masks each, and one over the digits, for a few queries at once.

use crate::InspireTwo;
use crate::encode::encode;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::sizes::GROUP;
use rayon::prelude::*;
use sotto_core::server::together;
use sotto_core::{Held, Image, Params as _, Result, Rows, Section, Sink, Stored};
use sotto_lattice::inspiring::Inspiring;
use sotto_lattice::ring::{Level, Ring};
use sotto_math::basis::round_to_bits;
use sotto_math::bits;
use sotto_math::matrix::{QueryPlanes, scan_planes};
use sotto_math::tiles::Turned;
use sotto_silent::lattice::{self, N, Q_BITS, VECTORS};
use sotto_silent::matrix::times;
use sotto_silent::packed::{Packed, residues};
use sotto_silent::samples::Samples;
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
    packed: Packed,
    /// The masks of bodies' products with the second vector, and what packs those of each group of bodies.
    fresh: Samples,
    packings: Vec<Inspiring>,
}

/// A query as the passes take it.
struct Prepared {
    planes: [QueryPlanes; 2],
    key: QueryPlanes,
    turned: Turned,
    /// The key's bodies in slots, and the words of the second vector.
    bodies: Vec<Vec<u64>>,
    words: Vec<u64>,
}

impl sotto_core::Server<InspireTwo> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        encode(params, rows, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let (literal, [first, second], [_, of_masks]) = (params.literal(), params.bits(), VECTORS);
        let [_, groups] = params.groups();
        let packing = |numbers: &usize| lattice::packing(numbers.next_power_of_two());
        Ok(Server {
            params: params.clone(),
            held: held(params, image)?,
            ring: lattice::ring()?,
            weighing: Weighing::new(params.numbers(), params.blocks(), first)?,
            packed: Packed::few(GROUP, literal.mask_groups(), second)?,
            fresh: Samples::new(literal.masks(), of_masks)?,
            packings: groups.iter().map(packing).collect::<Result<_>>()?,
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
        together(prepared, |queries: Vec<Prepared>| {
            queries.chunks(BATCH).flat_map(|some| self.answers(some)).map(Ok).collect()
        })
    }
}

fn held(params: &Params, image: Arc<dyn Image>) -> Result<Held> {
    let [_, _, _, _, end] = params.literal().starts();
    Held::open(image, Section::Resident, "matrix", end)
}

impl Server {
    fn prepare(&self, Query { vectors, key }: Query) -> Prepared {
        let (literal, [planes, more]) = (self.params.literal(), self.params.planes());
        let [first, second] = &vectors;
        let cut = [
            QueryPlanes::from_u64(first, planes, &literal.matrix()),
            QueryPlanes::from_u64(second, more, &literal.masks()),
        ];
        let dropped = Q_BITS.saturating_sub(u32::from(literal.key_bits));
        let slots = |body: &[u64]| {
            let mut slots: Vec<u64> = body.iter().map(|word| self.ring.q().reduce(word << dropped)).collect();
            self.ring.forward(Level::Main, &mut slots);
            slots
        };
        let bodies: Vec<Vec<u64>> = key.chunks_exact(N).map(slots).collect();
        let [_, words] = vectors;
        Prepared {
            planes: cut,
            key: self.weighing.planes(&key),
            turned: self.packed.turned(&bodies),
            bodies,
            words,
        }
    }

    fn answers(&self, queries: &[Prepared]) -> Vec<Answer> {
        let (literal, [first_planes, second_planes]) = (self.params.literal(), self.params.planes());
        let [_, weights, masks, digits, end] = literal.starts();
        let part = |start: u64, end: u64| self.held.bytes().get(start as usize..end as usize).unwrap_or(&[]);
        let each =
            |of: fn(&Prepared) -> &QueryPlanes| queries.iter().map(|query| of(query).clone()).collect();
        let [of_records, of_masks, keys]: [Vec<QueryPlanes>; 3] =
            [each(|query| &query.planes[0]), each(|query| &query.planes[1]), each(|query| &query.key)];
        let records = times(part(0, weights), &literal.matrix(), &of_records, first_planes, scan_planes);
        let added = self.weighing.bodies(part(weights, masks), &keys);
        let picked = times(part(masks, digits), &literal.masks(), &of_masks, second_planes, scan_planes);
        let picked: Vec<Vec<u64>> =
            picked.iter().map(|sums| self.packed.products(sums, second_planes)).collect();
        let turned: Vec<&Turned> = queries.iter().map(|query| &query.turned).collect();
        let packed = self.packed.pack(part(digits, end), &turned, &picked);
        let all = queries.par_iter().zip(&records).zip(&added).zip(packed);
        all.map(|(((query, records), added), masks)| self.answer_one(query, masks, records, added)).collect()
    }

    /// The packed masks, of which the last group is not full, and after them the packed bodies.
    fn answer_one(
        &self,
        query: &Prepared,
        mut groups: Vec<[Vec<u64>; 2]>,
        records: &[i64],
        added: &[u64],
    ) -> Answer {
        let [of_masks, _] = self.params.groups();
        groups.iter_mut().zip(&of_masks).for_each(|([_, body], numbers)| body.truncate(*numbers));
        groups.extend(self.pack(query, &self.fresh(&self.bodies(records, added))));
        Answer(groups)
    }

    /// The bodies of all blocks' ciphertexts, in the bits that the second layer picks: products, and what packing adds.
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

    /// The bodies as numbers of sixteen bits: of each the values in all blocks.
    fn fresh(&self, bodies: &[u64]) -> Vec<Vec<i16>> {
        let [bits, _] = self.params.bits();
        let mut fresh = vec![Vec::with_capacity(self.params.blocks()); self.params.body_bytes().div_ceil(2)];
        let mut bytes = Vec::new();
        for block in bodies.chunks_exact(self.params.numbers()) {
            bytes.clear();
            bits::pack_words(block, bits.body, &mut bytes);
            bytes.resize(2 * fresh.len(), 0);
            fresh
                .iter_mut()
                .zip(bytes.as_chunks().0)
                .for_each(|(row, pair)| row.push(i16::from_le_bytes(*pair)));
        }
        fresh
    }

    /// Multiplies fresh numbers by the second vector, and packs the products, whose masks nobody could know before.
    fn pack(&self, query: &Prepared, fresh: &[Vec<i16>]) -> Vec<[Vec<u64>; 2]> {
        let (q, [_, bits]) = (self.ring.q(), self.params.bits());
        let product = |row: &Vec<i16>| {
            let terms = row.iter().zip(&query.words).map(|(x, word)| i128::from(*x) * i128::from(*word));
            // Below 2^(15 + 50 + 16) in absolute value.
            let sum = terms.sum::<i128>() << bits.dropped();
            q.reduce_u128((sum + (i128::from(q.value()) << 64)) as u128)
        };
        let group = |(rows, packing): (&[Vec<i16>], &Inspiring)| {
            let mut bodies: Vec<u64> = rows.iter().map(product).collect();
            let mut masks = self.fresh.of_fresh(rows);
            bodies.resize(packing.samples(), 0);
            masks.resize(packing.samples() * N, 0);
            let [mut mask, mut body] = packing.pack(&masks, &bodies, &query.bodies);
            self.ring.inverse(Level::Main, &mut mask);
            body.truncate(rows.len());
            [(mask, bits.mask), (body, bits.body)].map(|(exact, bits)| {
                let mut rounded = vec![0; exact.len()];
                round_to_bits(q, &exact, bits, &mut rounded);
                rounded
            })
        };
        fresh.par_chunks(GROUP).zip(&self.packings).map(group).collect()
    }
}
