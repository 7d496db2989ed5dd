//! The pass over the table, the last products, and what is sent.

use super::image::Table;
use super::prepare::Prepared;
use super::session::Switches;
use crate::message::Answer;
use crate::params::Inner;
use rayon::prelude::*;
use sotto_core::Result;
use sotto_lattice::bgv::lower::lower;
use sotto_lattice::bgv::tensor::tensor;
use sotto_lattice::bgv::{Answer as Sent, Cipher, Rns, Scratch, SlotRing};
use sotto_math::tiles::Selectors;

/// Sums of one query over the table, modulo each prime: a ciphertext to each column, block by block.
pub struct Sums(Vec<Vec<u64>>);

/// `w_a = sum over b of v[b] X[a, b]` for all a of all layers, for several queries in one pass. Threads of the current pool take
/// stretches of slots.
///
/// # Errors
/// Only if the image has lost its table.
pub(super) fn first_dimension(table: &Table, queries: &[&Prepared]) -> Result<Vec<Sums>> {
    let (layout, block_words) = (table.shape.layout(), table.shape.block_words());
    let mut out: Vec<Sums> = queries.iter().map(|_| Sums(Vec::new())).collect();
    for prime in 0..table.params().literal.scan_primes.into() {
        let selectors: Vec<&Selectors> = queries.iter().filter_map(|query| query.v.get(prime)).collect();
        let mut sums: Vec<Vec<u64>> =
            queries.iter().map(|_| vec![0; block_words * layout.blocks()]).collect();
        // One stretch of blocks to a thread: more streams at once than that slow the memory down.
        let stretch = layout.blocks().div_ceil(rayon::current_num_threads()).max(1);
        let stretches = layout.blocks().div_ceil(stretch);
        let mut parts: Vec<Vec<&mut [u64]>> = (0..stretches).map(|_| Vec::new()).collect();
        for sums in &mut sums {
            parts
                .iter_mut()
                .zip(sums.chunks_mut(stretch * block_words))
                .for_each(|(parts, part)| parts.push(part));
        }
        let bytes = table.limb(prime)?.par_chunks(stretch * layout.block_bytes());
        parts.into_par_iter().zip(bytes).enumerate().for_each(|(i, (mut out, bytes))| {
            let blocks = i * stretch..((i + 1) * stretch).min(layout.blocks());
            table.shape.scan(prime, bytes, blocks, &selectors, &mut out);
        });
        out.iter_mut().zip(sums).for_each(|(out, sums)| out.0.push(sums));
    }
    Ok(out)
}

/// `r = sum over a of u[a] w_a` for each layer, of three parts.
pub(super) fn products<R: SlotRing>(
    table: &Table,
    rns: &Rns<R>,
    query: &Prepared,
    sums: &Sums,
) -> Vec<Cipher> {
    let layers = (0..table.params().literal.layers as usize).into_par_iter();
    layers.map(|layer| dot(table, rns, query, sums, layer)).collect()
}

/// Each layer's sum relinearised, left with one prime, and rounded: what is sent.
pub(super) fn finish<R: SlotRing>(
    params: &Inner,
    rns: &Rns<R>,
    keys: &Switches<R>,
    products: Vec<Cipher>,
) -> Answer {
    let one = |scratch: &mut Scratch, mut product: Cipher| {
        let mut c = Cipher::zero(rns, product.level(), 2);
        keys.square.relinearise(rns, &product, &mut c, scratch);
        while let Some(below) = c.level().below() {
            product = Cipher::zero(rns, below, 2);
            lower(rns, &c, &mut product, scratch);
            c = product;
        }
        Sent::new(rns, params.bits, &c)
    };
    Answer(products.into_par_iter().map_init(|| Scratch::new(rns), one).collect())
}

/// Columns that are multiplied together: taken out of the sums together they share pages, and their products are reduced once.
const TOGETHER: usize = 16;

/// The three parts of `sum over a of u[a] w_a` in one layer.
fn dot<R: SlotRing>(table: &Table, rns: &Rns<R>, query: &Prepared, sums: &Sums, layer: usize) -> Cipher {
    let level = rns.level(sums.0.len()).unwrap_or(rns.top());
    let first = layer * query.u.len();
    let sums: Vec<&[u64]> = sums.0.iter().map(Vec::as_slice).collect();
    let some = |(i, u): (usize, &[Cipher])| {
        let cols = first + i * TOGETHER..first + i * TOGETHER + u.len();
        let w = table.shape.columns(rns, &sums, cols);
        let pairs: Vec<[&Cipher; 2]> = u.iter().zip(&w).map(|(u, w)| [u, w]).collect();
        let mut out = Cipher::zero(rns, level, 3);
        tensor(rns, &pairs, &mut out);
        out
    };
    let add = |mut a: Cipher, b: Cipher| {
        a.add(rns, &b);
        a
    };
    query.u.par_chunks(TOGETHER).enumerate().map(some).reduce(|| Cipher::zero(rns, level, 3), add)
}
