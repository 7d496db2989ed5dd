//! Answers to queries, by the steps that all schemes of the family share.
//!
//! | step | module | what it does |
//! |---|---|---|
//! | expansion | [`prepare`](CubeTable::prepare) | makes selectors and bits of a query |
//! | first dimension | [`first_dimension`](CubeTable::first_dimension) | scans a unit's table once |
//! | | | for several queries |
//! | further dimensions | [`fold`](CubeTable::fold) | halves the columns, one bit after the other |
//! | packing, switching | [`respond`](CubeTable::respond) | packs, and reduces to the few bits sent |
//!
//! [`CubeTable`] is the server of every scheme of the family.
//! Large buffers are reused by the next answer: see [`BufferPool`].

mod part;
mod prepare;

use crate::encode::{self, word_format};
use crate::literal::TableForm;
use crate::message::{Answer, Keys, Query, UnitAnswer};
use crate::params::{CubeScheme, Family, Inner, Params};
use crate::read::Records;
use crate::session::Session;
use part::ColumnRange;
pub use prepare::ExpandedQuery;
use rayon::prelude::*;
use sotto_core::server::with_successes;
use sotto_core::{Image, ImageSection, RecordSource, Result, Section, Server, Sink};
use sotto_lattice::buffer_pool::BufferPool;
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::keyswitch::SwitchKey;
use sotto_lattice::pack;
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_lattice::scratch::Scratch;
use sotto_lattice::threads::items_per_thread;
use sotto_math::modulus_pair::round_to_bits;
use sotto_math::tiles::{self, SelectorBuffer, Selectors, WordFormat};
use std::ops::Range;
use std::sync::Arc;

/// Largest number of queries in one pass over the table.
pub const BATCH: usize = 4;

/// An open table, or some columns of one.
pub struct CubeTable<F> {
    params: Params<F>,
    share: ColumnRange,
    table: ImageSection,
    words: WordFormat,
    buffers: Arc<AnswerBuffers>,
}

/// Buffers that one answer leaves to the next.
struct AnswerBuffers {
    selectors: BufferPool<SelectorBuffer>,
    sums: BufferPool<Vec<u64>>,
}

/// Largest number of stored buffers of each kind: for one full pass, and for the queries that are
/// prepared meanwhile.
const MAX_POOLED: usize = 2 * BATCH;

/// Largest number of bytes in stored buffers of each kind.
const MAX_POOLED_BYTES: u64 = 256 << 20;

/// Number of buffers of `bytes` bytes that are stored.
fn pool_size(bytes: u64) -> usize {
    MAX_POOLED.min((MAX_POOLED_BYTES / bytes.max(1)) as usize)
}

/// Sums of one query over one unit's table: a ciphertext for each column, block by block.
pub struct ColumnSums {
    sums: Vec<u64>,
    comps: usize,
    buffers: Arc<AnswerBuffers>,
}

impl Drop for ColumnSums {
    fn drop(&mut self) {
        self.buffers.sums.keep(std::mem::take(&mut self.sums));
    }
}

impl<F> CubeTable<F> {
    /// Opens an image.
    ///
    /// # Errors
    /// [`sotto_core::PeerMisbehaved::Length`] if it is not the table of these parameters.
    pub fn open(params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        CubeTable::open_share(params, ColumnRange::all(params), image)
    }

    fn open_share(params: &Params<F>, share: ColumnRange, image: Arc<dyn Image>) -> Result<Self> {
        let bytes = share.layout.bytes() * params.grid.units();
        let table = ImageSection::open(image, Section::Resident, "table", bytes)?;
        let words = word_format(params)?;
        let sums = (share.layout.cols() * (params.rank() + 1) * params.n() * 8) as u64;
        let buffers = AnswerBuffers {
            selectors: BufferPool::new(pool_size(params.prepared_bytes())),
            sums: BufferPool::new(pool_size(sums)),
        };
        let buffers = Arc::new(buffers);
        Ok(CubeTable { params: params.clone(), share, table, words, buffers })
    }

    /// The parameters of the table.
    pub fn params(&self) -> &Params<F> {
        &self.params
    }

    /// Computes the first dimension for up to [`BATCH`] queries in one pass: for each column, the
    /// sum of its rows' polynomials times the rows' selectors. Threads of the current pool take
    /// ranges of slots.
    ///
    /// # Panics
    /// If a record has no such unit.
    pub fn first_dimension(&self, unit: u64, queries: &[&ExpandedQuery]) -> Vec<ColumnSums> {
        let layout = &self.share.layout;
        let (_, table) = self.table.bytes().split_at((layout.bytes() * unit) as usize);
        let (table, _) = table.split_at(layout.bytes() as usize);
        let selectors: Vec<&Selectors> = queries.iter().map(|query| query.selectors()).collect();
        let comps = self.params.rank() + 1;
        let block_words = layout.cols() * comps * 8;
        // The pass clears the buffers before it adds, so their old contents do not matter.
        let buffer = |_| {
            let mut sums = self.buffers.sums.take().unwrap_or_default();
            sums.resize(block_words * layout.blocks(), 0);
            sums
        };
        let mut sums: Vec<Vec<u64>> = queries.iter().map(buffer).collect();

        // One range of blocks per thread: more streams at once would slow the memory down.
        let blocks_per_task = items_per_thread(layout.blocks());
        let mut parts: Vec<Vec<&mut [u64]>> = Vec::new();
        for sums in &mut sums {
            for (i, part) in sums.chunks_mut(blocks_per_task * block_words).enumerate() {
                match parts.get_mut(i) {
                    Some(parts) => parts.push(part),
                    None => parts.push(vec![part]),
                }
            }
        }
        let tables = table.par_chunks(blocks_per_task * layout.block_bytes());
        parts.into_par_iter().zip(tables).enumerate().for_each(|(i, (mut out, table))| {
            let first = i * blocks_per_task;
            let blocks = first..(first + blocks_per_task).min(layout.blocks());
            tiles::scan(&self.words, layout, table, blocks, &selectors, &mut out);
        });
        sums.into_iter().map(|sums| ColumnSums { sums, comps, buffers: self.buffers.clone() }).collect()
    }

    /// Answers one unit for several queries whose bits are those of one pass: the first dimension
    /// for all of them together, the further steps for each query alone.
    ///
    /// # Panics
    /// If a record has no such unit.
    pub fn unit(&self, unit: u64, queries: &[&ExpandedQuery]) -> Vec<UnitAnswer> {
        let columns = self.first_dimension(unit, queries);
        let one =
            |(columns, query): (ColumnSums, &&ExpandedQuery)| self.respond(self.fold(columns, query), query);
        columns.into_par_iter().zip(queries).map(one).collect()
    }

    /// Answers whole records for at most [`BATCH`] queries, in order.
    fn units(&self, queries: &[&ExpandedQuery]) -> Vec<Answer> {
        let mut answers: Vec<Answer> = queries.iter().map(|_| Answer(Vec::new())).collect();
        for unit in 0..self.params.grid.units() {
            let units = self.unit(unit, queries);
            answers.iter_mut().zip(units).for_each(|(answer, unit)| answer.0.push(unit));
        }
        answers
    }

    /// Extracts the ciphertexts of some columns from the sums.
    fn columns(&self, columns: &ColumnSums, cols: Range<usize>) -> Vec<Ciphertext> {
        let buffer = |_| Ciphertext::unfilled(&self.params.ring, ModulusLevel::Main, self.params.rank());
        let mut ciphers: Vec<Ciphertext> = cols.clone().map(buffer).collect();
        let mut out: Vec<&mut [u64]> = ciphers.iter_mut().flat_map(Ciphertext::components_mut).collect();
        let layout = &self.share.layout;
        tiles::gather(&self.words, layout, columns.comps, &columns.sums, cols, &mut out);
        ciphers
    }
}

impl<F: Family> Server<CubeScheme<F>> for CubeTable<F> {
    type Session = Session;

    fn session_bytes(params: &Params<F>) -> usize {
        params.session_bytes() as usize
    }

    fn encode(params: &Params<F>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        encode::encode(params, rows, out)
    }

    fn open(params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        CubeTable::open(params, image)
    }

    fn records(params: &Params<F>, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        Ok(Box::new(Records::open(params, image)?))
    }

    fn admit(&self, keys: Keys) -> Result<Session> {
        Session::admit(&self.params, &keys)
    }

    /// Answers many queries: expands each query into selectors and bits; then, for each unit of a
    /// record, multiplies the table by the selectors of up to four queries in one pass, folds the
    /// sums by the bits, and switches to the bits that are sent.
    fn answer_many(&self, queries: Vec<(&Session, Query)>) -> Vec<Result<Answer>> {
        let queries: Vec<(&Session, &Query)> =
            queries.iter().map(|(session, query)| (*session, query)).collect();
        with_successes(self.prepare_all(&queries), |queries: Vec<ExpandedQuery>| {
            let queries: Vec<&ExpandedQuery> = queries.iter().collect();
            queries.chunks(BATCH).flat_map(|chunk| self.units(chunk)).map(Ok).collect()
        })
    }
}

impl<F> CubeTable<F> {
    /// Folds the columns of every polynomial of a unit by one bit after the other, the lowest
    /// first: `CMUX(C_b, ct_0, ct_1) = ct_0 + C_b x (ct_1 - ct_0)`, one product for each pair. One
    /// ciphertext for each polynomial (or column of the matrix) is left; of a part, one for each of
    /// its pieces.
    pub fn fold(&self, columns: ColumnSums, query: &ExpandedQuery) -> Vec<Ciphertext> {
        let levels = self.share.levels;
        let groups = self.share.layout.cols() >> levels;
        let bits = query.bits.get(..levels).unwrap_or_default();
        let one = |group: usize| self.fold_group(&columns, group << levels, bits);
        (0..groups).into_par_iter().filter_map(one).collect()
    }

    /// Folds the columns from `first` on, as many as the bits distinguish.
    fn fold_group(&self, columns: &ColumnSums, first: usize, bits: &[RgswCiphertext]) -> Option<Ciphertext> {
        let ring = &self.params.ring;
        let Some((lowest, rest)) = bits.split_first() else {
            return self.columns(columns, first..first + 1).pop();
        };
        // The first halving takes the columns directly from the sums, so that they are in memory
        // only once.
        let end = first + (1usize << bits.len());
        let some = |scratch: &mut Scratch, from: usize| {
            let mut pairs = self.columns(columns, from..end.min(from + TOGETHER));
            pairs.chunks_exact_mut(2).for_each(|pair| fold_pair(ring, lowest, pair, scratch));
            firsts(&mut pairs);
            pairs
        };
        let starts = (first..end).into_par_iter().step_by(TOGETHER);
        let left = starts.map_init(|| Scratch::new(ring), some).flatten_iter().collect();
        halve(ring, left, rest)
    }
}

/// Folds ciphertexts, as many as the bits distinguish, by one bit after the other, the lowest
/// first.
fn halve(ring: &Ring, mut left: Vec<Ciphertext>, bits: &[RgswCiphertext]) -> Option<Ciphertext> {
    for bit in bits {
        let scratch = || Scratch::new(ring);
        left.par_chunks_exact_mut(2)
            .for_each_init(scratch, |scratch, pair| fold_pair(ring, bit, pair, scratch));
        firsts(&mut left);
    }
    left.into_iter().next()
}

/// Overwrites the first of two neighbors with the one that the bit selects.
fn fold_pair(ring: &Ring, bit: &RgswCiphertext, pair: &mut [Ciphertext], scratch: &mut Scratch) {
    if let [zero, one] = pair {
        bit.cmux(ring, zero, one, scratch);
    }
}

/// Keeps the first of every two neighbors.
fn firsts(pairs: &mut Vec<Ciphertext>) {
    let mut first = false;
    pairs.retain(|_| {
        first = !first;
        first
    });
}

/// Columns that are extracted from the sums together: their sixteen polynomials of eight slots are
/// 1,024 contiguous bytes.
const TOGETHER: usize = 8;

impl<F> CubeTable<F> {
    /// Packs the ciphertexts if the form requires it, and switches to the bits that are sent.
    pub fn respond(&self, folded: Vec<Ciphertext>, query: &ExpandedQuery) -> UnitAnswer {
        self.params.respond(folded, &query.pack)
    }
}

impl Inner {
    /// Does the work of [`CubeTable::respond`], with the client's keys for packing.
    fn respond(&self, folded: Vec<Ciphertext>, keys: &[SwitchKey]) -> UnitAnswer {
        let columns = match self.literal.form {
            TableForm::Plain | TableForm::Matrix => folded,
            TableForm::Packed => self.pack(&folded, keys),
        };
        let switched = columns.into_par_iter().map(|column| self.switch(column));
        UnitAnswer { polynomials: switched.collect::<Vec<_>>().into_iter().flatten().collect() }
    }

    /// Packs column j of the unit: ciphertexts (1, j) to (n, j), under one mask polynomial.
    fn pack(&self, folded: &[Ciphertext], keys: &[SwitchKey]) -> Vec<Ciphertext> {
        let n = keys.len();
        let column = |j: usize| {
            let entries: Vec<Ciphertext> = folded.iter().skip(j).step_by(n).cloned().collect();
            pack::pack(&self.ring, keys, &entries, &mut Scratch::new(&self.ring))
        };
        (0..n).into_par_iter().map(column).collect()
    }

    /// Switches the modulus to powers of two: more bits for the mask, whose rounding error the
    /// secret multiplies, and fewer for the bodies.
    fn switch(&self, mut column: Ciphertext) -> Vec<Vec<u64>> {
        let ring = &self.ring;
        let [mask, body] = self.literal.answer_bits.map(u32::from);
        let rounded = |(i, slots): (usize, &mut [u64])| {
            ring.inverse(ModulusLevel::Main, slots);
            let mut out = vec![0; slots.len()];
            round_to_bits(ring.q(), slots, if i == 0 { mask } else { body }, &mut out);
            out
        };
        column.components_mut().enumerate().map(rounded).collect()
    }
}

#[cfg(test)]
mod tests;
