//! The servers: both answer queries, and the second one also makes the parities of whole sets on
//! request.
//!
//! An image has a single section, the rows one after the other. Clients never fetch it.

use super::{Answer, Family, HintRequest, HintResponse, KeyedSets, Params, TwoServerScheme, Workspace};
use crate::row_table::{RowTable, in_order};
use rayon::prelude::*;
use sotto_core::{HintServer, Image, RecordChange, RecordSource, Result, Section, Sink, UpdateImage};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Hints that a thread makes before it takes more.
const SHARE: usize = 256;

/// An open table.
pub struct Server<F> {
    params: Params<F>,
    image: Arc<dyn Image>,
}

impl<F> Params<F> {
    fn place(&self) -> RowTable {
        let (rows, row_bytes, bytes) = (self.rows(), self.row_bytes(), self.table_bytes());
        RowTable { section: Section::Resident, rows, row_bytes, bytes }
    }
}

impl<F: Family> sotto_core::Server<TwoServerScheme<F>> for Server<F> {
    type Session = ();

    fn encode(params: &Params<F>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        params.place().encode(rows, out, in_order)
    }

    fn open(params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        params.place().check(image.as_ref())?;
        Ok(Server { params: params.clone(), image })
    }

    fn records(params: &Params<F>, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        params.place().records(image, |row| row)
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_many(&self, queries: Vec<(&(), F::Query)>) -> Vec<Result<Answer>> {
        let one = |query| Ok(F::answer(&self.params, self.params.place().of(self.image.as_ref())?, &query));
        queries.into_iter().map(|((), query)| one(query)).collect()
    }
}

impl<F: Family> UpdateImage for TwoServerScheme<F> {
    fn update_image(params: &Params<F>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        params.place().update_image(changes, out, |row| row)
    }
}

impl<F: Family> HintServer for TwoServerScheme<F> {
    fn answer_hint_request(server: &Server<F>, request: HintRequest) -> Result<HintResponse> {
        let params = &server.params;
        let rows = params.place().of(server.image.as_ref())?;
        let (row_bytes, count) = (params.row_bytes(), params.block_hints());
        let keyed = KeyedSets::new(&params.trees(), &request.key);
        let mut response = Zeroizing::new(vec![0; count * row_bytes]);
        // The number is below 2^32. The last block may have fewer hints than others.
        let first = request.block as usize * count;
        let there = params.hints().saturating_sub(first).min(count) * row_bytes;
        let shares =
            response.get_mut(..there).unwrap_or_default().par_chunks_mut(SHARE * row_bytes).enumerate();
        shares.for_each_init(
            || Workspace::new(params),
            |tools, (share, parities)| {
                F::fill_parities(params, rows, &keyed, (first + share * SHARE) as u32, tools, parities);
            },
        );
        Ok(HintResponse(response))
    }
}

/// Adds the rows with these numbers to a parity. Rows past the last are zeros.
pub fn add(rows: &[u8], places: impl Iterator<Item = usize>, parity: &mut [u8]) {
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

/// [`add`] for a width that the compiler knows: the sum stays in registers, and several loads of
/// rows overlap.
fn add_of<const B: usize>(rows: &[u8], places: impl Iterator<Item = usize>, parity: &mut [u8]) {
    let (rows, mut sum) = (rows.as_chunks::<B>().0, [0; B]);
    for row in places.filter_map(|place| rows.get(place)) {
        sum.iter_mut().zip(row).for_each(|(byte, row)| *byte ^= row);
    }
    parity.iter_mut().zip(sum).for_each(|(byte, sum)| *byte ^= sum);
}
