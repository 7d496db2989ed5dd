//! A run of consecutive ids, and the sums of the rows of a window into their parities.
//!
//! Offsets of ids are not stored: they are computed again for each partition, with one AES block
//! for eight ids.

use super::params::ParamsFamily;
use super::prf::Prf;
use sotto_math::parities::{LANES, PartitionWindow, RowOffsets};
use std::ops::Range;
use zeroize::{Zeroize, Zeroizing};

/// Ids whose blocks are made together: their data fits the nearest cache.
pub const TOGETHER: usize = 256;
/// Ids of one work item of a thread.
const PART: usize = 16 * TOGETHER;

/// Consecutive partitions of a window.
#[derive(Debug, Clone, Copy)]
pub struct PartitionRange {
    /// The first partition.
    pub from: usize,
    /// Number of partitions, at most 16.
    pub count: usize,
}

impl PartitionRange {
    /// A mask with one bit for each partition of the range.
    #[inline]
    pub fn all(self) -> u16 {
        u16::MAX >> (LANES - self.count)
    }
}

/// Decides which rows of a window are in which parity.
pub trait Chooser<F>: Sync {
    /// Working memory of one thread.
    type Scratch;

    /// Makes the working memory of one thread.
    fn scratch(&self) -> Self::Scratch;

    /// For each of these ids, counted from the start of the run, a bit for each partition whose row
    /// is in its parity. There are at most [`TOGETHER`] ids.
    fn choose(
        &self,
        prf: &Prf<F>,
        lanes: PartitionRange,
        ids: Range<usize>,
        scratch: &mut Self::Scratch,
        chosen: &mut [u16],
    );
}

/// The parities of a run of ids. Offsets are made for eight ids at a time, so a run begins with up
/// to seven unrequested ids.
pub struct IdRun {
    first: u32,
    /// Number of unrequested ids at the start.
    unasked: usize,
    row_bytes: usize,
    stride: usize,
    /// Parities by id, padded to whole strides.
    parities: Zeroizing<Vec<u8>>,
    /// Parities of the rows that are not chosen, if they are requested.
    others: Zeroizing<Vec<u8>>,
}

impl IdRun {
    /// A run of the ids from `ids.start` on, with parities of rows that are not chosen if `both`.
    pub fn new(ids: &Range<u32>, row_bytes: usize, both: bool) -> Self {
        let (first, unasked) = IdRun::before(ids);
        let stride = PartitionWindow::stride_of(row_bytes);
        let bytes = (unasked + ids.len()) * stride;
        let zeros = |len| Zeroizing::new(vec![0; len]);
        let (parities, others) = (zeros(bytes), zeros(if both { bytes } else { 0 }));
        IdRun { first, unasked, row_bytes, stride, parities, others }
    }

    /// The first id of the run that covers these ids, and the number of unrequested ids before
    /// them.
    pub fn before(ids: &Range<u32>) -> (u32, usize) {
        let first = ids.start & !7;
        (first, if ids.is_empty() { 0 } else { (ids.start - first) as usize })
    }

    /// Adds the rows of a window to all parities.
    pub fn add<F: ParamsFamily>(
        &mut self,
        prf: &Prf<F>,
        window: &PartitionWindow,
        lanes: PartitionRange,
        chooser: &impl Chooser<F>,
    ) {
        let (first, stride) = (self.first, self.stride);
        let others = self.others.chunks_mut(PART * stride).map(Some);
        let others = others.chain(std::iter::repeat_with(|| None));
        let parts = self.parities.chunks_mut(PART * stride).zip(others).enumerate();
        each(parts.collect(), |(part, (parities, others)): (usize, (&mut [u8], Option<&mut [u8]>))| {
            IdRunPart { first, ids: part * PART, stride, parities, others }.add(prf, window, lanes, chooser);
        });
    }

    /// The parity of the i-th requested id, with its padding.
    pub fn parity_mut(&mut self, i: usize) -> &mut [u8] {
        &mut self.parities[(self.unasked + i) * self.stride..][..self.stride]
    }

    /// All parities of requested ids, and then those of the rows that are not chosen.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let (unasked, stride, row_bytes) = (self.unasked, self.stride, self.row_bytes);
        let parts = [&self.parities, &self.others].into_iter();
        parts.flat_map(move |part| part.chunks_exact(stride).skip(unasked)).map(move |row| &row[..row_bytes])
    }

    /// All parities of requested ids, writable, and then those of the rows that are not chosen.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let (unasked, stride, row_bytes) = (self.unasked, self.stride, self.row_bytes);
        let parts = [&mut self.parities, &mut self.others].into_iter();
        let rows = parts.flat_map(move |part| part.chunks_exact_mut(stride).skip(unasked));
        rows.map(move |row| &mut row[..row_bytes])
    }

    /// The parities without padding: of the chosen rows, and of the others.
    pub fn finish(mut self) -> [Zeroizing<Vec<u8>>; 2] {
        for bytes in [&mut self.parities, &mut self.others] {
            compact(bytes, self.unasked, self.stride, self.row_bytes);
        }
        [self.parities, self.others]
    }
}

/// Moves rows together and wipes the bytes after them.
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

/// A piece of a run. Its ids begin at `first`, counted from the start of the run.
struct IdRunPart<'a> {
    first: u32,
    ids: usize,
    stride: usize,
    parities: &'a mut [u8],
    others: Option<&'a mut [u8]>,
}

impl IdRunPart<'_> {
    fn add<F: ParamsFamily>(
        mut self,
        prf: &Prf<F>,
        window: &PartitionWindow,
        lanes: PartitionRange,
        chooser: &impl Chooser<F>,
    ) {
        let stride = self.stride;
        let mut blocks = Zeroizing::new(vec![[0; 16]; LANES * TOGETHER / 8]);
        let mut bits = Zeroizing::new([0; TOGETHER]);
        let (mut scratch, mut places) = (chooser.scratch(), RowOffsets::new());
        for (i, parities) in (0..).step_by(TOGETHER).zip(self.parities.chunks_mut(TOGETHER * stride)) {
            let (ids, n) = (self.ids + i, parities.len() / stride);
            let chosen = &mut bits[..n];
            chooser.choose(prf, lanes, ids..ids + n, &mut scratch, chosen);
            // A run begins with a multiple of eight ids, as the offsets of a block do.
            let (x, y) = (F::OFFSET + lanes.from as u64, (u64::from(self.first) + ids as u64) / 8);
            let offsets = &mut blocks[..lanes.count * n.div_ceil(8)];
            prf.aes().grid(x, lanes.count, y, n.div_ceil(8), offsets);
            window.add(offsets, chosen, parities, &mut places);
            if let Some(others) = &mut self.others {
                chosen.iter_mut().for_each(|bits| *bits = !*bits);
                window.add(offsets, chosen, &mut others[i * stride..(i + n) * stride], &mut places);
            }
        }
    }
}

/// Calls `work` for each item, in parallel on rayon's current pool.
#[cfg(feature = "server")]
pub fn each<T: Send>(parts: Vec<T>, work: impl Fn(T) + Sync + Send) {
    use rayon::prelude::*;
    if rayon::current_thread_index().is_some() {
        parts.into_par_iter().for_each(work);
    } else {
        parts.into_iter().for_each(work);
    }
}

/// Calls `work` for each item, one after the other.
#[cfg(not(feature = "server"))]
pub fn each<T>(parts: Vec<T>, work: impl Fn(T)) {
    parts.into_iter().for_each(work);
}
