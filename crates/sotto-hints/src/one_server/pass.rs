//! The pass over the table: chunks in, parities out.
//!
//! The work goes by partitions, not by hints: while the rows of some partitions are in a cache,
//! every id adds its own.
//!
//! The time depends on secret sets, and so does the cache state. This happens before the first
//! query, and the sets are fresh: nothing here depends on later requests.

use super::hints::{HintFamily, Hints};
use super::params::Params;
use super::prf::Prf;
use super::run::PartitionRange;
use sotto_core::{PeerMisbehaved, Result};
use sotto_math::parities::PartitionWindow;
use std::io::{Read, Write};

/// Maximum bytes of a window. Its rows are read in random order, so it has to fit a cache. The more
/// partitions it has, the less often all parities pass through memory. Measured at 2^28 rows of 32
/// bytes.
const WINDOW_BYTES: usize = 8 << 20;

/// The pass of a family over the table.
pub trait PassFamily: HintFamily {
    /// The sums that the pass computes.
    type Sums: ParitySums<Self>;
    /// Begins a client's pass over the table.
    ///
    /// # Errors
    /// [`sotto_core::Error::Storage`] if the memory is not available.
    fn pass(params: &Params<Self>, prf: &Prf<Self>) -> Result<TablePass<Self>>;
    /// Turns the sums of a finished pass into hints and backups.
    ///
    /// # Errors
    /// [`sotto_core::Error::Storage`] if the memory is not available.
    fn harvest(params: &Params<Self>, prf: &Prf<Self>, sums: Self::Sums) -> Result<Hints<Self>>;
}

/// The sums that a pass computes.
pub trait ParitySums<F>: Sized + Send + 'static {
    /// Adds the rows of a window.
    fn add(&mut self, prf: &Prf<F>, window: &PartitionWindow, lanes: PartitionRange);

    /// All sums to store, without padding.
    fn rows(&self) -> impl Iterator<Item = &[u8]>;

    /// All sums to store, writable, without padding.
    fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u8]>;
}

/// A pass in progress.
pub struct TablePass<F: PassFamily> {
    partitions: usize,
    /// Partitions of a window.
    lanes: usize,
    window: PartitionWindow,
    /// Partitions that all parities include already.
    done: usize,
    sums: F::Sums,
}

impl<F: PassFamily> TablePass<F> {
    /// Begins a pass whose `sums` are up to `parities` parities.
    ///
    /// # Errors
    /// [`sotto_core::Error::Storage`] if the memory for a window and the parities is not available.
    pub fn new(
        prf: &Prf<F>,
        row_bytes: usize,
        parities: usize,
        sums: impl FnOnce() -> F::Sums,
    ) -> Result<Self> {
        let (partitions, rows) = (prf.partitions(), usize::from(prf.mask()) + 1);
        let stride = PartitionWindow::stride_of(row_bytes);
        let fits = |lanes: &usize| (lanes * rows).saturating_mul(stride) <= WINDOW_BYTES;
        // The window is no wider than the table, so that small tables take little memory.
        let lanes = [16, 8, 4, 2].into_iter().find(fits).unwrap_or(1).min(partitions.next_power_of_two());
        // The reservation is released: the same memory, requested again as zeros, is not touched
        // before rows come, so that parameters of a table that never comes take none.
        let all = (lanes * rows + 1).saturating_add(parities);
        crate::codec::reserve(&mut Vec::<u8>::new(), all.saturating_mul(stride))?;
        let window = PartitionWindow::new(row_bytes, rows, lanes);
        Ok(TablePass { partitions, lanes, window, done: 0, sums: sums() })
    }

    /// Absorbs the next bytes of the table, up to its end, and returns how many.
    pub fn absorb(&mut self, prf: &Prf<F>, chunk: &[u8]) -> usize {
        let all = self.partitions as u64 * self.window.partition_bytes() as u64;
        let missing = usize::try_from(all - self.absorbed()).unwrap_or(usize::MAX);
        let mut rest = &chunk[..chunk.len().min(missing)];
        let taken = rest.len();
        while !rest.is_empty() {
            rest = &rest[self.window.absorb(rest)..];
            if self.window.is_full() {
                self.add(prf);
            }
        }
        taken
    }

    /// Number of absorbed bytes.
    pub fn absorbed(&self) -> u64 {
        self.kept() + self.window.filled() as u64
    }

    /// Number of absorbed bytes that [`TablePass::save`] covers.
    pub fn kept(&self) -> u64 {
        self.done as u64 * self.window.partition_bytes() as u64
    }

    /// Completes the pass. Missing rows count as zeros.
    pub fn finish(mut self, prf: &Prf<F>) -> F::Sums {
        if self.window.filled() > 0 {
            self.window.complete();
            self.add(prf);
        }
        self.sums
    }

    fn add(&mut self, prf: &Prf<F>) {
        let count = self.lanes;
        self.sums.add(prf, &self.window, PartitionRange { from: self.done, count });
        self.done += count;
        self.window.clear();
    }

    /// Writes the state after the last whole window: the number of partitions so far (8 bytes), and
    /// all sums.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn save(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(&(self.done as u64).to_le_bytes())?;
        Ok(self.sums.rows().try_for_each(|row| out.write_all(row))?)
    }

    /// Restores what [`TablePass::save`] wrote, into a new pass with the same ids.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for a number of partitions at which no window ends; errors of
    /// `from`.
    pub fn resume(&mut self, from: &mut dyn Read) -> Result<()> {
        let mut done = [0; 8];
        from.read_exact(&mut done)?;
        let done = usize::try_from(u64::from_le_bytes(done)).unwrap_or(usize::MAX);
        if !done.is_multiple_of(self.lanes) || done > self.partitions {
            return Err(PeerMisbehaved::NotCanonical("checkpoint").into());
        }
        self.sums.rows_mut().try_for_each(|row| from.read_exact(row))?;
        self.done = done;
        self.window.clear();
        Ok(())
    }
}
