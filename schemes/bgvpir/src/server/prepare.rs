//! From a query to u and v.

use super::image::Table;
use super::rooms::Rooms;
use super::session::Switches;
use crate::client::QUERY_MASKS;
use crate::literal::Literal;
use crate::message::Query;
use crate::params::Inner;
use crate::tree::{Side, depth};
use crate::turns::Turns;
use rayon::prelude::*;
use sotto_core::{PeerMisbehaved, Result, Sure};
use sotto_lattice::bgv::lower::lower;
use sotto_lattice::bgv::tensor::tensor;
use sotto_lattice::bgv::{Cipher, Level, Rns, RotationKey, Scratch, SlotRing};
use sotto_math::tiles::Selectors;
use std::sync::Arc;

/// A query as the server works with it.
pub struct Prepared {
    /// Entries of u, as many as the table has rows for.
    pub(super) u: Vec<Cipher>,
    /// Entries of v, modulo each prime of the table in the order the pass reads them.
    pub(super) v: Vec<Selectors>,
    rooms: Arc<Rooms>,
}

impl Prepared {
    /// Lays v out as the pass reads it.
    pub(super) fn new(table: &Table, [u, v]: [Vec<Cipher>; 2]) -> Self {
        let rooms = table.rooms.clone();
        let laid = table.shape.selectors_in(&v, &|| rooms.selectors());
        rooms.keep(v);
        Prepared { u, v: laid, rooms }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        self.rooms.keep(std::mem::take(&mut self.u));
        self.rooms.keep_selectors(&mut self.v);
    }
}

/// Rotates and unfolds, and lays v out as the pass reads it.
///
/// # Errors
/// [`sotto_core::Error::Peer`] for a query that was not decoded under these parameters.
pub(super) fn prepare<R: SlotRing>(
    table: &Table,
    rns: &Rns<R>,
    keys: &Switches<R>,
    query: &Query,
) -> Result<Prepared> {
    let leaves = leaves(table, rns, keys, query)?;
    Ok(Prepared::new(table, sides(table.params(), rns, keys, leaves)))
}

/// The query rotated to every place of what was folded: all leaves, one after the other.
///
/// # Errors
/// [`sotto_core::Error::Peer`] for a query that was not decoded under these parameters.
pub(super) fn leaves<R: SlotRing>(
    table: &Table,
    rns: &Rns<R>,
    keys: &Switches<R>,
    query: &Query,
) -> Result<Vec<Cipher>> {
    let mask = rns.mask(rns.top(), &query.seed, QUERY_MASKS, 0);
    if query.body.len() != mask.len() {
        return Err(PeerMisbehaved::NotCanonical("query").into());
    }
    Ok(rotations(table, rns, keys, Cipher::new(rns, rns.top(), &[&query.body, &mask])))
}

/// u, as many entries as the table has rows for, and v, out of their leaves, modulo the primes of the table.
pub(super) fn sides<R: SlotRing>(
    params: &Inner,
    rns: &Rns<R>,
    keys: &Switches<R>,
    leaves: Vec<Cipher>,
) -> [Vec<Cipher>; 2] {
    let mut entries = leaves.into_iter();
    let work = Work { rns, keys, literal: &params.literal };
    let mut side = |side: Side| {
        let leaves = params.tree.leaves(side).iter();
        let leaves = leaves.map(|length| entries.by_ref().take(*length as usize).collect()).collect();
        work.unfold(leaves)
    };
    // In this order: the leaves of u come first in what is folded.
    let (mut u, v) = (side(Side::Left), side(Side::Right));
    u.truncate(params.columns());
    [u, v].map(|side| work.lower_all(side, params.literal.scan_primes.into()))
}

/// The query rotated by 0 to S - 1 places: as a chain where there is one key, or as the grid of [`Turns`], of which
/// threads of the current pool take pairs of rows.
fn rotations<R: SlotRing>(table: &Table, rns: &Rns<R>, keys: &Switches<R>, query: Cipher) -> Vec<Cipher> {
    let (params, rooms) = (table.params(), &*table.rooms);
    let turns = params.literal.turns(&params.tree);
    match &keys.leap {
        Some(leap) => Grid { rns, rooms, turns, turn: &keys.turn, leap }.all(query),
        None => chain(rns, rooms, &keys.turn, query, turns.places),
    }
}

/// A ciphertext and its rotations, each from the one before.
fn chain<R: SlotRing>(
    rns: &Rns<R>,
    rooms: &Rooms,
    turn: &RotationKey<R>,
    first: Cipher,
    places: usize,
) -> Vec<Cipher> {
    let mut scratch = Scratch::new(rns);
    let mut out = Vec::with_capacity(places);
    let mut last = first;
    for _ in 1..places {
        let mut next = rooms.cipher(rns);
        turn.apply(rns, &last, &mut next, &mut scratch);
        out.push(std::mem::replace(&mut last, next));
    }
    out.push(last);
    out
}

/// The rotations of a query with two keys.
struct Grid<'a, R: SlotRing> {
    rns: &'a Rns<R>,
    rooms: &'a Rooms,
    turns: Turns,
    turn: &'a RotationKey<R>,
    leap: &'a RotationKey<R>,
}

impl<R: SlotRing> Grid<'_, R> {
    /// All places: the first column in turn, then pairs of rows.
    fn all(&self, query: Cipher) -> Vec<Cipher> {
        // The first column is a chain too, of leaps. Its even places are split once more for the turn beside the leap, so that
        // no pair of rows waits for another.
        let column = chain(self.rns, self.rooms, self.leap, query, self.turns.rows());
        let pairs: Vec<(usize, &[Cipher])> = column.chunks(2).enumerate().collect();
        let pair = |scratch: &mut Scratch, (i, starts): (usize, &[Cipher])| self.pair(2 * i, starts, scratch);
        let pairs = pairs.into_par_iter().map_init(|| Scratch::new(self.rns), pair);
        pairs.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// An even row and the one below it, from the first place of each.
    fn pair(&self, row: usize, starts: &[Cipher], scratch: &mut Scratch) -> Vec<Cipher> {
        let [upper, lower] = [self.turns.row(row), self.turns.row(row + 1)];
        let Some((first, below)) = starts.split_first() else { return Vec::new() };
        let (mut out, mut odd) = (vec![first.clone()], below.to_vec());
        for j in 0..upper {
            // To the right, and down, but where the first column was before.
            let (right, down) = (j + 1 < upper, j > 0 && j < lower);
            let keys: Vec<&RotationKey<R>> = [(right, self.turn), (down, self.leap)]
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, key)| *key)
                .collect();
            let mut turned: Vec<Cipher> = keys.iter().map(|_| self.rooms.cipher(self.rns)).collect();
            if let Some(c) = out.last().filter(|_| !keys.is_empty()) {
                RotationKey::apply_all(&keys, self.rns, c, &mut turned, scratch);
            }
            if down {
                odd.extend(turned.pop());
            }
            out.extend(turned);
        }
        out.append(&mut odd);
        out
    }
}

/// Products of ciphertexts, and primes left behind.
struct Work<'a, R: SlotRing> {
    rns: &'a Rns<R>,
    keys: &'a Switches<R>,
    /// Where primes are left behind.
    literal: &'a Literal,
}

impl<R: SlotRing> Work<'_, R> {
    /// Unfold (Algorithm 3): one side's vector out of its leaves, by full products: relinearised, and a prime lower where the
    /// literal says so.
    fn unfold(&self, mut leaves: Vec<Vec<Cipher>>) -> Vec<Cipher> {
        let depth = depth(leaves.len());
        let right = leaves.split_off(leaves.len().div_ceil(2));
        if right.is_empty() {
            return leaves.pop().sure("a side has a leaf");
        }
        let (left, right) = (self.unfold(leaves), self.unfold(right));
        let primes = [&left, &right].map(|side| side.first().map_or(1, |c| c.level().primes()));
        let primes = primes[0].min(primes[1]);
        let [left, right] = [left, right].map(|side| self.lower_all(side, primes));
        let level = self.rns.level(primes).unwrap_or(self.rns.top());
        let kept = self.literal.left_with(primes, depth);
        let pairs: Vec<[&Cipher; 2]> = left.iter().flat_map(|a| right.iter().map(move |b| [a, b])).collect();
        let products = pairs.par_iter().map_init(
            || Room::new(self.rns, level),
            |room, pair| {
                tensor(self.rns, &[*pair], &mut room.product);
                let mut out = Cipher::zero(self.rns, level, 2);
                self.keys.square.relinearise(self.rns, &room.product, &mut out, &mut room.scratch);
                self.lower(out, kept, &mut room.scratch)
            },
        );
        products.collect()
    }

    fn lower_all(&self, side: Vec<Cipher>, primes: usize) -> Vec<Cipher> {
        if side.iter().all(|c| c.level().primes() <= primes) {
            return side;
        }
        side.into_par_iter()
            .map_init(|| Scratch::new(self.rns), |scratch, c| self.lower(c, primes, scratch))
            .collect()
    }

    fn lower(&self, mut c: Cipher, primes: usize, scratch: &mut Scratch) -> Cipher {
        while let Some(below) = c.level().below().filter(|below| below.primes() >= primes) {
            let mut out = Cipher::zero(self.rns, below, c.parts());
            lower(self.rns, &c, &mut out, scratch);
            c = out;
        }
        c
    }
}

/// Working memory of one product.
struct Room {
    product: Cipher,
    scratch: Scratch,
}

impl Room {
    fn new<R: SlotRing>(rns: &Rns<R>, level: Level) -> Self {
        Room { product: Cipher::zero(rns, level, 3), scratch: Scratch::new(rns) }
    }
}
