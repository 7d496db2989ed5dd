//! The pass over the table: chunks in, hints and pairs out.

use super::extras::{ByPartition, extras};
use super::sets::Sets;
use crate::prf::{Place, Prf};
use sotto_core::{PeerMisbehaved, Result};
use sotto_math::fold::Window;
use std::io::{self, Read, Write};
use std::ops::Range;
use zeroize::Zeroizing;

/// Most bytes of a window: rows are read from it in no order, so it has to fit a cache, and the more partitions it
/// has, the less often all parities pass through memory. Measured at 2^28 rows of 32 bytes.
const WINDOW_BYTES: usize = 8 << 20;

/// A pass that is under way.
///
/// Ids are those of some hints and of some pairs. That is all of them for a client that streams the table, and what was
/// ordered for a server that makes hints for clients.
pub struct Fold {
    row_bytes: usize,
    partitions: usize,
    /// Partitions of a window.
    lanes: usize,
    window: Window,
    /// Partitions that are in all parities.
    done: usize,
    hints: Sets,
    extras: Zeroizing<Vec<Place>>,
    by_partition: ByPartition,
    pairs: Sets,
}

/// What a pass gives for hints: of each its cut, its extra entry, and the parity of both its half and that.
pub struct Hints {
    /// Cuts, [`crate::prf::VOID`] where an id has none.
    pub cuts: Zeroizing<Vec<u32>>,
    /// Extra entries.
    pub extras: Zeroizing<Vec<Place>>,
    /// Parities, as long as rows.
    pub parities: Zeroizing<Vec<u8>>,
}

/// What a pass gives for pairs: of each its cut, the parity of its half and that of the other partitions.
pub struct Pairs {
    /// Cuts, [`crate::prf::VOID`] where an id has none.
    pub cuts: Zeroizing<Vec<u32>>,
    /// Parities of halves, as long as rows.
    pub halves: Zeroizing<Vec<u8>>,
    /// Parities of what is not in them.
    pub others: Zeroizing<Vec<u8>>,
}

impl Fold {
    /// Begins a pass. This finds all cuts, which takes about a twelfth of the time of the pass.
    ///
    /// # Errors
    /// [`sotto_core::Error::Storage`] if there is no memory for a window and the parities.
    pub fn new(prf: &Prf, row_bytes: usize, hints: Range<u32>, pairs: Range<u32>) -> Result<Self> {
        let rows = usize::from(prf.mask()) + 1;
        let stride = Window::stride_of(row_bytes);
        let lanes = [16, 8, 4, 2]
            .into_iter()
            .find(|lanes| (lanes * rows).saturating_mul(stride) <= WINDOW_BYTES)
            .unwrap_or(1);
        // No wider than the table, so that small ones take little.
        let lanes = lanes.min(prf.partitions().next_power_of_two());
        let parities = hints.len() + 2 * pairs.len() + 3 * 8;
        ask_for((lanes * rows + 1).saturating_add(parities).saturating_mul(stride))?;
        let first = hints.start;
        let hints = Sets::new(prf, hints, stride, false);
        let mut places = Zeroizing::new(vec![Place { partition: 0, offset: 0 }; hints.asked().len()]);
        extras(prf, first, hints.asked(), &mut places);
        Ok(Fold {
            row_bytes,
            partitions: prf.partitions(),
            lanes,
            window: Window::new(row_bytes, rows, lanes),
            done: 0,
            hints,
            by_partition: ByPartition::new(&places, prf.partitions()),
            extras: places,
            pairs: Sets::new(prf, pairs, stride, true),
        })
    }

    /// Takes the next bytes of the table, and says how many: all that lie in its partitions.
    pub fn absorb(&mut self, prf: &Prf, chunk: &[u8]) -> usize {
        let all = self.partitions as u64 * self.window.partition_bytes() as u64;
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

    /// How many bytes were taken that [`Fold::save`] would keep.
    pub fn kept(&self) -> u64 {
        self.done as u64 * self.window.partition_bytes() as u64
    }

    /// Ends the pass. Rows that did not come are zeros.
    pub fn finish(mut self, prf: &Prf) -> (Hints, Pairs) {
        if self.window.filled() > 0 {
            self.window.complete();
            self.add(prf);
        }
        let hints = self.hints.finish(self.row_bytes);
        let pairs = self.pairs.finish(self.row_bytes);
        let hints = Hints { cuts: hints.cuts, extras: self.extras, parities: hints.halves };
        (hints, Pairs { cuts: pairs.cuts, halves: pairs.halves, others: pairs.others })
    }

    /// Adds the window to all parities.
    fn add(&mut self, prf: &Prf) {
        self.hints.add(prf, &self.window, self.done, self.lanes);
        self.pairs.add(prf, &self.window, self.done, self.lanes);
        for (lane, partition) in (self.done..self.partitions).take(self.lanes).enumerate() {
            for &i in self.by_partition.of(partition) {
                let row = self.window.row(lane, usize::from(self.extras[i as usize].offset));
                let parity = self.hints.half(i as usize);
                parity.iter_mut().zip(row).for_each(|(sum, byte)| *sum ^= byte);
            }
        }
        self.done += self.lanes;
        self.window.clear();
    }

    /// Writes down what the whole windows so far came to: how many partitions they were (8 bytes), and all parities
    /// without padding, those of hints, of the pairs' halves and of the other halves.
    ///
    /// # Errors
    /// What `out` gives.
    pub fn save(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(&(self.done as u64).to_le_bytes())?;
        for row in self.hints.rows(self.row_bytes).chain(self.pairs.rows(self.row_bytes)) {
            out.write_all(row)?;
        }
        Ok(())
    }

    /// Reads what [`Fold::save`] wrote into a pass that has just begun, of the same ids.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for a number of partitions at which no window ends; what `from` gives.
    pub fn resume(&mut self, from: &mut dyn Read) -> Result<()> {
        let mut done = [0; 8];
        from.read_exact(&mut done)?;
        let done = usize::try_from(u64::from_le_bytes(done)).unwrap_or(usize::MAX);
        if !done.is_multiple_of(self.lanes) || done > self.partitions {
            return Err(PeerMisbehaved::NotCanonical("a checkpoint").into());
        }
        for row in self.hints.rows_mut(self.row_bytes).chain(self.pairs.rows_mut(self.row_bytes)) {
            from.read_exact(row)?;
        }
        self.done = done;
        self.window.clear();
        Ok(())
    }
}

/// Whether there is so much memory. The reservation is given back: what is asked for again as zeros is not touched before
/// rows come, so that parameters which promise a table that never comes take none.
fn ask_for(bytes: usize) -> Result<()> {
    let room = Vec::<u8>::new().try_reserve_exact(bytes);
    Ok(room.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?)
}
