//! A run of ids: cuts, and parities of one half or of both.

use super::cuts::{cuts, tie};
use super::{blocks, each, input};
use crate::prf::{OFFSET, Prf, RANK, TIE, VOID};
use sotto_math::fold::{LANES, Places, Window};
use sotto_math::rank;
use std::ops::Range;
use zeroize::{Zeroize, Zeroizing};

/// Ids whose blocks are made together: what belongs to them fits the nearest cache.
const TOGETHER: usize = 256;
/// Ids that are one part of the work.
const PART: usize = 16 * TOGETHER;

/// The ids of a run. Offsets are made for eight ids at a time, so it begins with up to seven that nobody asked for,
/// which are void.
pub(super) struct Sets {
    first: u32,
    /// How many nobody asked for.
    unasked: usize,
    pub(super) cuts: Zeroizing<Vec<u32>>,
    /// Their top bytes.
    tops: Zeroizing<Vec<u8>>,
    stride: usize,
    /// Parities of halves.
    halves: Zeroizing<Vec<u8>>,
    /// Parities of what is not in them; empty for hints.
    others: Zeroizing<Vec<u8>>,
}

impl Sets {
    pub(super) fn new(prf: &Prf, ids: Range<u32>, stride: usize, pairs: bool) -> Self {
        let first = ids.start & !7;
        let unasked = (ids.start - first) as usize;
        let len = if ids.is_empty() { 0 } else { unasked + ids.len() };
        let mut all = Zeroizing::new(vec![VOID; len]);
        cuts(prf, ids.start, &mut all[unasked.min(len)..]);
        let tops = Zeroizing::new(all.iter().map(|cut| (cut >> 24) as u8).collect());
        let zeros = |len| Zeroizing::new(vec![0; len]);
        let (halves, others) = (zeros(len * stride), zeros(if pairs { len * stride } else { 0 }));
        Sets { first, unasked: unasked.min(len), cuts: all, tops, stride, halves, others }
    }

    /// The cuts of the ids that were asked for.
    pub(super) fn asked(&self) -> &[u32] {
        &self.cuts[self.unasked..]
    }

    /// The parity of the half of an id, counted from the first that was asked for.
    pub(super) fn half(&mut self, i: usize) -> &mut [u8] {
        &mut self.halves[(self.unasked + i) * self.stride..][..self.stride]
    }

    /// Adds the rows of a window, `lanes` partitions from `from` on, to all parities.
    pub(super) fn add(&mut self, prf: &Prf, window: &Window, from: usize, lanes: usize) {
        let bytes = PART * self.stride;
        let others = self.others.chunks_mut(bytes).map(Some).chain(std::iter::repeat_with(|| None));
        let ids = self.cuts.chunks(PART).zip(self.tops.chunks(PART)).zip((self.first..).step_by(PART));
        let parts = ids
            .zip(self.halves.chunks_mut(bytes).zip(others))
            .map(|(((cuts, tops), first), (half, other))| Part { first, cuts, tops, half, other })
            .collect();
        let partitions = Partitions { from, lanes, window };
        each(parts, |part: Part<'_>| part.add(prf, &partitions, self.stride));
    }

    /// The parities of the ids that were asked for, without what rows are padded with.
    pub(super) fn finish(mut self, row_bytes: usize) -> Finished {
        let stride = self.stride;
        for bytes in [&mut self.halves, &mut self.others] {
            compact(bytes, self.unasked, stride, row_bytes);
        }
        self.cuts.copy_within(self.unasked.., 0);
        let len = self.cuts.len() - self.unasked;
        self.cuts.truncate(len);
        Finished { cuts: self.cuts, halves: self.halves, others: self.others }
    }

    /// The parities as [`Sets::finish`] would give them.
    pub(super) fn rows(&self, row_bytes: usize) -> impl Iterator<Item = &[u8]> {
        let parts = [&self.halves, &self.others].into_iter();
        parts
            .flat_map(move |half| half.chunks_exact(self.stride).skip(self.unasked))
            .map(move |r| &r[..row_bytes])
    }

    /// The same, to be written.
    pub(super) fn rows_mut(&mut self, row_bytes: usize) -> impl Iterator<Item = &mut [u8]> {
        let (unasked, stride) = (self.unasked, self.stride);
        let parts = [&mut self.halves, &mut self.others].into_iter();
        parts
            .flat_map(move |half| half.chunks_exact_mut(stride).skip(unasked))
            .map(move |row| &mut row[..row_bytes])
    }
}

/// What a run came to.
pub(super) struct Finished {
    pub(super) cuts: Zeroizing<Vec<u32>>,
    pub(super) halves: Zeroizing<Vec<u8>>,
    pub(super) others: Zeroizing<Vec<u8>>,
}

/// Moves rows together and wipes what is behind them.
fn compact(bytes: &mut Vec<u8>, unasked: usize, stride: usize, row_bytes: usize) {
    let rows = (bytes.len() / stride).saturating_sub(unasked);
    if unasked > 0 || stride != row_bytes {
        for row in 0..rows {
            let from = (row + unasked) * stride;
            bytes.copy_within(from..from + row_bytes, row * row_bytes);
        }
    }
    bytes[rows * row_bytes..].zeroize();
    bytes.truncate(rows * row_bytes);
}

/// The partitions of a window.
struct Partitions<'a> {
    from: usize,
    lanes: usize,
    window: &'a Window,
}

/// A part of a run.
struct Part<'a> {
    first: u32,
    cuts: &'a [u32],
    tops: &'a [u8],
    half: &'a mut [u8],
    other: Option<&'a mut [u8]>,
}

impl Part<'_> {
    fn add(mut self, prf: &Prf, partitions: &Partitions<'_>, stride: usize) {
        let mut scratch = Scratch::new();
        let ids = self.cuts.chunks(TOGETHER).zip(self.tops.chunks(TOGETHER));
        for ((cuts, tops), i) in ids.zip((0..).step_by(TOGETHER)) {
            let range = i * stride..(i + cuts.len()) * stride;
            let first = u64::from(self.first) + i as u64;
            scratch.choose(prf, partitions, first, cuts, tops);
            let offsets = &mut scratch.offsets[..partitions.lanes * cuts.len().div_ceil(8)];
            let x = OFFSET + partitions.from as u64;
            prf.aes().grid(x, partitions.lanes, first / 8, cuts.len().div_ceil(8), offsets);
            let chosen = &mut scratch.chosen[..cuts.len()];
            partitions.window.add(offsets, chosen, &mut self.half[range.clone()], &mut scratch.places);
            if let Some(other) = &mut self.other {
                chosen.iter_mut().for_each(|bits| *bits = !*bits);
                partitions.window.add(offsets, chosen, &mut other[range], &mut scratch.places);
            }
        }
    }
}

/// What a part is worked on with; wiped on drop.
struct Scratch {
    high: Vec<[u8; 16]>,
    chosen: Vec<u16>,
    equal: Vec<u16>,
    offsets: Vec<[u8; 16]>,
    /// Ids and partitions that top bytes do not decide.
    open: Vec<(u16, u16)>,
    inputs: Vec<[u8; 16]>,
    low: Vec<[u8; 16]>,
    places: Places,
}

impl Scratch {
    fn new() -> Self {
        Scratch {
            high: vec![[0; 16]; TOGETHER],
            chosen: vec![0; TOGETHER],
            equal: vec![0; TOGETHER],
            offsets: vec![[0; 16]; LANES * TOGETHER / 8],
            open: Vec::new(),
            inputs: Vec::new(),
            low: Vec::new(),
            places: Places::new(),
        }
    }

    /// For each id a bit for each partition of the window that is in its half.
    fn choose(&mut self, prf: &Prf, partitions: &Partitions<'_>, first: u64, cuts: &[u32], tops: &[u8]) {
        let n = cuts.len();
        // A window never lies across two blocks of top bytes.
        let (block, shift) = (partitions.from as u64 / 16, partitions.from % 16);
        let window = (u16::MAX >> (LANES - partitions.lanes)) << shift;
        let (high, chosen, equal) = (&mut self.high[..n], &mut self.chosen[..n], &mut self.equal[..n]);
        prf.aes().grid(RANK + block, 1, first, n, high);
        rank::compare(high, tops, chosen, equal);
        self.open.clear();
        self.inputs.clear();
        for (i, equal) in (0..).zip(equal) {
            let mut open = *equal & window;
            while open != 0 {
                let k = open.trailing_zeros() as u16;
                self.open.push((i, k));
                self.inputs.push(input(TIE + block * 4 + u64::from(k / 4), first + u64::from(i)));
                open &= open - 1;
            }
        }
        blocks(prf.aes(), &self.inputs, &mut self.low);
        for ((i, k), low) in self.open.iter().zip(&self.low) {
            let below = tie(low, *k) & 0x00FF_FFFF < cuts[usize::from(*i)] & 0x00FF_FFFF;
            chosen[usize::from(*i)] |= u16::from(below) << k;
        }
        chosen.iter_mut().for_each(|bits| *bits >>= shift);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.high.zeroize();
        self.chosen.zeroize();
        self.equal.zeroize();
        self.offsets.zeroize();
        self.open.zeroize();
        self.inputs.zeroize();
        self.low.zeroize();
    }
}
