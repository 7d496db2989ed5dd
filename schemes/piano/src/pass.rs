//! The offline phase: parities of all hints and backups, and replacement entries, from one pass over the table.
//!
//! Work goes by partitions, not by hints: while the rows of some partitions are in a cache, every id adds its own, one of
//! each partition; a backup lacks that of its own partition. Nothing of an id is stored: offsets are made again for each
//! partition, a block of AES for eight of them.
//!
//! The time of all this depends on secret sets, as the order of what lies in caches does. It comes before there is a
//! query, and the sets are fresh: nothing here depends on what will be asked.

use crate::params::Params;
use crate::prf::{OFFSET, Prf};
use sotto_core::{PeerMisbehaved, Result};
use sotto_math::fold::{LANES, Places, Window};
use std::io::{Read, Write};
use zeroize::{Zeroize, Zeroizing};

/// Most bytes of a window: rows are read from it in no order, so it has to fit a cache, and the more partitions it
/// has, the less often all parities pass through memory.
const WINDOW_BYTES: usize = 8 << 20;

/// Ids whose blocks are made together: what belongs to them fits the nearest cache.
const TOGETHER: usize = 256;
/// Ids that are one part of the work.
const PART: usize = 16 * TOGETHER;

/// A pass that is under way.
pub struct Pass {
    shape: Shape,
    window: Window,
    /// Partitions that are in all parities.
    done: usize,
    /// By id, padded to whole strides.
    parities: Zeroizing<Vec<u8>>,
    /// By backup, without padding.
    replacements: Zeroizing<Vec<u8>>,
}

/// The numbers of a pass that parts of the work need.
#[derive(Clone, Copy)]
struct Shape {
    row_bytes: usize,
    partitions: usize,
    hints: usize,
    backups: usize,
    /// Partitions of a window.
    lanes: usize,
    stride: usize,
}

impl Pass {
    /// Begins a pass.
    ///
    /// # Errors
    /// [`sotto_core::Error::Storage`] if there is no memory for a window and the parities.
    pub fn new(params: &Params) -> Result<Self> {
        let (row_bytes, rows, partitions) =
            (params.row_bytes(), params.partition_rows(), params.partitions());
        let stride = Window::stride_of(row_bytes);
        let fits = |lanes: &usize| (lanes * rows).saturating_mul(stride) <= WINDOW_BYTES;
        // No wider than the table, so that small ones take little.
        let lanes = [16, 8, 4, 2].into_iter().find(fits).unwrap_or(1).min(partitions.next_power_of_two());
        let all = params.ids() + lanes * rows + 1 + partitions * params.backups();
        // The reservation is given back: what is asked for again as zeros is not touched before rows come, so that
        // parameters which promise a table that never comes take none.
        sotto_hints::bytes::reserve(&mut Vec::<u8>::new(), all.saturating_mul(stride))?;
        let (hints, backups) = (params.hints(), params.backups());
        Ok(Pass {
            shape: Shape { row_bytes, partitions, hints, backups, lanes, stride },
            window: Window::new(row_bytes, rows, lanes),
            done: 0,
            parities: Zeroizing::new(vec![0; params.ids() * stride]),
            replacements: Zeroizing::new(vec![0; partitions * backups * row_bytes]),
        })
    }

    /// Takes the next bytes of the table, and says how many: all that lie in its partitions.
    pub fn absorb(&mut self, prf: &Prf, chunk: &[u8]) -> usize {
        let all = self.shape.partitions as u64 * self.window.partition_bytes() as u64;
        let room = usize::try_from(all - self.absorbed()).unwrap_or(usize::MAX);
        let mut rest = &chunk[..chunk.len().min(room)];
        let taken = rest.len();
        while !rest.is_empty() {
            rest = &rest[self.window.absorb(rest)..];
            if self.window.is_full() {
                self.add(prf);
            }
        }
        taken
    }

    /// How many bytes were taken.
    pub fn absorbed(&self) -> u64 {
        self.kept() + self.window.filled() as u64
    }

    /// How many bytes were taken that [`Pass::save`] would keep.
    pub fn kept(&self) -> u64 {
        self.done as u64 * self.window.partition_bytes() as u64
    }

    /// Ends the pass: parities by id, and replacement entries by backup. Rows that did not come are zeros.
    pub fn finish(mut self, prf: &Prf) -> [Zeroizing<Vec<u8>>; 2] {
        if self.window.filled() > 0 {
            self.window.complete();
            self.add(prf);
        }
        let Shape { stride, row_bytes, .. } = self.shape;
        let ids = self.parities.len() / stride;
        if stride != row_bytes {
            for id in 0..ids {
                self.parities.copy_within(id * stride..id * stride + row_bytes, id * row_bytes);
            }
        }
        self.parities[ids * row_bytes..].zeroize();
        self.parities.truncate(ids * row_bytes);
        [self.parities, self.replacements]
    }

    /// Adds the window to all parities, and takes replacement entries out of it.
    fn add(&mut self, prf: &Prf) {
        let Shape { row_bytes, partitions, hints, backups, lanes, stride } = self.shape;
        let (window, from, shape) = (&self.window, self.done, self.shape);
        let parts = self.parities.chunks_mut(PART * stride).enumerate().collect();
        each(parts, |(part, parities): (usize, &mut [u8])| {
            Part { first: part * PART, parities }.add(prf, window, from, shape);
        });
        let entries = self.replacements.chunks_exact_mut(row_bytes).enumerate();
        for (backup, entry) in entries.skip(from * backups).take(lanes.min(partitions - from) * backups) {
            // There are at most 2^25 ids.
            let offset = usize::from(prf.replacement((hints + backup) as u32));
            let row = &self.window.row(backup / backups - from, offset)[..row_bytes];
            entry.copy_from_slice(row);
        }
        self.done += lanes;
        self.window.clear();
    }

    /// Writes down what the whole windows so far came to: how many partitions they were (8 bytes), all parities without
    /// padding, and all replacement entries.
    ///
    /// # Errors
    /// What `out` gives.
    pub fn save(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(&(self.done as u64).to_le_bytes())?;
        for parity in self.parities.chunks_exact(self.shape.stride) {
            out.write_all(&parity[..self.shape.row_bytes])?;
        }
        Ok(out.write_all(&self.replacements)?)
    }

    /// Reads what [`Pass::save`] wrote into a pass that has just begun.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for a number of partitions at which no window ends; what `from` gives.
    pub fn resume(&mut self, from: &mut dyn Read) -> Result<()> {
        let mut done = [0; 8];
        from.read_exact(&mut done)?;
        let done = usize::try_from(u64::from_le_bytes(done)).unwrap_or(usize::MAX);
        if !done.is_multiple_of(self.shape.lanes) || done > self.shape.partitions {
            return Err(PeerMisbehaved::NotCanonical("a checkpoint").into());
        }
        for parity in self.parities.chunks_exact_mut(self.shape.stride) {
            from.read_exact(&mut parity[..self.shape.row_bytes])?;
        }
        from.read_exact(&mut self.replacements)?;
        self.done = done;
        self.window.clear();
        Ok(())
    }
}

/// Ids from `first` on, as many as there are parities.
struct Part<'a> {
    first: usize,
    parities: &'a mut [u8],
}

impl Part<'_> {
    fn add(self, prf: &Prf, window: &Window, from: usize, shape: Shape) {
        let Shape { hints, backups, lanes, stride, .. } = shape;
        let mut scratch = Scratch::new();
        for (i, parities) in (0..).step_by(TOGETHER).zip(self.parities.chunks_mut(TOGETHER * stride)) {
            let (first, n) = (self.first + i, parities.len() / stride);
            // `first` is a multiple of eight, as the offsets of a block are.
            let offsets = &mut scratch.offsets[..lanes * n.div_ceil(8)];
            prf.aes().grid(OFFSET + from as u64, lanes, first as u64 / 8, n.div_ceil(8), offsets);
            let chosen = &mut scratch.chosen[..n];
            for (id, chosen) in (first..).zip(chosen.iter_mut()) {
                let home = id.checked_sub(hints + from * backups).map(|backup| backup / backups);
                let lacks = home.filter(|lane| *lane < lanes).map_or(0, |lane| 1 << lane);
                *chosen = (u16::MAX >> (LANES - lanes)) & !lacks;
            }
            window.add(offsets, chosen, parities, &mut scratch.places);
        }
    }
}

/// What a part is worked on with; wiped on drop.
struct Scratch {
    chosen: [u16; TOGETHER],
    offsets: Zeroizing<Vec<[u8; 16]>>,
    places: Places,
}

impl Scratch {
    fn new() -> Self {
        Scratch {
            chosen: [0; TOGETHER],
            offsets: Zeroizing::new(vec![[0; 16]; LANES * TOGETHER / 8]),
            places: Places::new(),
        }
    }
}

/// Does something for each of many parts of the work: on the pool in which it is called, if that is one.
#[cfg(feature = "server")]
fn each<T: Send>(parts: Vec<T>, work: impl Fn(T) + Sync + Send) {
    use rayon::prelude::*;
    if rayon::current_thread_index().is_some() {
        parts.into_par_iter().for_each(work);
    } else {
        parts.into_iter().for_each(work);
    }
}

/// Does something for each of many parts of the work.
#[cfg(not(feature = "server"))]
fn each<T>(parts: Vec<T>, work: impl Fn(T)) {
    parts.into_iter().for_each(work);
}
