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
//! [`CubeTable`] is the server of every scheme of the family; `serve` takes the steps for a batch.
//! Large buffers are reused by the next answer: see [`BufferPool`].

mod fold;
mod part;
mod prepare;
mod respond;
mod serve;

use crate::message::{Answer, UnitAnswer};
use crate::params::{Inner, Params};
use part::ColumnRange;
pub use prepare::ExpandedQuery;
use rayon::prelude::*;
use sotto_core::{Image, ImageSection, Misuse, Result, Section};
use sotto_lattice::buffer_pool::BufferPool;
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::ring::ModulusLevel;
use sotto_math::modulus::Modulus;
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
    spare: Arc<AnswerBuffers>,
}

/// Buffers that one answer leaves to the next.
struct AnswerBuffers {
    selectors: BufferPool<SelectorBuffer>,
    sums: BufferPool<Vec<u64>>,
}

/// Largest number of stored buffers of each kind: for one full pass, and for the queries that are
/// prepared meanwhile.
const KEPT: usize = 2 * BATCH;

/// Largest number of bytes in stored buffers of each kind.
const KEPT_BYTES: u64 = 256 << 20;

/// Number of buffers of `bytes` bytes that are stored.
fn kept(bytes: u64) -> usize {
    KEPT.min((KEPT_BYTES / bytes.max(1)) as usize)
}

/// Sums of one query over one unit's table: a ciphertext for each column, block by block.
pub struct ColumnSums {
    sums: Vec<u64>,
    comps: usize,
    spare: Arc<AnswerBuffers>,
}

impl Drop for ColumnSums {
    fn drop(&mut self) {
        self.spare.sums.keep(std::mem::take(&mut self.sums));
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
        let words = stored(params)?;
        let sums = (share.layout.cols() * (params.rank() + 1) * params.n() * 8) as u64;
        let spare = AnswerBuffers {
            selectors: BufferPool::new(kept(params.prepared_bytes())),
            sums: BufferPool::new(kept(sums)),
        };
        let spare = Arc::new(spare);
        Ok(CubeTable { params: params.clone(), share, table, words, spare })
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
        let room = |_| {
            let mut sums = self.spare.sums.take().unwrap_or_default();
            sums.resize(block_words * layout.blocks(), 0);
            sums
        };
        let mut sums: Vec<Vec<u64>> = queries.iter().map(room).collect();

        // One range of blocks per thread: more streams at once would slow the memory down.
        let stretch = layout.blocks().div_ceil(rayon::current_num_threads()).max(1);
        let mut parts: Vec<Vec<&mut [u64]>> = Vec::new();
        for sums in &mut sums {
            for (i, part) in sums.chunks_mut(stretch * block_words).enumerate() {
                match parts.get_mut(i) {
                    Some(parts) => parts.push(part),
                    None => parts.push(vec![part]),
                }
            }
        }
        let tables = table.par_chunks(stretch * layout.block_bytes());
        parts.into_par_iter().zip(tables).enumerate().for_each(|(i, (mut out, table))| {
            let first = i * stretch;
            let blocks = first..(first + stretch).min(layout.blocks());
            tiles::scan(&self.words, layout, table, blocks, &selectors, &mut out);
        });
        sums.into_iter().map(|sums| ColumnSums { sums, comps, spare: self.spare.clone() }).collect()
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
        let room = |_| Ciphertext::room(&self.params.ring, ModulusLevel::Main, self.params.rank());
        let mut ciphers: Vec<Ciphertext> = cols.clone().map(room).collect();
        let mut out: Vec<&mut [u64]> = ciphers.iter_mut().flat_map(Ciphertext::components_mut).collect();
        let layout = &self.share.layout;
        tiles::gather(&self.words, layout, columns.comps, &columns.sums, cols, &mut out);
        ciphers
    }
}

/// The word format of slots in an image: residues modulo q, or modulo its two factors.
pub(crate) fn stored(params: &Inner) -> Result<WordFormat> {
    let q = params.ring.q();
    let words = match q.factors() {
        Some([first, second]) => Modulus::new(first)
            .zip(Modulus::new(second))
            .and_then(|(first, second)| WordFormat::pair(first, second)),
        None => WordFormat::new(q),
    };
    words.ok_or_else(|| Misuse::Rule("every ring's modulus has a stored form").into())
}

#[cfg(test)]
mod tests;
