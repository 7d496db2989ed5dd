//! The server: one pass each over the records, the weights and the masks, for a few queries at once.
//!
//! A part has some numbers of all blocks, with their rows of the matrix and their weights, and some
//! groups of the second layer's masks; its result is the bodies of these numbers, and selected masks.
//! Bodies are selected at last, since that takes those of all blocks.

use crate::encode::{Layers, packings};
use crate::literal::GROUP;
use crate::{InspireTwo, Params};
use rayon::prelude::*;
use sotto_core::{Misuse, PartIndex, RecordChange, RecordSource, Result, Sink};
use sotto_lattice::inspiring::Inspiring;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_math::bits;
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_planes};
use sotto_silent::MatrixServer;
use sotto_silent::groups::{Groups, MaskLayout};
use sotto_silent::lattice::{self, N, PackingDigits, Q_BITS, VECTORS, weight_layout};
use sotto_silent::matrix::{Matrix, times};
use sotto_silent::message::{Field, Partial, PartialFormat, Query};
use sotto_silent::packed_groups::{PackedGroups, PackingKeys, residues, rounded};
use sotto_silent::packed_matrix::BATCH;
use sotto_silent::pieces::{PartSection, Piece};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::samples::SampleMasks;
use sotto_silent::weights::WeightLayout;
use std::ops::Range;

/// Numbers that are not divided: two rows of the matrix each and three of the weights, and both in
/// whole panels.
const TOGETHER: usize = 64;

/// The contents of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartContents {
    /// Numbers of all blocks, one block after the other.
    pub(crate) numbers: Range<usize>,
    /// Groups of masks.
    pub(crate) groups: Range<usize>,
}

impl PartContents {
    /// The contents of a whole table.
    pub(crate) fn all(params: &Params) -> Self {
        let [groups, _] = params.groups();
        PartContents { numbers: 0..params.numbers() * params.blocks as usize, groups: 0..groups.len() }
    }

    /// The contents of one part.
    pub(crate) fn of(params: &Params, cut: PartIndex) -> Self {
        let all = PartContents::all(params);
        let numbers = cut.share(Self::most(params));
        let number = |units: u64| (units as usize * TOGETHER).min(all.numbers.end);
        let groups = cut.share(all.groups.end as u64);
        PartContents {
            numbers: number(numbers.start)..number(numbers.end),
            groups: groups.start as usize..groups.end as usize,
        }
    }

    /// Maximum number of parts.
    pub(crate) fn most(params: &Params) -> u64 {
        PartContents::all(params).numbers.end.div_ceil(TOGETHER) as u64
    }

    /// The part's rows of the matrix.
    pub(crate) fn matrix(&self, params: &Params) -> PanelLayout {
        PanelLayout::new(2 * self.numbers.len(), params.columns() as usize)
    }

    /// The part's rows of the second matrix.
    fn masks(&self, params: &Params) -> PanelLayout {
        params.masks_of(self.groups.clone())
    }

    /// Matrix, weights, masks, and the masks' weights, with what the part has of them.
    fn pieces(&self, params: &Params) -> Vec<Piece> {
        let sizes = |share: &PartContents| {
            let rows = [share.matrix(params), weight_layout(share.numbers.len(), 1), share.masks(params)];
            rows.map(|layout| layout.bytes() as u64)
        };
        let before = PartContents { numbers: 0..self.numbers.start, groups: 0..self.groups.start };
        let sizes = sizes(&PartContents::all(params)).into_iter().zip(sizes(&before)).zip(sizes(self));
        let piece = |((bytes, before), own): ((u64, u64), u64)| Piece { bytes, part: before..before + own };
        let mut all: Vec<Piece> = sizes.map(piece).collect();
        let mut first = 0;
        for groups in params.packings() {
            let local = |group: usize| group.clamp(first, first + groups.count()) - first;
            let own = local(self.groups.start)..local(self.groups.end);
            all.extend(groups.pieces(&own, MaskLayout::ARTIFACT));
            first += groups.count();
        }
        all
    }
}

/// An open table, or a part of one: some numbers of the first layer, and some groups of the second's
/// masks.
pub struct Server {
    params: Params,
    share: PartContents,
    matrix: Matrix,
    held: PartSection,
    ring: Ring,
    weighing: WeightLayout,
    /// The selector of masks; none if there is one block.
    picking: Option<MaskSelector>,
}

/// A query in the form that the passes take.
pub struct ExpandedQuery {
    first: QueryPlanes,
    second: Option<QueryPlanes>,
    key: PackingKeys,
}

impl MatrixServer<InspireTwo> for Server {
    const BATCH: usize = BATCH;
    type Expanded = ExpandedQuery;
    /// The selector of bodies, which have no precomputed data; none if there is one block.
    type Joiner = Option<BodySelector>;

    fn pieces(params: &Params, cut: PartIndex) -> Vec<Piece> {
        PartContents::of(params, cut).pieces(params)
    }

    fn write(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        Layers::new(params)?.encode(rows, out)
    }

    fn update_image(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        Layers::new(params)?.update_image(changes, out)
    }

    fn records(params: &Params, held: PartSection) -> Box<dyn RecordSource> {
        let grid = params.clone();
        let place = move |record| {
            let (column, row) = grid.place(record);
            (row as usize, column as usize)
        };
        let (records, record_bytes) = (params.records, params.record_bytes as usize);
        Matrix::new(params.matrix(), held, 0).cut_into(records, record_bytes, place)
    }

    fn max_parts(params: &Params) -> u32 {
        u32::try_from(PartContents::most(params)).unwrap_or(u32::MAX)
    }

    fn partial(params: &Params, cut: PartIndex) -> PartialFormat {
        let (share, [first, _]) = (PartContents::of(params, cut), params.bits());
        let bodies = Field::words(share.numbers.len() as u64, first.body);
        PartialFormat { words: vec![bodies], ciphers: params.bodies(share.groups) }
    }

    fn open(params: &Params, cut: PartIndex, held: PartSection) -> Result<Self> {
        let (share, [first, _]) = (PartContents::of(params, cut), params.bits());
        let weighing = WeightLayout::new(params.numbers(), params.blocks as usize, first)?;
        let picks = (params.picks() > 0).then(|| MaskSelector::new(params, share.groups.clone()));
        Ok(Server {
            params: params.clone(),
            matrix: Matrix::new(share.matrix(params), held.clone(), 0),
            held,
            ring: lattice::ring()?,
            weighing: weighing.of_some(share.numbers.len()),
            picking: picks.transpose()?,
            share,
        })
    }

    fn joiner(params: &Params) -> Result<Option<BodySelector>> {
        (params.picks() > 0).then(|| BodySelector::new(params)).transpose()
    }

    fn expand(&self, params: &Params, (): &(), Query(fields): &Query) -> Result<ExpandedQuery> {
        let [columns, blocks, key] = fields.as_slice() else {
            return Err(Misuse::ForeignValue("query").into());
        };
        let [first, second] = params.bits();
        let planes = |words: &[u64], bits: u32, layout: &PanelLayout| {
            QueryPlanes::from_u64(words, bits.div_ceil(8) as usize, layout)
        };
        let dropped = Q_BITS.saturating_sub(first.keys);
        Ok(ExpandedQuery {
            first: planes(columns, first.query, self.matrix.layout()),
            second: self.picking.as_ref().map(|picking| planes(blocks, second.query, &picking.layout())),
            key: PackingKeys::first(key, dropped),
        })
    }

    /// The paper's Answer: multiply the records by the first vectors of a few queries, and pack each
    /// block; multiply all blocks' ciphertexts by the second vectors, and pack that.
    fn pass(&self, _: &Params, queries: &[ExpandedQuery]) -> Vec<Partial> {
        let (weights, masks, packing) = (self.held.piece(1), self.held.piece(2), self.held.rest(3));
        let first: Vec<&QueryPlanes> = queries.iter().map(|query| &query.first).collect();
        let sums = self.matrix.times_planes(&first);
        let keys: Vec<&PackingKeys> = queries.iter().map(|query| &query.key).collect();
        let planes: Vec<&QueryPlanes> = keys.iter().map(|key| key.planes()).collect();
        let added = self.weighing.bodies(weights, &planes);
        let bodies: Vec<Vec<u64>> =
            sums.par_iter().zip(&added).map(|(sums, added)| self.bodies(sums, added)).collect();
        let second: Vec<&QueryPlanes> = queries.iter().filter_map(|query| query.second.as_ref()).collect();
        let picked = match &self.picking {
            Some(picking) => picking.masks(masks, packing, &second, &keys),
            None => vec![Vec::new(); queries.len()],
        };
        let passed = |(bodies, ciphers): (Vec<u64>, Vec<Vec<u64>>)| Partial { words: vec![bodies], ciphers };
        bodies.into_iter().zip(picked).map(passed).collect()
    }

    fn finish(
        _: &Params,
        fresh: &Option<BodySelector>,
        (): &(),
        Query(query): &Query,
        Partial { words, ciphers: mut answer }: Partial,
    ) -> Result<Vec<Vec<u64>>> {
        // The only block's bodies are the numbers.
        let Some(fresh) = fresh else { return Ok(words) };
        let ([_, vector, key], [bodies]) = (query.as_slice(), words.as_slice()) else {
            return Err(Misuse::ForeignValue("query").into());
        };
        answer.extend(fresh.picked(vector, key, bodies).into_iter().flatten());
        Ok(answer)
    }
}

impl Server {
    /// The bodies of all blocks' ciphertexts, in the bits of the next step: products, plus the
    /// contributions of packing.
    fn bodies(&self, sums: &[i64], added: &[u64]) -> Vec<u64> {
        let (q, [bits, _]) = (self.ring.q(), self.params.bits());
        let planes = bits.query.div_ceil(8) as usize;
        let rows = 2 * self.share.numbers.len();
        let sums = sums.get(..rows * planes).unwrap_or_default();
        let mut bodies = residues(&self.ring, sums, [2, planes], bits.dropped());
        bodies.iter_mut().zip(added).for_each(|(body, added)| *body = q.add(*body, *added));
        rounded(&self.ring, &bodies, bits.body)
    }
}

// The second layer: a second vector selects one of the ciphertexts of all blocks.

/// Selects masks, or some groups of them.
pub(crate) struct MaskSelector {
    params: Params,
    ring: Ring,
    groups: Range<usize>,
    /// The packings of masks, in the order of their numbers.
    packed: Vec<PackedGroups>,
    packings: Vec<Groups>,
}

/// Selects bodies.
pub struct BodySelector {
    params: Params,
    ring: Ring,
    /// The masks of bodies' products with the second vector, followed by the packings of each group
    /// of bodies.
    fresh: SampleMasks,
    packings: Vec<Inspiring>,
}

/// The mask and the body of a packed ciphertext.
pub(crate) type Ciphertext = [Vec<u64>; 2];

impl MaskSelector {
    /// A selector for some groups of masks.
    pub(crate) fn new(params: &Params, groups: Range<usize>) -> Result<Self> {
        let packings = params.packings_of(groups.clone());
        let packed = self::packings(params, &packings)?;
        Ok(MaskSelector { params: params.clone(), ring: lattice::ring()?, groups, packed, packings })
    }

    /// The layout of the part's rows of the second matrix.
    pub(crate) fn layout(&self) -> PanelLayout {
        self.params.masks_of(self.groups.clone())
    }

    /// The bodies of the selected masks: one pass over those of all blocks, and one over the weights.
    pub(crate) fn masks(
        &self,
        masks: &[u8],
        mut weights: &[u8],
        queries: &[&QueryPlanes],
        keys: &[&PackingKeys],
    ) -> Vec<Vec<Vec<u64>>> {
        let [_, bits] = self.params.bits();
        let planes = bits.query.div_ceil(8) as usize;
        let sums = times(masks, &self.layout(), queries, planes, scan_planes);
        let products = |sums: &Vec<i64>| residues(&self.ring, sums, [2, planes], bits.dropped());
        let products: Vec<Vec<u64>> = sums.iter().map(products).collect();
        let (mut all, mut first) = (vec![Vec::new(); queries.len()], 0);
        for (packed, groups) in self.packed.iter().zip(&self.packings) {
            let (these, rest) = weights.split_at(packed.bytes() as usize);
            let of_these = |products: &Vec<u64>| products.iter().skip(first).copied().collect();
            let products: Vec<Vec<u64>> = products.iter().map(of_these).collect();
            let ciphers = packed.pack(these, keys, &packed.weigh(these, keys), &products);
            all.iter_mut().zip(ciphers).for_each(|(all, ciphers)| all.extend(ciphers));
            (weights, first) = (rest, first + groups.numbers());
        }
        // The last group is cut to its size.
        let [numbers, _] = self.params.groups();
        for all in &mut all {
            let numbers = numbers.iter().skip(self.groups.start);
            all.iter_mut().zip(numbers).for_each(|(body, numbers)| body.truncate(*numbers));
        }
        all
    }
}

impl BodySelector {
    pub(crate) fn new(params: &Params) -> Result<Self> {
        let ([_, groups], [_, of_masks]) = (params.groups(), VECTORS);
        let packing = |numbers: &usize| PackingDigits::TWO.packing(numbers.next_power_of_two());
        Ok(BodySelector {
            params: params.clone(),
            ring: lattice::ring()?,
            fresh: SampleMasks::under(params.mask_matrix(), PlainModulus::PAIR, of_masks)?,
            packings: groups.iter().map(packing).collect::<Result<_>>()?,
        })
    }

    /// The bodies of all blocks that the words of a second vector select, packed with a key.
    pub(crate) fn picked(&self, words: &[u64], key: &[u64], bodies: &[u64]) -> Vec<Ciphertext> {
        let dropped = Q_BITS.saturating_sub(u32::from(self.params.key_bits));
        let slots = |body: &[u64]| {
            let mut slots: Vec<u64> = body.iter().map(|word| self.ring.q().reduce(word << dropped)).collect();
            self.ring.forward(ModulusLevel::Main, &mut slots);
            slots
        };
        let key: Vec<Vec<u64>> = key.chunks_exact(N).map(slots).collect();
        self.pack(words, &key, &self.numbers(bodies))
    }

    /// Bodies as numbers of sixteen bits: for each number its values in all blocks.
    fn numbers(&self, bodies: &[u64]) -> Vec<Vec<i16>> {
        let [bits, _] = self.params.bits();
        let count = self.params.body_bytes().div_ceil(2);
        let (mut numbers, mut bytes) =
            (vec![Vec::with_capacity(self.params.blocks as usize); count], Vec::new());
        for block in bodies.chunks_exact(self.params.numbers()) {
            bytes.clear();
            bits::pack_words(block, bits.body, &mut bytes);
            bytes.resize(2 * count, 0);
            let pairs = bytes.as_chunks().0;
            numbers.iter_mut().zip(pairs).for_each(|(row, pair)| row.push(i16::from_le_bytes(*pair)));
        }
        numbers
    }

    /// Multiplies numbers by the second vector, and packs the products, whose masks cannot be
    /// precomputed.
    fn pack(&self, words: &[u64], key: &[Vec<u64>], numbers: &[Vec<i16>]) -> Vec<Ciphertext> {
        let [_, bits] = self.params.bits();
        let product = |row: &Vec<i16>| self.fresh.fresh_product(row, words, bits.dropped());
        let group = |(rows, packing): (&[Vec<i16>], &Inspiring)| {
            let mut bodies: Vec<u64> = rows.iter().map(product).collect();
            let mut masks = self.fresh.of_fresh(rows);
            bodies.resize(packing.samples(), 0);
            masks.resize(packing.samples() * N, 0);
            let [mut mask, mut body] = packing.pack(&masks, &bodies, key);
            self.ring.inverse(ModulusLevel::Main, &mut mask);
            body.truncate(rows.len());
            [(mask, bits.mask), (body, bits.body)].map(|(exact, bits)| rounded(&self.ring, &exact, bits))
        };
        numbers.par_chunks(GROUP).zip(&self.packings).map(group).collect()
    }
}
