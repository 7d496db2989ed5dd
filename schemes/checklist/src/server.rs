//! The servers: the parity of a punctured set, and for the second one the parities of whole sets, to order.
//!
//! An image has a single section, the rows one after the other. Clients never fetch it.

use crate::Checklist;
use crate::message::{Answer, Order, Query, Supply};
use crate::params::Params;
use crate::set::{Keyed, Places};
use crate::tree::{Room, Trees};
use rayon::prelude::*;
use sotto_core::{Image, Misuse, PeerMisbehaved, Result, Rows, Section, Sink, Supplier};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Where the rows lie in an image.
pub(crate) const ROWS: Section = Section::Resident;

/// Bytes of rows that are copied at once while encoding.
const CHUNK: usize = 1 << 20;

/// Hints that a thread makes before it asks for more.
const SHARE: usize = 256;

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

impl sotto_core::Server<Checklist> for Server {
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
        let (rows, row_bytes) = (self.rows()?, self.params.row_bytes());
        let position = u32::from(query.position);
        let mut room = Room::default();
        let numbers = self.trees.regrow(&query.salt, position, &query.beside, &query.others, &mut room);
        let mut answer = Zeroizing::new(vec![0; 2 * row_bytes]);
        let (parity, extra) = answer.split_at_mut(row_bytes);
        add(rows, numbers.map(|number| number ^ query.shift), parity);
        add(rows, std::iter::once(query.extra), extra);
        Ok(Answer(answer))
    }
}

impl Supplier for Checklist {
    fn supply(server: &Server, order: Order) -> Result<Supply> {
        let (params, rows) = (&server.params, server.rows()?);
        let (row_bytes, count) = (params.row_bytes(), params.block_hints());
        let keyed = Keyed::new(params, &order.key);
        // Both below 2^32.
        let (first, end) = (order.block * count as u32, params.hints() as u32);
        let mut supply = Zeroizing::new(vec![0; count * row_bytes]);
        let shares = supply.par_chunks_mut(SHARE * row_bytes).enumerate();
        shares.for_each_init(
            || Places::new(params),
            |places, (share, parities)| {
                let first = first + (share * SHARE) as u32;
                let ids = first.min(end)..(first + (parities.len() / row_bytes) as u32).min(end);
                keyed.each(&server.trees, ids, places, |id, set, numbers| {
                    let at = (id - first) as usize * row_bytes;
                    let parity = parities.get_mut(at..at + row_bytes).unwrap_or_default();
                    add(rows, numbers.iter().map(|number| number ^ set.shift), parity);
                });
            },
        );
        Ok(Supply(supply))
    }
}

/// Adds the rows at these places. Past the last row they are zeros.
fn add(rows: &[u8], places: impl Iterator<Item = u32>, parity: &mut [u8]) {
    match parity.len() {
        8 => add_of::<8>(rows, places, parity),
        16 => add_of::<16>(rows, places, parity),
        32 => add_of::<32>(rows, places, parity),
        64 => add_of::<64>(rows, places, parity),
        width => {
            for place in places {
                let at = place as usize * width;
                if let Some(row) = rows.get(at..at + width) {
                    parity.iter_mut().zip(row).for_each(|(byte, row)| *byte ^= row);
                }
            }
        }
    }
}

/// [`add`] for a width that the compiler knows: the sum stays in registers, and several rows are on their way at once.
fn add_of<const B: usize>(rows: &[u8], places: impl Iterator<Item = u32>, parity: &mut [u8]) {
    let (rows, mut sum) = (rows.as_chunks::<B>().0, [0; B]);
    for row in places.filter_map(|place| rows.get(place as usize)) {
        sum.iter_mut().zip(row).for_each(|(byte, row)| *byte ^= row);
    }
    parity.iter_mut().zip(sum).for_each(|(byte, sum)| *byte ^= sum);
}
