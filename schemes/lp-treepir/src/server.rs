//! The servers: the parities of a set that lacks the row of any one partition, and for the second server those of whole sets, to order.
//!
//! An image has a single section, the rows one after the other. Clients never fetch it.

use crate::TreePir;
use crate::guesses::Guesses;
use crate::message::{Answer, Order, Query, Supply};
use crate::params::Params;
use crate::set::Keyed;
use crate::tree::Trees;
use rayon::prelude::*;
use sotto_core::{Image, Misuse, PeerMisbehaved, Result, Rows, Section, Sink, Supplier};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Where the rows lie in an image.
pub(crate) const ROWS: Section = Section::Resident;

/// Bytes of rows that are copied at once while encoding.
const CHUNK: usize = 1 << 20;

/// Offsets that a thread has at once, of hints that it makes together.
const SHARE: usize = 1 << 24;

/// Bytes of rows that are added to all of them before those that follow, if a partition has no more.
const NEAR: usize = 1 << 19;

/// Most partitions of a run.
const RUN: usize = 32;

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
        let share = (SHARE / params.partitions()).min(count.div_ceil(rayon::current_num_threads()));
        supply.par_chunks_mut(share * row_bytes).enumerate().for_each(|(at, parities)| {
            let first = first + (at * share) as u32;
            let ids = first.min(end)..(first + (parities.len() / row_bytes) as u32).min(end);
            let mut offsets = Zeroizing::new(Vec::with_capacity(ids.len() * params.partitions()));
            keyed.each(&server.trees, ids, |_, of_one| offsets.extend_from_slice(of_one));
            add(rows, params, &offsets, parities);
        });
        Ok(Supply(supply))
    }
}

/// Adds to each parity the rows of its set, a run of partitions after the other for all: their rows stay in a cache as long.
fn add(rows: &[u8], params: &Params, offsets: &[u16], parities: &mut [u8]) {
    let (width, partitions) = (params.row_bytes(), params.partitions());
    let run = (NEAR / (width << params.offset_bits())).clamp(1, RUN).min(partitions);
    for first in (0..partitions).step_by(run) {
        for (offsets, parity) in offsets.chunks_exact(partitions).zip(parities.chunks_exact_mut(width)) {
            let places = (first..).zip(offsets.iter().skip(first).take(run));
            let places = places.map(|(l, offset)| l << params.offset_bits() | usize::from(*offset));
            match width {
                8 => add_of::<8>(rows, places, parity),
                16 => add_of::<16>(rows, places, parity),
                32 => add_of::<32>(rows, places, parity),
                64 => add_of::<64>(rows, places, parity),
                _ => {
                    for row in places.filter_map(|place| rows.get(place * width..(place + 1) * width)) {
                        parity.iter_mut().zip(row).for_each(|(byte, row)| *byte ^= row);
                    }
                }
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
