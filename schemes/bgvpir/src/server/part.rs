//! Tables in parts: a part has some columns of all layers, and its partial answer is the sum of
//! their products with u, of three parts, for each layer of which it has some. The coordinator adds
//! these, and relinearizes.
//!
//! Every part rotates and unfolds for itself.

use super::answer::{self, layers_of};
use super::image::{PlaintextTable, columns, offset, shape};
use super::{Server, Session, with_keys};
use crate::BgvPir;
use crate::literal::RowFormat;
use crate::message::{Answer, Keys, Query};
use crate::params::{Inner, Params};
use crate::rings::on_ring;
use rayon::prelude::*;
use sotto_core::server::with_successes;
use sotto_core::{Image, PartIndex, PartScheme, PeerMisbehaved, Result};
use sotto_lattice::bgv::wire::{body_bytes, put_body, take_body};
use sotto_lattice::bgv::{Ciphertext, Level, RnsRing, SlotRing};
use sotto_math::tiles::TileLayout;
use std::ops::Range;
use std::sync::Arc;

/// Parts of a product that is not relinearized.
const PARTS: usize = 3;

/// Number of columns that are not divided: as values they are stored in groups.
fn together_of(params: &Inner) -> usize {
    if params.literal.form == RowFormat::Values { TileLayout::GROUP_COLS } else { 1 }
}

/// The columns of a part.
fn columns_of(params: &Inner, cut: PartIndex) -> Range<usize> {
    let (cols, unit) = (columns(params), together_of(params));
    let share = cut.share(cols.div_ceil(unit) as u64);
    let place = |units: u64| (units as usize * unit).min(cols);
    place(share.start)..place(share.end)
}

/// The level of a partial answer.
fn level<R: SlotRing>(params: &Inner, rns: &RnsRing<R>) -> Level {
    rns.level(params.literal.scan_primes.into()).unwrap_or(rns.top())
}

/// Bytes of a layer in a partial answer.
fn layer_bytes(params: &Inner) -> usize {
    on_ring!(&*params.ring, rns => PARTS * body_bytes(rns, level(params, rns)))
}

/// The sums of all layers over the partial answers; `None` if one is malformed.
fn added<R: SlotRing>(params: &Inner, rns: &RnsRing<R>, partials: &[Vec<u8>]) -> Option<Vec<Ciphertext>> {
    let level = level(params, rns);
    let mut sums = vec![Ciphertext::zero(rns, level, PARTS); params.literal.layers as usize];
    let parts = u32::try_from(partials.len()).ok()?;
    for (cut, partial) in PartIndex::all(parts).zip(partials) {
        let layers = layers_of(params, &columns_of(params, cut));
        for (sum, bytes) in sums.get_mut(layers)?.iter_mut().zip(partial.chunks(layer_bytes(params))) {
            let bodies = bytes.chunks(body_bytes(rns, level)).map(|body| take_body(rns, level, body));
            let bodies = bodies.collect::<Option<Vec<Vec<u64>>>>()?;
            let bodies: Vec<&[u64]> = bodies.iter().map(Vec::as_slice).collect();
            sum.add(rns, &Ciphertext::new(rns, level, &bodies));
        }
    }
    Some(sums)
}

impl PartScheme for BgvPir {
    type Part = Server;
    type Joiner = ();

    fn max_parts(params: &Params) -> u32 {
        u32::try_from(columns(params).div_ceil(together_of(params))).unwrap_or(u32::MAX)
    }

    fn part_ranges(params: &Params, cut: PartIndex) -> Vec<Range<u64>> {
        let cols = columns_of(params, cut);
        if params.literal.form != RowFormat::Values {
            let bytes = offset(params, (0, cols.start))..offset(params, (0, cols.end));
            return std::iter::once(bytes).collect();
        }
        let Ok(shape) = shape(params) else { return Vec::new() };
        let tiles = shape.layout();
        let primes = (0..u64::from(params.literal.scan_primes)).map(|prime| prime * tiles.bytes());
        let of_prime =
            |at: u64| tiles.columns(cols.clone()).map(move |range| at + range.start..at + range.end);
        primes.flat_map(of_prime).collect()
    }

    fn open_part(params: &Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<Server> {
        Ok(Server { table: PlaintextTable::open_some(params, columns_of(params, cut), image)? })
    }

    fn partial_bytes(params: &Params, cut: PartIndex) -> usize {
        layers_of(params, &columns_of(params, cut)).len() * layer_bytes(params)
    }

    fn admit(params: &Params, keys: Keys) -> Result<Session> {
        Session::admit(params, &keys)
    }

    fn answer_part(part: &Server, queries: Vec<(&Session, Query)>) -> Vec<Result<Vec<u8>>> {
        let (table, params) = (&part.table, part.table.params());
        let some = |queries: &[(&Session, Query)]| {
            let prepared = queries.par_iter().map(|(session, query)| part.prepare(session, query)).collect();
            with_successes(prepared, |queries| {
                let sums = part.first_dimension(&queries.iter().collect::<Vec<_>>());
                let written = |(query, sums)| {
                    on_ring!(&*params.ring, rns => {
                        let mut out = Vec::new();
                        for product in answer::products(table, rns, query, sums) {
                            let put = |i| put_body(rns, product.level(), product.part(i), &mut out);
                            (0..PARTS).for_each(put);
                        }
                        Ok(out)
                    })
                };
                queries.iter().zip(&sums).map(written).collect()
            })
        };
        queries.chunks(super::BATCH).flat_map(some).collect()
    }

    fn prepare_join(_: &Params) -> Result<()> {
        Ok(())
    }

    fn join(params: &Params, (): &(), session: &Session, _: Query, partials: &[Vec<u8>]) -> Result<Answer> {
        with_keys!(params, session, (rns, keys) => {
            let sums = added(params, rns, partials).ok_or(PeerMisbehaved::NotCanonical("partial"))?;
            Ok(answer::finish(params, rns, keys, sums))
        })
    }
}
