//! The server: one pass each over the records, the weights and the masks, for a few queries at
//! once.

use crate::InspireTwo;
use crate::encode::encode;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::part_contents::PartContents;
use crate::second_layer::{BodySelector, Ciphertext, MaskSelector};
use rayon::prelude::*;
use sotto_core::{Image, ImageSection, Params as _, RecordSource, Result, Section, SectionRecords, Sink};
use sotto_lattice::ring::Ring;
use sotto_math::bits;
use sotto_math::matrix::{QueryPlanes, scan_planes};
use sotto_math::modulus_pair::round_to_bits;
use sotto_silent::lattice::{self, N, Q_BITS};
use sotto_silent::matrix::times;
use sotto_silent::packed_groups::{PackingKeys, residues};
use sotto_silent::weights::WeightLayout;
use std::sync::Arc;

/// Queries in one pass: their words have six planes, and twenty planes saturate the multipliers.
const BATCH: usize = 4;

/// An open table as a single part.
pub struct Server {
    part: PartServer,
    fresh: Option<BodySelector>,
}

/// An open part: some numbers of the first layer, and some groups of the second's masks.
pub struct PartServer {
    pub(crate) params: Params,
    pub(crate) share: PartContents,
    held: ImageSection,
    ring: Ring,
    weighing: WeightLayout,
    /// The selector of masks; none if there is one block.
    picking: Option<MaskSelector>,
}

/// The results of a part for a query.
pub(crate) struct PassOutput {
    /// Bodies of the part's numbers.
    pub(crate) bodies: Vec<u64>,
    /// Selected masks of the part's groups, or the mask of the only block, where there is one.
    pub(crate) masks: Vec<Ciphertext>,
}

impl sotto_core::Server<InspireTwo> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        encode(params, rows, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        Ok(Server {
            part: PartServer::open(params, PartContents::all(params), image)?,
            fresh: fresh(params)?,
        })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        let (layout, grid) = (params.literal().matrix(), params.clone());
        let read = move |matrix: &[u8], record: u64, offset: usize, out: &mut [u8]| {
            let (column, row) = grid.place(record);
            for (row, byte) in (row as usize + offset..).zip(out) {
                *byte = *matrix.get(layout.offset(row, column as usize))?;
            }
            Some(())
        };
        let (records, record_bytes) = (params.records(), params.record_bytes());
        Ok(Box::new(SectionRecords { held: held(params, image)?, records, record_bytes, read }))
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer: multiply the records by the first vectors of a few queries, and pack each block; multiply all blocks' ciphertexts
    /// by the second vectors, and pack that.
    fn answer_many(&self, queries: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let queries: Vec<Query> = queries.into_iter().map(|(_, query)| query).collect();
        let passed = self.part.passes(&queries);
        let answer = |(query, passed)| Ok(answer(self.fresh.as_ref(), query, passed));
        queries.par_iter().zip(passed).map(answer).collect()
    }
}

/// The selector of bodies, which have no precomputed data; `None` if there is one block.
pub(crate) fn fresh(params: &Params) -> Result<Option<BodySelector>> {
    if params.picks() > 0 { BodySelector::new(params).map(Some) } else { Ok(None) }
}

/// The answer, from the results of all parts.
pub(crate) fn answer(fresh: Option<&BodySelector>, query: &Query, passed: PassOutput) -> Answer {
    let PassOutput { bodies, mut masks } = passed;
    match fresh {
        Some(fresh) => masks.extend(fresh.picked(query, &bodies)),
        None => masks.iter_mut().for_each(|[_, body]| body.clone_from(&bodies)),
    }
    Answer(masks)
}

fn held(params: &Params, image: Arc<dyn Image>) -> Result<ImageSection> {
    let [_, _, _, _, end] = params.literal().starts();
    ImageSection::open(image, Section::Resident, "matrix", end)
}

impl PartServer {
    /// Opens an image of one part of a table.
    pub(crate) fn open(params: &Params, share: PartContents, image: Arc<dyn Image>) -> Result<Self> {
        let [first, _] = params.bits();
        let weighing = WeightLayout::new(params.numbers(), params.blocks(), first)?;
        Ok(PartServer {
            params: params.clone(),
            held: ImageSection::open(image, Section::Resident, "matrix", share.bytes(params))?,
            ring: lattice::ring()?,
            weighing: weighing.of_some(share.numbers.len()),
            picking: if params.picks() > 0 {
                Some(MaskSelector::new(params, share.groups.clone())?)
            } else {
                None
            },
            share,
        })
    }

    /// Computes both layers, for a few queries at once.
    pub(crate) fn passes(&self, queries: &[Query]) -> Vec<PassOutput> {
        queries.chunks(BATCH).flat_map(|some| self.pass(some)).collect()
    }

    fn pass(&self, queries: &[Query]) -> Vec<PassOutput> {
        let (literal, [planes, _]) = (self.params.literal(), self.params.planes());
        let [_, weights, masks, packing, end] = self.share.starts(&self.params);
        let part = |start: u64, end: u64| self.held.bytes().get(start as usize..end as usize).unwrap_or(&[]);
        let layout = self.share.matrix(&self.params);
        let first = |query: &Query| QueryPlanes::from_u64(&query.vectors[0], planes, &layout);
        let words: Vec<QueryPlanes> = queries.iter().map(first).collect();
        let sums = times(part(0, weights), &layout, &words, planes, scan_planes);
        let dropped = Q_BITS.saturating_sub(u32::from(literal.key_bits));
        let keys: Vec<PackingKeys> =
            queries.iter().map(|query| PackingKeys::first(&query.key, dropped)).collect();
        let planes: Vec<QueryPlanes> = keys.iter().map(|keys| keys.planes().clone()).collect();
        let added = self.weighing.bodies(part(weights, masks), &planes);
        let bodies: Vec<Vec<u64>> =
            sums.par_iter().zip(&added).map(|(sums, added)| self.bodies(sums, added)).collect();
        let picked = match &self.picking {
            Some(picking) => picking.masks(part(masks, packing), part(packing, end), queries, &keys),
            // There is nothing to select: the only block's mask is sent as it is.
            None if self.share.first => {
                vec![vec![[self.mask(part(masks, packing)), Vec::new()]]; queries.len()]
            }
            None => vec![Vec::new(); queries.len()],
        };
        bodies.into_iter().zip(picked).map(|(bodies, masks)| PassOutput { bodies, masks }).collect()
    }

    /// The bodies of all blocks' ciphertexts, in the bits of the next step: products, plus the
    /// contributions of packing.
    fn bodies(&self, sums: &[i64], added: &[u64]) -> Vec<u64> {
        let (q, [planes, _], [bits, _]) = (self.ring.q(), self.params.planes(), self.params.bits());
        let rows = 2 * self.share.numbers.len();
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
