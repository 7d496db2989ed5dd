//! The offline phase: parities of all hints, from one pass over the table.
//!
//! The work goes by partitions, not by hints (the paper, section 4.1, streams entries one by one):
//! while the rows of some partitions are in a cache, every id adds its own. Only the cut of an id
//! is stored; halves and offsets are computed again for each partition, with three blocks of AES
//! for sixteen of them. [`halves`] finds the cuts, and the extra entries outside of the halves.

pub mod halves;
#[cfg(test)]
mod tests;

use crate::hints::{BackupPairs, main, pair};
use crate::prf::{RANK, TIE, VOID};
use crate::{HalfSets, Params};
use halves::{ByPartition, cuts, extras, tie};
use sotto_core::Result;
use sotto_hints::codec::reserve;
use sotto_hints::one_server::prepare::longer;
use sotto_hints::one_server::run::{Chooser, IdRun, PartitionRange, TOGETHER};
use sotto_hints::one_server::{Hint, Hints, ParitySums, PartitionPlace, PassFamily, Prf, TablePass};
use sotto_math::aes::Aes;
use sotto_math::parities::PartitionWindow;
use sotto_math::rank;
use std::ops::Range;
use zeroize::{Zeroize, Zeroizing};

impl PassFamily for HalfSets {
    type Sums = HintSums;

    fn pass(params: &Params, prf: &Prf<HalfSets>) -> Result<TablePass<HalfSets>> {
        // There are at most 2^25 ids.
        let (hints, ids) = (params.hints() as u32, params.ids() as u32);
        fold(prf, params.row_bytes(), 0..hints, hints..ids)
    }

    fn harvest(params: &Params, prf: &Prf<HalfSets>, sums: HintSums) -> Result<Hints<HalfSets>> {
        let (mains, pairs) = sums.finish();
        let mut of = Zeroizing::new(Vec::new());
        reserve(&mut of, params.ids() + 1)?;
        of.extend(mains.cuts.iter().zip(mains.extras.iter()).map(|(cut, extra)| main(*cut, *extra)));
        of.extend(pairs.cuts.iter().map(|cut| pair(*cut)));
        of.push(Hint::default());
        let mut parities = Zeroizing::new(Vec::new());
        let row_bytes = params.row_bytes();
        reserve(&mut parities, mains.parities.len() + pairs.halves.len() + row_bytes)?;
        parities.extend_from_slice(&mains.parities);
        parities.extend_from_slice(&pairs.halves);
        parities.resize((params.ids() + 1) * row_bytes, 0);
        let mut backup_stock = BackupPairs::of(params, 0);
        backup_stock.left = pairs.cuts.iter().filter(|cut| **cut != VOID).count() as u64;
        Ok(Hints::new(params, prf, of, [parities, longer(pairs.others, row_bytes)?], backup_stock))
    }
}

/// The sums over some hints and some pairs.
///
/// Those are all of them for a client that streams the table, and the requested ones for a server
/// that makes hints for clients.
pub struct HintSums {
    hints: HalfRun,
    extras: Zeroizing<Vec<PartitionPlace>>,
    by_partition: ByPartition,
    pairs: HalfRun,
}

/// The results of a pass for hints: for each its cut, its extra entry, and the parity of its half
/// with that entry.
pub struct HintOutput {
    /// Cuts of the hints, [`VOID`] for an id without one.
    pub cuts: Zeroizing<Vec<u32>>,
    /// Extra entries of the hints.
    pub extras: Zeroizing<Vec<PartitionPlace>>,
    /// Parities of the hints, each as long as a row.
    pub parities: Zeroizing<Vec<u8>>,
}

/// The results of a pass for pairs: for each its cut, the parity of its half, and that of the other
/// partitions.
pub struct BackupOutput {
    /// Cuts of the pairs, [`VOID`] for an id without one.
    pub cuts: Zeroizing<Vec<u32>>,
    /// Parities of the halves, each as long as a row.
    pub halves: Zeroizing<Vec<u8>>,
    /// Parities of the partitions outside the halves.
    pub others: Zeroizing<Vec<u8>>,
}

/// Begins a pass. This finds all cuts, which takes about a twelfth of the time of the pass.
///
/// # Errors
/// [`sotto_core::Error::Storage`] if the memory for a window and the parities is not available.
pub fn fold(
    prf: &Prf<HalfSets>,
    row_bytes: usize,
    hints: Range<u32>,
    pairs: Range<u32>,
) -> Result<TablePass<HalfSets>> {
    // Runs begin with up to seven unrequested ids.
    let parities = hints.len() + 2 * pairs.len() + 3 * 8;
    TablePass::new(prf, row_bytes, parities, || {
        let first = hints.start;
        let hints = HalfRun::new(prf, hints, row_bytes, false);
        let mut places = Zeroizing::new(vec![PartitionPlace::default(); hints.open_queries().len()]);
        extras(prf, first, hints.open_queries(), &mut places);
        let by_partition = ByPartition::new(&places, prf.partitions());
        HintSums { hints, by_partition, extras: places, pairs: HalfRun::new(prf, pairs, row_bytes, true) }
    })
}

impl HintSums {
    /// The results of the finished pass.
    pub fn finish(self) -> (HintOutput, BackupOutput) {
        let (hints, pairs) = (self.hints.open_queries().to_vec(), self.pairs.open_queries().to_vec());
        let [parities, _] = self.hints.run.finish();
        let [halves, others] = self.pairs.run.finish();
        let mains = HintOutput { cuts: Zeroizing::new(hints), extras: self.extras, parities };
        (mains, BackupOutput { cuts: Zeroizing::new(pairs), halves, others })
    }
}

impl ParitySums<HalfSets> for HintSums {
    fn add(&mut self, prf: &Prf<HalfSets>, window: &PartitionWindow, lanes: PartitionRange) {
        for HalfRun { run, sets } in [&mut self.hints, &mut self.pairs] {
            run.add(prf, window, lanes, sets);
        }
        for (lane, partition) in (lanes.from..prf.partitions()).take(lanes.count).enumerate() {
            for &i in self.by_partition.of(partition) {
                let row = window.row(lane, usize::from(self.extras[i as usize].offset));
                let parity = self.hints.run.parity_mut(i as usize);
                parity.iter_mut().zip(row).for_each(|(sum, byte)| *sum ^= byte);
            }
        }
    }

    fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.hints.run.rows().chain(self.pairs.run.rows())
    }

    fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.hints.run.rows_mut().chain(self.pairs.run.rows_mut())
    }
}

/// A run of ids, with parities of one half or of both.
struct HalfRun {
    run: IdRun,
    sets: Sets,
}

/// The partitions of the ids of a run. Unrequested ids are void.
struct Sets {
    first: u32,
    unasked: usize,
    cuts: Zeroizing<Vec<u32>>,
    /// The top bytes of the cuts.
    tops: Zeroizing<Vec<u8>>,
}

impl HalfRun {
    fn new(prf: &Prf<HalfSets>, ids: Range<u32>, row_bytes: usize, both: bool) -> Self {
        let (first, unasked) = IdRun::before(&ids);
        let mut all = Zeroizing::new(vec![VOID; unasked + ids.len()]);
        cuts(prf, ids.start, &mut all[unasked..]);
        let tops = Zeroizing::new(all.iter().map(|cut| (cut >> 24) as u8).collect());
        HalfRun { run: IdRun::new(&ids, row_bytes, both), sets: Sets { first, unasked, cuts: all, tops } }
    }

    /// The cuts of the requested ids.
    fn open_queries(&self) -> &[u32] {
        &self.sets.cuts[self.sets.unasked..]
    }
}

impl Chooser<HalfSets> for Sets {
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch {
            high: vec![[0; 16]; TOGETHER],
            equal: vec![0; TOGETHER],
            open: Vec::new(),
            inputs: Vec::new(),
            low: Vec::new(),
        }
    }

    /// Sets, for each id, a bit for each partition of the window that is in its half.
    fn choose(
        &self,
        prf: &Prf<HalfSets>,
        lanes: PartitionRange,
        ids: Range<usize>,
        scratch: &mut Scratch,
        chosen: &mut [u16],
    ) {
        let (first, n) = (u64::from(self.first) + ids.start as u64, ids.len());
        let (cuts, tops) = (&self.cuts[ids.clone()], &self.tops[ids]);
        // A window never extends over two blocks of top bytes.
        let (block, shift) = (lanes.from as u64 / 16, lanes.from % 16);
        let window = lanes.all() << shift;
        let (high, equal) = (&mut scratch.high[..n], &mut scratch.equal[..n]);
        prf.aes().grid(RANK + block, 1, first, n, high);
        rank::compare(high, tops, chosen, equal);
        scratch.open.clear();
        scratch.inputs.clear();
        for (i, equal) in (0..).zip(equal) {
            let mut open = *equal & window;
            while open != 0 {
                let k = open.trailing_zeros() as u16;
                scratch.open.push((i, k));
                scratch.inputs.push(input(TIE + block * 4 + u64::from(k / 4), first + u64::from(i)));
                open &= open - 1;
            }
        }
        blocks(prf.aes(), &scratch.inputs, &mut scratch.low);
        for ((i, k), low) in scratch.open.iter().zip(&scratch.low) {
            let below = tie(low, *k) & 0x00FF_FFFF < cuts[usize::from(*i)] & 0x00FF_FFFF;
            chosen[usize::from(*i)] |= u16::from(below) << k;
        }
        chosen.iter_mut().for_each(|bits| *bits >>= shift);
    }
}

/// Working memory of one thread, wiped on drop.
struct Scratch {
    high: Vec<[u8; 16]>,
    equal: Vec<u16>,
    /// Ids and partitions for which top bytes do not decide.
    open: Vec<(u16, u16)>,
    inputs: Vec<[u8; 16]>,
    low: Vec<[u8; 16]>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.high.zeroize();
        self.equal.zeroize();
        self.open.zeroize();
        self.inputs.zeroize();
        self.low.zeroize();
    }
}

/// The input of the block of (x, y).
fn input(x: u64, y: u64) -> [u8; 16] {
    (u128::from(y) << 64 | u128::from(x)).to_le_bytes()
}

/// The blocks of inputs that form no grid.
fn blocks(aes: &Aes, inputs: &[[u8; 16]], out: &mut Vec<[u8; 16]>) {
    out.clear();
    out.resize(inputs.len(), [0; 16]);
    aes.mmo(inputs, out);
    for (out, input) in out.iter_mut().zip(inputs) {
        *out = (u128::from_ne_bytes(*out) ^ u128::from_ne_bytes(*input)).to_ne_bytes();
    }
}
