//! The servers: the parities of a set that lacks the row of any one partition, and for the second server those of whole sets, to order.
//!
//! An image has a single section, the rows one after the other. Clients never fetch it.

use crate::TreePir;
use crate::guesses::Guesses;
use crate::message::{Answer, Order, Query, Supply};
use crate::params::Params;
use crate::set::{Keyed, Set};
use crate::tree::{EIGHT, Trees, words};
use rayon::prelude::*;
use sotto_core::{Image, Misuse, PeerMisbehaved, Result, Rows, Section, Sink, Supplier};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Where the rows lie in an image.
pub(crate) const ROWS: Section = Section::Resident;

/// Bytes of rows that are copied at once while encoding.
const CHUNK: usize = 1 << 20;

/// An open table.
pub struct Server {
    params: Params,
    trees: Trees,
    image: Arc<dyn Image>,
}

impl Server {
    fn rows(&self) -> Result<&[u8]> {
        let lost = || PeerMisbehaved::Malformed { what: "image", why: "the rows are gone".into() };
        Ok(self.image.section(ROWS).ok_or_else(lost)?)
    }
}

impl sotto_core::Server<TreePir> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        let row_bytes = params.row_bytes();
        if rows.records() != params.rows() || rows.record_bytes() != row_bytes {
            return Err(Misuse::Rule("the table does not have the shape that its parameters say").into());
        }
        out.reserve(ROWS, params.table_bytes())?;
        let at_once = (CHUNK / row_bytes).max(1);
        let mut chunk = vec![0; at_once * row_bytes];
        let mut first = 0;
        while first < params.rows() {
            let count = (params.rows() - first).min(at_once as u64);
            chunk.truncate(count as usize * row_bytes);
            rows.read(first, &mut chunk)?;
            out.write_at(ROWS, first * row_bytes as u64, &chunk)?;
            first += count;
            out.progress("rows", first, params.rows());
        }
        Ok(())
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let got = image.section(ROWS).map_or(0, <[u8]>::len) as u64;
        let want = params.table_bytes();
        if got != want {
            return Err(PeerMisbehaved::Length { what: "rows", got, want }.into());
        }
        Ok(Server { params: params.clone(), trees: Trees::new(params), image })
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer(&self, (): &(), query: Query) -> Result<Answer> {
        Ok(Answer(Guesses::new(&self.params, self.rows()?).all(&self.trees, &query)))
    }
}

impl Supplier for TreePir {
    fn supply(server: &Server, order: Order) -> Result<Supply> {
        let (params, rows) = (&server.params, server.rows()?);
        let (row_bytes, count) = (params.row_bytes(), params.block_hints());
        let keyed = Keyed::new(params, &order.key);
        // Both below 2^32.
        let (first, end) = (order.block * count as u32, params.hints() as u32);
        let mut supply = Zeroizing::new(vec![0; count * row_bytes]);
        let share = count.div_ceil(rayon::current_num_threads());
        supply.par_chunks_mut(share * row_bytes).enumerate().for_each(|(at, parities)| {
            let first = first + (at * share) as u32;
            let ids = first.min(end)..(first + (parities.len() / row_bytes) as u32).min(end);
            let sets = Zeroizing::new(ids.map(|id| keyed.set(id)).collect::<Vec<_>>());
            add_all(rows, params, &server.trees, &sets, parities);
        });
        Ok(Supply(supply))
    }
}

/// Adds to each parity the rows of its set: those of eight partitions for all, and then of the next eight, whose rows stay in a cache as long.
fn add_all(rows: &[u8], params: &Params, trees: &Trees, sets: &[Set], parities: &mut [u8]) {
    let (partitions, bits, mask) = (params.partitions(), params.offset_bits(), params.mask());
    let salts: Vec<_> = sets.iter().map(|set| set.root.salt).collect();
    let seeds = Zeroizing::new(sets.iter().map(|set| set.root.seed).collect::<Vec<_>>());
    let mut blocks = seeds.clone();
    for first in (0..partitions).step_by(1 << EIGHT) {
        blocks.copy_from_slice(&seeds);
        // Below 2^16.
        trees.blocks_at(&salts, &mut blocks, first as u32);
        let of_each = sets.iter().zip(blocks.iter()).zip(parities.chunks_exact_mut(params.row_bytes()));
        for ((set, block), parity) in of_each {
            let offsets = words(block).map(|number| usize::from((number ^ set.shift) & mask));
            add(rows, (first..partitions).zip(offsets).map(|(l, offset)| l << bits | offset), parity);
        }
    }
}

/// Adds the rows at these places. Past the last row they are zeros.
fn add(rows: &[u8], places: impl Iterator<Item = usize>, parity: &mut [u8]) {
    match parity.len() {
        8 => add_of::<8>(rows, places, parity),
        16 => add_of::<16>(rows, places, parity),
        32 => add_of::<32>(rows, places, parity),
        64 => add_of::<64>(rows, places, parity),
        width => {
            for row in places.filter_map(|place| rows.get(place * width..(place + 1) * width)) {
                parity.iter_mut().zip(row).for_each(|(byte, row)| *byte ^= row);
            }
        }
    }
}

/// [`add`] for a width that the compiler knows: the sum stays in registers, and several rows are on their way at once.
fn add_of<const B: usize>(rows: &[u8], places: impl Iterator<Item = usize>, parity: &mut [u8]) {
    let (rows, mut sum) = (rows.as_chunks::<B>().0, [0; B]);
    for row in places.filter_map(|place| rows.get(place)) {
        sum.iter_mut().zip(row).for_each(|(byte, row)| *byte ^= row);
    }
    parity.iter_mut().zip(sum).for_each(|(byte, sum)| *byte ^= sum);
}
