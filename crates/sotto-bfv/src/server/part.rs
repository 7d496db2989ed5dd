//! Tables in parts: a part has some columns of each table, and its partial is what the method makes
//! of these. The join concatenates partials, or adds them.
//!
//! Columns of slots are merged one after the other, and the bytes depend on the order. So a part
//! has all columns of an answer, and merges them. There may be more parts than answers: then the
//! join merges.
//!
//! Every part makes the selectors by itself.

use super::image::{ColumnRange, PlaintextTable, shape};
use super::{AdmittedKeys, Server, answer, shares};
use crate::evaluator::PartialShape;
use crate::family::{Bfv, Family, Method};
use crate::message::{Answer, Keys, Query};
use crate::params::Params;
use sotto_core::{Image, PartIndex, PartScheme, PeerMisbehaved, Result};
use sotto_lattice::bgv::wire::{body_bytes, put_body, take_body};
use sotto_lattice::bgv::{Ciphertext, Level};
use sotto_math::tiles::TileLayout;
use std::ops::Range;
use std::sync::Arc;

/// The columns of each table that a part has: those of whole answers, or at least whole groups of
/// columns.
fn share_of<F: Family>(params: &Params<F>, cut: PartIndex) -> ColumnRange {
    let (cols, merged) = (params.layout.cols(), params.layout.merged);
    let answers = (1..=TileLayout::GROUP_COLS).map(|times| times * merged);
    let answers = answers.filter(|cols| cols.is_multiple_of(TileLayout::GROUP_COLS)).min().unwrap_or(cols);
    let whole = cut.parts() as usize <= cols.div_ceil(answers);
    let unit = if whole { answers } else { TileLayout::GROUP_COLS };
    let share = cut.share(cols.div_ceil(unit) as u64);
    let place = |units: u64| (units as usize * unit).min(cols);
    ColumnRange { cols: place(share.start)..place(share.end), whole: whole || merged == 1 }
}

/// The shape of a partial's ciphertexts, and their level.
fn shared<F: Family>(params: &Params<F>, cut: PartIndex) -> (PartialShape, Level) {
    let ColumnRange { cols, whole } = share_of(params, cut);
    let mut shared = params.method.partial_shape(&params.layout, &cols);
    if whole {
        shared.ciphers = shared.ciphers.div_ceil(params.layout.merged);
    }
    (shared, params.ring.level(shared.primes).unwrap_or(params.ring.top()))
}

/// Decodes the ciphertexts of a partial.
fn take<F: Family>(params: &Params<F>, cut: PartIndex, partial: &[u8]) -> Option<Vec<Ciphertext>> {
    let (PartialShape { parts, .. }, level) = shared(params, cut);
    let bodies = partial.chunks(body_bytes(&params.ring, level));
    let bodies: Option<Vec<Vec<u64>>> = bodies.map(|body| take_body(&params.ring, level, body)).collect();
    let cipher = |bodies: &[Vec<u64>]| {
        let bodies: Vec<&[u64]> = bodies.iter().map(Vec::as_slice).collect();
        Ciphertext::new(&params.ring, level, &bodies)
    };
    Some(bodies?.chunks(parts).map(cipher).collect())
}

impl<F: Family> PartScheme for Bfv<F> {
    type Part = Server<F>;
    type Joiner = ();

    fn max_parts(params: &Params<F>) -> u32 {
        u32::try_from(params.layout.cols().div_ceil(TileLayout::GROUP_COLS)).unwrap_or(u32::MAX)
    }

    fn part_ranges(params: &Params<F>, cut: PartIndex) -> Vec<Range<u64>> {
        let (ColumnRange { cols, .. }, layout) = (share_of(params, cut), &params.layout);
        let Ok(shape) = shape(params) else { return Vec::new() };
        let tiles = shape.layout();
        let regions = (0..(layout.tables() * layout.primes) as u64).map(|region| region * tiles.bytes());
        let of_region = |region: u64| {
            let ranges = tiles.columns(cols.clone());
            ranges.map(move |range| region + range.start..region + range.end)
        };
        regions.flat_map(of_region).collect()
    }

    fn open_part(params: &Params<F>, cut: PartIndex, image: Arc<dyn Image>) -> Result<Server<F>> {
        Ok(Server { table: PlaintextTable::open_some(params, share_of(params, cut), image)? })
    }

    fn partial_bytes(params: &Params<F>, cut: PartIndex) -> usize {
        let (PartialShape { ciphers, parts, .. }, level) = shared(params, cut);
        ciphers * parts * body_bytes(&params.ring, level)
    }

    fn admit(params: &Params<F>, keys: Keys) -> Result<AdmittedKeys<F>> {
        AdmittedKeys::new(params, &keys)
    }

    fn answer_part(part: &Server<F>, queries: Vec<(&AdmittedKeys<F>, Query)>) -> Vec<Result<Vec<u8>>> {
        let ring = &part.table.params().ring;
        let written = |ciphers: Vec<Ciphertext>| {
            let mut out = Vec::new();
            for cipher in &ciphers {
                (0..cipher.parts()).for_each(|i| put_body(ring, cipher.level(), cipher.part(i), &mut out));
            }
            out
        };
        shares(&part.table, &queries).into_iter().map(|share| share.map(written)).collect()
    }

    fn prepare_join(_: &Params<F>) -> Result<()> {
        Ok(())
    }

    fn join(
        params: &Params<F>,
        (): &(),
        session: &AdmittedKeys<F>,
        _: Query,
        partials: &[Vec<u8>],
    ) -> Result<Answer> {
        let parts = u32::try_from(partials.len()).unwrap_or(u32::MAX);
        let shares = PartIndex::all(parts).zip(partials).map(|(cut, partial)| take(params, cut, partial));
        let shares: Option<Vec<Vec<Ciphertext>>> = shares.collect();
        let shares = shares.ok_or(PeerMisbehaved::NotCanonical("partial"))?;
        let whole = PartIndex::new(0, parts).is_none_or(|cut| share_of(params, cut).whole);
        Ok(answer(params, session, whole, shares))
    }
}
