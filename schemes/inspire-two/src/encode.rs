//! Writing both layers: the records, the packing weights of each block, and the packing weights of
//! their masks. Where bytes change, so do the weights and the mask of their block, and all weights
//! of the second layer. Queries do not depend on the table, so nothing changes for clients.

use crate::Params;
use rayon::prelude::*;
use sotto_core::{RecordChange, RecordSource, Result, Section, Sink};
use sotto_math::bits;
use sotto_silent::groups::{Groups, MaskLayout};
use sotto_silent::lattice::{self, N, VECTORS};
use sotto_silent::matrix::{
    ByteChange, SectionOffset, StackedColumns, change_panels, write_matrix, write_part,
};
use sotto_silent::packed_groups::{PackedGroups, rounded};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::samples::SampleMasks;
use sotto_silent::weights::WeightLayout;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers whose weights are in memory at once, of 12 KiB each.
const TOGETHER: usize = 2048;

/// Numbers whose masks are in memory at once for each thread, of 16 KiB each: they stay in a cache of 32
/// MiB until they are packed.
const MASKS: usize = 512;

/// Writes both layers.
pub(crate) struct Layers<'a> {
    params: &'a Params,
    weighing: WeightLayout,
    packed: Vec<PackedGroups>,
    samples: [SampleMasks; 2],
}

impl<'a> Layers<'a> {
    pub(crate) fn new(params: &'a Params) -> Result<Self> {
        let [first, _] = params.bits();
        let [of_records, of_masks] = VECTORS;
        Ok(Layers {
            params,
            weighing: WeightLayout::new(params.numbers(), params.blocks as usize, first)?,
            packed: packings(params, &params.packings())?,
            samples: [
                SampleMasks::under(params.matrix(), PlainModulus::PAIR, of_records)?,
                SampleMasks::under(params.mask_matrix(), PlainModulus::PAIR, of_masks)?,
            ],
        })
    }

    /// Writes the image of a table.
    pub(crate) fn encode(&self, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let params = self.params;
        let columns = StackedColumns { rows, stacked: params.blocks, height: 2 * params.numbers() };
        write_matrix(params.matrix(), Section::Resident, &columns, out)?;
        self.write(std::iter::once(0..params.blocks as usize), out)
    }

    /// Writes changed bytes, and again what follows from them.
    pub(crate) fn update_image(&self, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let params = self.params;
        let placed = |change: &RecordChange| {
            let (column, row) = params.place(change.record);
            RecordChange { record: column, offset: row + change.offset, bytes: change.bytes.clone() }
        };
        let changes: Vec<RecordChange> = changes.iter().map(placed).collect();
        let of_panel = |entries: &[ByteChange]| {
            let mut blocks: Vec<usize> =
                entries.iter().map(|entry| entry.row as usize / (2 * params.numbers())).collect();
            blocks.dedup();
            Ok(blocks)
        };
        let mut blocks = change_panels(params.matrix(), Section::Resident, &changes, out, of_panel)?.concat();
        blocks.dedup();
        let runs = blocks.chunk_by(|a, b| a + 1 == *b);
        self.write(runs.filter_map(|run| Some(*run.first()?..run.last()? + 1)), out)
    }

    /// Writes some blocks, whose records are in the matrix already, and then, if there are any, the
    /// second layer's weights.
    fn write(&self, blocks: impl Iterator<Item = Range<usize>>, out: &dyn Sink) -> Result<()> {
        let together = (TOGETHER / self.params.numbers()).max(1);
        let cut = |blocks: Range<usize>| {
            let end = blocks.end;
            blocks.step_by(together).map(move |first| first..end.min(first + together))
        };
        let blocks: Vec<Range<usize>> = blocks.flat_map(cut).collect();
        let Some(most) = blocks.iter().map(Range::len).max() else { return Ok(()) };
        let total = blocks.iter().map(Range::len).sum::<usize>() as u64;
        let (mut done, mut rows) = (0, vec![0; most * self.weighing.group_bytes()]);
        out.progress("packing", 0, total);
        for blocks in blocks {
            done += blocks.len() as u64;
            self.first(blocks, &mut rows, out)?;
            out.progress("packing", done, total);
        }
        if self.packed.is_empty() { Ok(()) } else { self.second(out) }
    }

    /// Writes the weights of some blocks, and their masks in the second matrix. `rows` is scratch for
    /// these weights.
    fn first(&self, blocks: Range<usize>, rows: &mut [u8], out: &dyn Sink) -> Result<()> {
        let ([samples, _], [bits, _]) = (&self.samples, self.params.bits());
        let [_, weights, matrix, ..] = self.params.starts();
        let (numbers, ring) = (self.params.numbers(), lattice::ring()?);
        let read = |at, bytes: &mut [u8]| out.read_at(Section::Resident, at, bytes);
        let group_bytes = self.weighing.group_bytes();
        let pack = |(rows, masks): (&mut [u8], &[u64])| {
            let mask = self.weighing.pack(masks, rows)?;
            let mut bytes = Vec::new();
            bits::pack_words(&rounded(&ring, &mask, bits.mask), bits.mask, &mut bytes);
            Ok(bytes)
        };
        let some = (MASKS / numbers).max(1);
        let rows = rows.get_mut(..blocks.len() * group_bytes).unwrap_or_default();
        let ranges =
            rows.par_chunks_mut(some * group_bytes).zip(blocks.clone().into_par_iter().step_by(some));
        let packed = ranges.map(|(rows, first)| {
            let of_range = first * numbers..(first + rows.len() / group_bytes) * numbers;
            let masks = samples.of_numbers(of_range, read, || ())?;
            rows.par_chunks_mut(group_bytes).zip(masks.par_chunks(numbers * N)).map(pack).collect()
        });
        let columns: Vec<Vec<u8>> = packed.collect::<Result<Vec<Vec<Vec<u8>>>>>()?.concat();
        let at = |start| SectionOffset { section: Section::Resident, start };
        self.weighing.write(blocks.start, rows, at(weights), out)?;
        if self.params.picks() == 0 {
            // The only block's mask is sent as it is.
            return columns.iter().try_for_each(|mask| out.write_at(MaskLayout::SECTION, 0, mask));
        }
        let layout = self.params.mask_matrix();
        let fill = |row: usize, bytes: &mut [u8]| {
            let of_column = |column: &Vec<u8>| column.get(row).copied().unwrap_or(0);
            bytes.iter_mut().zip(&columns).for_each(|(byte, column)| *byte = of_column(column));
        };
        write_part(layout, at(matrix), 0..layout.rows(), blocks.clone(), fill, out)
    }

    /// Writes the weights that pack all masks.
    fn second(&self, out: &dyn Sink) -> Result<()> {
        let [_, samples] = &self.samples;
        let [_, _, masks, mut start, _] = self.params.starts();
        let packings = self.packed.iter().zip(self.params.packings());
        let steps = packings.clone().map(|(packed, groups)| packed.steps() * groups.count());
        let (done, total) = (AtomicU64::new(0), steps.sum::<usize>() as u64);
        let step = || out.progress("weights", done.fetch_add(1, Ordering::Relaxed) + 1, total);
        out.progress("weights", 0, total);
        let mut first = 0;
        for (packed, groups) in packings {
            let read = |at, bytes: &mut [u8]| out.read_at(Section::Resident, masks + at, bytes);
            let numbers = |group| first + group * groups.size()..first + (group + 1) * groups.size();
            let of_group = |group| samples.of_numbers(numbers(group), read, || ());
            for together in packed.together(0..groups.count()) {
                packed.write(
                    together,
                    of_group,
                    step,
                    SectionOffset { section: Section::Resident, start },
                    out,
                )?;
            }
            (first, start) = (first + groups.numbers(), start + packed.bytes());
        }
        Ok(())
    }
}

/// The packings of masks, in the order of their numbers.
pub(crate) fn packings(params: &Params, groups: &[Groups]) -> Result<Vec<PackedGroups>> {
    let ([_, bits], mut start) = (params.bits(), 0);
    let packed = |groups: &Groups| {
        let masks = MaskLayout::Artifact { start };
        start += groups.count() as u64 * u64::from(bits.mask) * (N / 8) as u64;
        PackedGroups::new(*groups, bits, masks)
    };
    groups.iter().map(packed).collect()
}
