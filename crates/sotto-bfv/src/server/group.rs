//! Groups of records: those of one row and block, all positions of all buckets of the table, as the
//! numbers of their plaintexts.

use crate::family::Family;
use crate::layout::{Layout, PlaintextForm};
use crate::params::Params;
use crate::whitening::whiten;
use sotto_core::{RecordSource, Result};
use std::ops::Range;

/// The plaintexts of a row, in the columns of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    pub(super) table: usize,
    pub(super) row: usize,
    pub(super) block: usize,
}

impl Group {
    /// The group of a record, and the record's bucket and position in it.
    pub(super) fn of(layout: &Layout, record: u64) -> (Self, usize, usize) {
        let (bucket, place) = ((record / layout.records) as usize, layout.place(record % layout.records));
        let table = if layout.tables() > 1 { bucket } else { 0 };
        (
            Group { table, row: place.row as usize, block: place.block as usize },
            bucket,
            place.position as usize,
        )
    }

    /// The row and column of the table for column `k` of the block.
    pub(super) fn cell(self, layout: &Layout, k: usize) -> (usize, usize) {
        (self.row, self.block * layout.width + k)
    }

    /// The place of the group's first position, in every bucket.
    fn first(self, layout: &Layout) -> u64 {
        let row = match layout.form {
            PlaintextForm::Slots => self.row,
            PlaintextForm::Whole => self.block * layout.rows + self.row,
        };
        row as u64 * layout.positions as u64
    }

    /// The buckets of the group's table, including unused ones that have space.
    fn buckets(self, layout: &Layout) -> Range<usize> {
        match layout.form {
            PlaintextForm::Slots => 0..layout.lanes().div_ceil(layout.split),
            PlaintextForm::Whole => self.table..self.table + 1,
        }
    }

    /// The numbers of the plaintexts of some of the group's columns. Space without a record holds
    /// its whitening stream.
    pub(super) fn fill<F: Family>(
        self,
        params: &Params<F>,
        rows: &dyn RecordSource,
        columns: Range<usize>,
    ) -> Result<Vec<Vec<u64>>> {
        let (layout, each) = (&params.layout, params.layout.record_bytes());
        let first = self.first(layout);
        let there = layout.records.saturating_sub(first).min(layout.positions as u64) as usize;
        let mut out = vec![vec![0; layout.n]; columns.len()];
        for bucket in self.buckets(layout) {
            let mut bytes = vec![0; if bucket < layout.buckets { there * each } else { 0 }];
            if !bytes.is_empty() {
                rows.read(bucket as u64 * layout.records + first, &mut bytes)?;
            }
            let mut records = bytes.chunks_exact(each.max(1));
            for position in 0..layout.positions {
                let mut words = layout.words_of(records.next().unwrap_or_default());
                // Slots past a record's last number are whitened too: a plaintext with many zeros
                // is not uniform.
                words.resize(layout.padded_words(), 0);
                let number = layout.whitening_index(bucket, first + position as u64);
                whiten(&params.literal.mask, number, layout.bits, &mut words);
                put(layout, (bucket, position), &words, columns.clone(), &mut out);
            }
        }
        Ok(out)
    }

    /// Marks the columns that hold some bytes of a record.
    pub(super) fn columns(layout: &Layout, bytes: Range<usize>, marks: &mut [bool]) {
        let bits = layout.bits as usize;
        let words = 8 * bytes.start / bits..(8 * bytes.end).div_ceil(bits).min(layout.words);
        // In slots, a sequence of as many words as there are columns touches all of them.
        let every = if layout.form == PlaintextForm::Slots { 1 } else { layout.n };
        let words = words.start..words.end.min(words.start + every * layout.width);
        for k in words {
            if let Some(mark) = marks.get_mut(at(layout, (0, 0), k).0) {
                *mark = true;
            }
        }
    }

    /// Reads the bytes of the record at a position of a bucket from its plaintexts: those bytes
    /// whose columns are given.
    pub(super) fn get<F: Family>(
        self,
        params: &Params<F>,
        (bucket, position): (usize, usize),
        numbers: &[Vec<u64>],
    ) -> Vec<u8> {
        let layout = &params.layout;
        let word = |k: usize| {
            let (column, at) = at(layout, (bucket, position), k);
            numbers.get(column).and_then(|numbers| numbers.get(at)).copied().unwrap_or(0)
                & ((1 << layout.bits) - 1)
        };
        let mut words: Vec<u64> = (0..layout.words).map(word).collect();
        let number = layout.whitening_index(bucket, self.first(layout) + position as u64);
        whiten(&params.literal.mask, number, layout.bits, &mut words);
        layout.bytes_of(&words)
    }

    /// Writes a record's bytes at a position of a bucket.
    pub(super) fn set<F: Family>(
        self,
        params: &Params<F>,
        (bucket, position): (usize, usize),
        record: &[u8],
        numbers: &mut [Vec<u64>],
    ) {
        let layout = &params.layout;
        let mut words = layout.words_of(record);
        let number = layout.whitening_index(bucket, self.first(layout) + position as u64);
        whiten(&params.literal.mask, number, layout.bits, &mut words);
        put(layout, (bucket, position), &words, 0..layout.width, numbers);
    }
}

/// The column, and the index within it, of number `k` of a record.
fn at(layout: &Layout, (bucket, position): (usize, usize), k: usize) -> (usize, usize) {
    match layout.form {
        PlaintextForm::Slots => {
            let (lane, column) = layout.lane(bucket, k);
            (column, layout.slot(lane, position))
        }
        PlaintextForm::Whole => (k / layout.n, k % layout.n),
    }
}

fn put(layout: &Layout, place: (usize, usize), words: &[u64], columns: Range<usize>, out: &mut [Vec<u64>]) {
    for (k, word) in words.iter().enumerate() {
        let (column, at) = at(layout, place, k);
        let word_slot = column.checked_sub(columns.start).and_then(|column| out.get_mut(column)?.get_mut(at));
        if let Some(word_slot) = word_slot {
            *word_slot = *word;
        }
    }
}
