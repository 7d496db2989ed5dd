//! Blocks of ids: the one that is due, storing its parities, and its journal record.
//!
//! Blocks are requested one after the other, those of hints first. A block of pairs is due as soon
//! as fewer pairs are left than a block has, or than go into one request, so that queries go on
//! while it is made. That depends only on the number of queries.
//!
//! Parities are stored as they come: a wrong one makes a wrong row, or an unreadable one, and
//! changes no message.

use super::params::{blocks_of, ids_of};
use crate::Client;
use crate::hints::{main, pair, used};
use crate::offline::cuts::cuts;
use crate::offline::extras::extras;
use crate::prf::VOID;
use sotto_core::Result;
use sotto_hints::codec::StateReader;
use sotto_hints::one_server::PartitionPlace;
use std::ops::Range;
use zeroize::Zeroizing;

/// One plus the number of the block that came last.
fn blocks(client: &Client) -> u64 {
    blocks_of(client.params.hints(), client.hints.stock.block, client.hints.stocked) as u64
}

/// The ids of a block that came, or of the next one.
fn ids(client: &Client, block: u64) -> Range<usize> {
    let ids = |blocks| ids_of(client.params.hints(), client.hints.stock.block, blocks);
    // There are fewer blocks than 2^25 ids.
    ids(block as usize)..ids(block as usize + 1)
}

/// The block to request next, if one is due.
pub(crate) fn due(client: &Client) -> Option<u32> {
    let hints = &client.hints;
    // Then there is space for one more block.
    let low = hints.stocked.saturating_sub(used(hints)) + hints.stock.block / 2 < hints.stock.capacity;
    // There are fewer blocks than ids.
    (low && hints.stocked < client.params.ids()).then_some(blocks(client) as u32)
}

/// Stores the parities of the next block.
pub(crate) fn take(client: &mut Client, response: &[u8]) {
    let block = blocks(client);
    fill(client, ids(client, block), response);
    client.note_supply(block);
}

fn fill(client: &mut Client, ids: Range<usize>, response: &[u8]) {
    let (prf, hints) = (&client.prf, &mut client.hints);
    // There are at most 2^25 ids.
    let first = ids.start as u32;
    let mut found = Zeroizing::new(vec![VOID; ids.len()]);
    cuts(prf, first, &mut found);
    let mut rows = response.chunks_exact(client.params.row_bytes());
    if ids.start < hints.first_backup() {
        let mut places = Zeroizing::new(vec![PartitionPlace::default(); ids.len()]);
        extras(prf, first, &found, &mut places);
        for (((id, cut), extra), row) in (first..).zip(found.iter()).zip(places.iter()).zip(rows) {
            if *cut != VOID {
                hints.begin(prf, id, main(*cut, *extra));
                hints.parity_mut(id).copy_from_slice(row);
            }
        }
    } else {
        let halves: Vec<&[u8]> = rows.by_ref().take(ids.len()).collect();
        for (((id, cut), half), other) in (first..).zip(found.iter()).zip(halves).zip(rows) {
            hints.begin(prf, id, pair(*cut));
            hints.stock.left += u64::from(*cut != VOID);
            hints.parity_mut(id).copy_from_slice(half);
            hints.second_mut(id).copy_from_slice(other);
        }
    }
    hints.stocked = ids.end;
}

/// Writes a block in its current form, which is the received one if no query was made since. For a
/// pair that was promoted since, the stored parity is written for either half: the record of its
/// promotion comes later, and chooses.
pub(crate) fn put(client: &Client, block: u64, out: &mut Vec<u8>) {
    let (ids, hints) = (ids(client, block), &client.hints);
    let promoted = used(hints) as u32;
    // There are at most 2^25 ids.
    let all = || ids.start as u32..ids.end as u32;
    all().for_each(|id| out.extend_from_slice(hints.parity(id)));
    if ids.start >= hints.first_backup() {
        let other = |id| if id < promoted { hints.parity(id) } else { hints.second(id) };
        all().for_each(|id| out.extend_from_slice(other(id)));
    }
}

/// Replays [`take`] from the journal.
pub(crate) fn replay(client: &mut Client, block: u64, from: &mut StateReader<'_>) -> Result<()> {
    if client.hints.stock.block == 0 {
        return Err(from.malformed("a hint response for a client that requests none"));
    }
    let mut response = Zeroizing::new(vec![0; client.hints.stock.block * client.params.row_bytes()]);
    from.exact(&mut response)?;
    let next = blocks(client);
    if block < next {
        return Ok(());
    }
    if block != next || due(client).is_none() {
        return Err(from.malformed("a hint response is out of order"));
    }
    fill(client, ids(client, block), &response);
    Ok(())
}
