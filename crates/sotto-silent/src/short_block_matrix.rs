//! The matrix of a table in [short blocks](crate::short_blocks): written, changed, read, and
//! multiplied by queries, with the digits that pack the products.
//!
//! ```text
//! matrix  | rows and columns as in short_blocks, in panels
//! digits  | for each group the digits of its switches, from that to s itself on: slots, 50 bits a word
//! ```
//!
//! A product is needed at all powers of `Y`, which is one pass over the matrix for each power, with
//! the words of the query times that power. Some of these have changed their sign: so an offset is
//! added to all of them, and its product with the sums of rows is subtracted afterwards.

use crate::lattice::{self, KEY_MASKS, N, Q_BITS, mask_bytes};
use crate::matrix::{ByteChange, Matrix, change_panels, write_matrix};
use crate::packed_groups::{residues, rounded};
use crate::pieces::{PartSection, Piece};
use crate::plain_modulus::PlainModulus;
use crate::samples::SampleMasks;
use crate::short_blocks::ShortBlocks;
use crate::unit_vector::MessageBits;
use rayon::prelude::*;
use sotto_core::{
    Artifact, ExpectOrDefault, Misuse, PartIndex, PeerMisbehaved, RecordChange, RecordSource, Result,
    Section, Sink,
};
use sotto_lattice::encrypt::restore;
use sotto_lattice::inspiring::{TraceDigits, TracePacking};
use sotto_lattice::ring::ModulusLevel;
use sotto_math::bits;
use sotto_math::matrix::{PANEL_ROWS, QueryPlanes};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rotated queries in one pass over the matrix.
const TOGETHER: usize = 4;

const PLAIN: PlainModulus = PlainModulus::BYTE;

/// Some groups of a matrix in short blocks, in an open image.
pub struct ShortBlockMatrix {
    shape: ShortBlocks,
    bits: MessageBits,
    packing: TracePacking,
    groups: Range<usize>,
    matrix: Matrix,
    held: PartSection,
}

/// A query in the form that a pass takes.
pub struct RotatedQuery {
    /// The words times each power of `Y`, plus the offset; and then ones.
    words: Vec<QueryPlanes>,
    /// The key in slots.
    key: Vec<Vec<u64>>,
}

/// Packing for a block of this many records.
fn packing(block: usize) -> Result<TracePacking> {
    let packing = TracePacking::new(&lattice::ring()?, &PLAIN.packing().gadget()?, KEY_MASKS, block);
    Ok(packing.ok_or(Misuse::Rule("the records of a block must be a power of two, at most N / 2"))?)
}

impl ShortBlocks {
    /// Parts that a table can be cut into.
    pub fn max_parts(&self) -> u32 {
        self.groups().div_ceil(self.groups_of_panel()) as u32
    }

    /// The row and column of a byte of a record, and how many bytes follow in the same column.
    fn place(&self, record: usize, offset: usize) -> ([usize; 2], usize) {
        let (group, within) = (offset / N, offset % N);
        let (power, coefficient) = (within / self.block, within % self.block);
        let t = (self.powers() - power) % self.powers();
        let column = record / self.block * N + record % self.block + self.block * t;
        ([group * self.block + coefficient, column], self.block - coefficient)
    }

    /// Groups in a panel of the matrix, at least one.
    fn groups_of_panel(&self) -> usize {
        (PANEL_ROWS / self.block).max(1)
    }

    /// The groups of a part, and their share of the matrix and of the digits.
    pub fn share(&self, cut: PartIndex) -> (Range<usize>, [Piece; 2]) {
        let unit = self.groups_of_panel();
        let units = cut.share(u64::from(self.max_parts()));
        let group = |at: u64| (at as usize * unit).min(self.groups());
        let groups = group(units.start)..group(units.end);
        let piece = |of: &dyn Fn(Range<usize>) -> u64| {
            let start = of(0..groups.start);
            Piece { bytes: of(0..self.groups()), part: start..start + of(groups.clone()) }
        };
        let matrix = piece(&|groups| self.layout(&groups).bytes() as u64);
        let digits = piece(&|groups| groups.len() as u64 * self.digit_bytes());
        (groups, [matrix, digits])
    }

    /// Writes the matrix, the digits of all groups, and their masks.
    ///
    /// # Errors
    /// Storage errors.
    pub fn write(&self, bits: MessageBits, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let columns = BlockColumns { rows, shape: *self };
        write_matrix(self.layout(&(0..self.groups())), Section::Resident, &columns, out)?;
        self.write_groups(bits, (0..self.groups()).collect(), out)
    }

    /// Writes changed bytes, and the digits and masks of the groups that they are in.
    ///
    /// # Errors
    /// Storage errors.
    pub fn update(&self, bits: MessageBits, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let mut placed = Vec::new();
        for RecordChange { record, offset, bytes } in changes {
            let (mut offset, mut rest) = (*offset as usize, bytes.as_slice());
            while !rest.is_empty() {
                let ([row, column], most) = self.place(*record as usize, offset);
                let (now, after) = rest.split_at(most.min(rest.len()));
                placed.push(RecordChange { record: column as u64, offset: row as u64, bytes: now.to_vec() });
                (offset, rest) = (offset + now.len(), after);
            }
        }
        let layout = self.layout(&(0..self.groups()));
        let groups = |entries: &[ByteChange]| {
            Ok(entries.iter().map(|entry| entry.row as usize / self.block).collect::<Vec<_>>())
        };
        let mut groups = change_panels(layout, Section::Resident, &placed, out, groups)?.concat();
        groups.sort_unstable();
        groups.dedup();
        self.write_groups(bits, groups, out)
    }

    /// Writes the digits and masks of groups whose bytes are in the matrix already.
    fn write_groups(&self, bits: MessageBits, groups: Vec<usize>, out: &dyn Sink) -> Result<()> {
        let (layout, packing) = (self.layout(&(0..self.groups())), packing(self.block)?);
        let samples = SampleMasks::new(layout, PLAIN)?;
        let (done, total) = (AtomicU64::new(0), groups.len() as u64);
        out.progress("digits", 0, total);
        let read = |at, bytes: &mut [u8]| out.read_at(Section::Resident, at, bytes);
        groups.into_par_iter().try_for_each(|group| {
            let masks = samples.of_numbers(group * self.block..(group + 1) * self.block, read, || ())?;
            let TraceDigits { digits, mut mask } = packing.digits(&masks);
            let mut packed = Vec::with_capacity(self.digit_bytes() as usize);
            digits.iter().for_each(|digit| bits::pack_words(digit, Q_BITS, &mut packed));
            let at = layout.bytes() as u64 + group as u64 * self.digit_bytes();
            out.write_at(Section::Resident, at, &packed)?;
            packing.ring().inverse(ModulusLevel::Main, &mut mask);
            packed.clear();
            bits::pack_words(&rounded(packing.ring(), &mask, bits.mask), bits.mask, &mut packed);
            out.write_at(Section::Public(Artifact::Hint), (group * packed.len()) as u64, &packed)?;
            out.progress("digits", done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok(())
        })
    }

    /// The records of an open table as they were encoded.
    pub fn records(self, held: PartSection) -> Box<dyn RecordSource> {
        let columns = Matrix::new(self.layout(&(0..self.groups())), held, 0).records();
        Box::new(BlockRecords { columns, shape: self })
    }
}

impl ShortBlockMatrix {
    /// Opens a part.
    ///
    /// # Errors
    /// None for checked parameters.
    pub fn open(shape: ShortBlocks, bits: MessageBits, cut: PartIndex, held: PartSection) -> Result<Self> {
        let (groups, _) = shape.share(cut);
        let matrix = Matrix::new(shape.layout(&groups), held.clone(), 0);
        Ok(ShortBlockMatrix { shape, bits, packing: packing(shape.block)?, groups, matrix, held })
    }

    /// Prepares the words of a vector, and the body of its key.
    ///
    /// # Errors
    /// [`PeerMisbehaved::NotCanonical`] for a malformed key.
    pub fn expand(&self, words: &[u64], keys: &[Vec<u64>]) -> Result<RotatedQuery> {
        let (ring, offset) = (self.packing.ring(), 1 << self.bits.query);
        let planes = |words: &[u64]| QueryPlanes::from_u64(words, self.planes(), self.matrix.layout());
        let rotated = |power: usize| {
            let shift = self.shape.block * power;
            let block = |block: &[u64]| {
                let (before, after) = block.split_at(shift.min(block.len()));
                let [after, before] = [after, before].map(|words| words.iter().copied());
                after.map(|word| offset + word).chain(before.map(|word| offset - word)).collect::<Vec<_>>()
            };
            planes(&words.chunks(N).flat_map(block).collect::<Vec<_>>())
        };
        let slots = |body: &Vec<u64>| {
            let body: Vec<u128> = body.iter().map(|word| u128::from(*word)).collect();
            restore(ring, ModulusLevel::Main, &body, self.bits.keys)
        };
        let key: Option<Vec<Vec<u64>>> = keys.iter().map(slots).collect();
        let mut all: Vec<QueryPlanes> = (0..self.shape.powers()).into_par_iter().map(rotated).collect();
        all.push(planes(&vec![1; words.len()]));
        Ok(RotatedQuery { words: all, key: key.ok_or(PeerMisbehaved::NotCanonical("query"))? })
    }

    /// For each query the body of each group's ciphertext, in the bits that are sent.
    pub fn pass(&self, queries: &[&RotatedQuery]) -> Vec<Vec<Vec<u64>>> {
        let products: Vec<Vec<Vec<u64>>> = queries.iter().map(|query| self.products(query)).collect();
        let fold = |group: usize| {
            let digits = self.digits(group);
            let body = |(query, products): (&&RotatedQuery, &Vec<Vec<u64>>)| {
                let mut body = self.packing.fold(digits.iter().map(Vec::as_slice), &query.key);
                let rows = group * self.shape.block..(group + 1) * self.shape.block;
                for (power, products) in body.chunks_exact_mut(self.shape.block).zip(products) {
                    let products = products.get(rows.clone()).expect_or_default("a product for each row");
                    power
                        .iter_mut()
                        .zip(products)
                        .for_each(|(x, y)| *x = self.packing.ring().q().add(*x, *y));
                }
                rounded(self.packing.ring(), &body, self.bits.body)
            };
            queries.iter().zip(&products).map(body).collect::<Vec<_>>()
        };
        let groups: Vec<Vec<Vec<u64>>> = (0..self.groups.len()).into_par_iter().map(fold).collect();
        let of_query = |query: usize| groups.iter().filter_map(|bodies| bodies.get(query).cloned()).collect();
        (0..queries.len()).map(of_query).collect()
    }

    /// Planes of a word of a rotated query, which is below twice the offset.
    fn planes(&self) -> usize {
        (self.bits.query + 1).div_ceil(8) as usize
    }

    /// The products of all rows with a query, for each power of `Y`.
    fn products(&self, query: &RotatedQuery) -> Vec<Vec<u64>> {
        let (ring, planes, dropped) = (self.packing.ring(), self.planes(), self.bits.dropped());
        let of_some = |words: &[QueryPlanes]| {
            let words: Vec<&QueryPlanes> = words.iter().collect();
            let sums = self.matrix.times_planes(&words);
            sums.iter().map(|sums| residues(ring, sums, [1, planes], dropped)).collect::<Vec<_>>()
        };
        let mut products: Vec<Vec<u64>> = query.words.chunks(TOGETHER).flat_map(of_some).collect();
        let offset = ring.q().reduce(1 << self.bits.query);
        let mut rows = products.pop().unwrap_or_default();
        rows.iter_mut().for_each(|sum| *sum = ring.q().mul(*sum, offset));
        for products in &mut products {
            products.iter_mut().zip(&rows).for_each(|(x, offset)| *x = ring.q().sub(*x, *offset));
        }
        products
    }

    /// The digits of a group's switches. The bytes of a damaged image may be no words, and then no
    /// answer is right.
    fn digits(&self, group: usize) -> Vec<Vec<u64>> {
        let bytes = self.shape.digit_bytes() as usize;
        let digits = self.held.piece(1).get(group * bytes..(group + 1) * bytes).unwrap_or_default();
        let words = |digit| bits::unpack_words(digit, Q_BITS, N).unwrap_or_else(|| vec![0; N]);
        digits.chunks_exact(mask_bytes(Q_BITS) as usize).map(words).collect()
    }
}

/// The columns of a matrix in short blocks, made of records.
struct BlockColumns<'a> {
    rows: &'a dyn RecordSource,
    shape: ShortBlocks,
}

impl RecordSource for BlockColumns<'_> {
    fn records(&self) -> u64 {
        self.shape.words() as u64
    }

    fn record_bytes(&self) -> usize {
        self.shape.groups() * self.shape.block
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let ShortBlocks { record_bytes, records, block } = self.shape;
        let height = self.record_bytes();
        out.fill(0);
        let columns = first as usize..first as usize + out.len() / height;
        let mut bytes = vec![0; record_bytes];
        for record in columns.start / N * block..(columns.end.div_ceil(N) * block).min(records) {
            let mut is_read = false;
            for offset in (0..record_bytes).step_by(block) {
                let ([row, column], most) = self.shape.place(record, offset);
                if !columns.contains(&column) {
                    continue;
                }
                if !is_read {
                    self.rows.read(record as u64, &mut bytes)?;
                    is_read = true;
                }
                let to = out.iter_mut().skip((column - columns.start) * height + row).take(most);
                to.zip(bytes.iter().skip(offset)).for_each(|(to, byte)| *to = *byte);
            }
        }
        Ok(())
    }
}

/// The records of a matrix in short blocks, read from its columns.
struct BlockRecords {
    columns: Box<dyn RecordSource>,
    shape: ShortBlocks,
}

impl RecordSource for BlockRecords {
    fn records(&self) -> u64 {
        self.shape.records as u64
    }

    fn record_bytes(&self) -> usize {
        self.shape.record_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let bytes = self.shape.record_bytes;
        if !out.len().is_multiple_of(bytes) {
            return Err(Misuse::Rule("the buffer must hold whole records").into());
        }
        (first..)
            .zip(out.chunks_exact_mut(bytes))
            .try_for_each(|(record, out)| self.read_part(record, 0, out))
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        let (index, len) = (offset.saturating_add(out.len() as u64), self.shape.record_bytes as u64);
        if record >= self.records() {
            return Err(Misuse::IndexPastEnd { index: record, len: self.records() }.into());
        }
        if index > len {
            return Err(Misuse::IndexPastEnd { index, len }.into());
        }
        let (mut offset, mut rest) = (offset as usize, out);
        while !rest.is_empty() {
            let ([row, column], most) = self.shape.place(record as usize, offset);
            let (now, after) = rest.split_at_mut(most.min(rest.len()));
            self.columns.read_part(column as u64, row as u64, now)?;
            (offset, rest) = (offset + now.len(), after);
        }
        Ok(())
    }
}
