//! The steps of an answer, on the threads of the current pool.

use super::keys::Keys;
use super::kit::Kit;
use super::table::Table;
use rayon::prelude::*;
use sotto_core::error::{Misuse, PeerMisbehaved};
use sotto_core::Result;
use sotto_lattice::bgv::bfv::galois::{relinearise, split};
use sotto_lattice::bgv::bfv::product::Raised;
use sotto_lattice::bgv::lower::lower;
use sotto_lattice::bgv::{Cipher, Scratch, SlotRing};
use sotto_math::tiles::{self, Selectors};

/// Selectors that are laid out together, and columns that are taken out together.
const TOGETHER: usize = 4;

impl Kit {
    /// Answers a query: for each entry that it asks for, a ciphertext for each chunk, as coefficients modulo the first prime.
    ///
    /// Entry `j` is one of table `j`, or of the only one if there is one; all are of the same shape.
    ///
    /// # Errors
    /// `Misuse` if tables differ in shape or there are not so many; `Peer` if there are not as many ciphertexts as the shape says.
    pub fn answer(&self, keys: &Keys, query: &[Cipher], tables: &[&Table]) -> Result<Vec<Vec<[Vec<u64>; 2]>>> {
        let Some(shape) = tables.first().map(|table| *table.shape()) else {
            return Err(Misuse::Rule("a query asks some table").into());
        };
        if tables.iter().any(|table| *table.shape() != shape) || ![1, shape.batch()].contains(&tables.len()) {
            return Err(Misuse::Rule("tables of one shape, one for each entry of a query").into());
        }
        let level = self.ring().top();
        let fits = |c: &Cipher| (c.level(), c.parts()) == (level, 2);
        if !query.iter().all(fits) {
            return Err(Misuse::Rule("a query of fresh ciphertexts").into());
        }
        let (got, want) = (query.len() as u64, shape.outputs().div_ceil(self.degree()) as u64);
        if got != want {
            return Err(PeerMisbehaved::Count { what: "ciphertexts", got, want }.into());
        }
        let mut selectors = Vec::with_capacity(shape.outputs());
        for c in query {
            let count = self.degree().min(shape.outputs() - selectors.len());
            selectors.extend(self.expand(keys, c.clone(), count)?);
        }
        let one = |(j, selectors): (usize, &[Cipher])| {
            let (first, second) = selectors.split_at(shape.dimensions()[0]);
            let columns = self.columns(tables[j % tables.len()], first);
            let second: Vec<Raised<'_>> = self.raised(second);
            let chunks = columns.chunks(shape.dimensions()[1]);
            chunks.map(|columns| self.selected(keys, &second, columns)).collect()
        };
        Ok(selectors.chunks(shape.selectors()).enumerate().map(one).collect())
    }

    /// One ciphertext of coefficients becomes `count` ciphertexts of one coefficient each, in order.
    fn expand(&self, keys: &Keys, c: Cipher, count: usize) -> Result<Vec<Cipher>> {
        let rounds = count.next_power_of_two().trailing_zeros() as usize;
        // Node `i` of a round stands for coefficients i, i + 2^round, i + 2 2^round and so on.
        let mut nodes = vec![c];
        for round in 0..rounds {
            let (key, times) = keys
                .round(self.degree(), round)
                .ok_or(Misuse::Rule("keys for the shape of the table"))?;
            let halves = |scratch: &mut Scratch, (i, c): (usize, &mut Cipher)| {
                if i + nodes_of(round) >= count {
                    let same = c.clone();
                    c.add(self.ring(), &same);
                    return None;
                }
                let level = c.level();
                let mut image = Cipher::room(self.ring(), level, 2);
                let mut odd = Cipher::room(self.ring(), level, 2);
                key.apply(self.ring(), c, &mut image, scratch);
                for _ in 1..times {
                    key.apply(self.ring(), &image, &mut odd, scratch);
                    std::mem::swap(&mut image, &mut odd);
                }
                split(self.ring(), c, &image, self.monomial(round), &mut odd);
                Some(odd)
            };
            let scratch = || Scratch::new(self.ring());
            let odd: Vec<Cipher> =
                nodes.par_iter_mut().enumerate().map_init(scratch, halves).flatten().collect();
            nodes.extend(odd);
        }
        Ok(nodes)
    }

    /// The sum over rows of selectors times plaintexts, for each column.
    fn columns(&self, table: &Table, selectors: &[Cipher]) -> Vec<Cipher> {
        let (layout, bytes) = table.tiles();
        let ring = self.ring();
        let mut laid = Selectors::new(self.form(), layout, 2);
        for (i, some) in selectors.chunks(TOGETHER).enumerate() {
            let words: Vec<Vec<u64>> = some.iter().flat_map(|c| (0..2).map(|part| joined(c, part))).collect();
            let words: Vec<&[u64]> = words.iter().map(Vec::as_slice).collect();
            laid.set_stored_rows(TOGETHER * i, &words);
        }
        let block_words = layout.cols() * 2 * 8;
        let stretch = layout.blocks().div_ceil(rayon::current_num_threads()).max(1);
        let mut sums = vec![0; block_words * layout.blocks()];
        let parts = sums.par_chunks_mut(stretch * block_words).zip(bytes.par_chunks(stretch * layout.block_bytes()));
        parts.enumerate().for_each(|(i, (sums, bytes))| {
            let blocks = i * stretch..((i + 1) * stretch).min(layout.blocks());
            tiles::scan(self.form(), layout, bytes, blocks, &[&laid], &mut [sums]);
        });
        let firsts: Vec<usize> = (0..layout.cols()).step_by(TOGETHER).collect();
        let some = |first: &usize| {
            let cols = *first..layout.cols().min(first + TOGETHER);
            let mut words = vec![vec![0; layout.n()]; 2 * cols.len()];
            let mut out: Vec<&mut [u64]> = words.iter_mut().map(Vec::as_mut_slice).collect();
            tiles::gather_stored(layout, 2, &sums, cols, &mut out);
            let column = |parts: &[Vec<u64>]| {
                let mut c = Cipher::room(ring, ring.top(), 2);
                parts.iter().enumerate().for_each(|(part, words)| parted(words, &mut c, part));
                c
            };
            words.chunks(2).map(column).collect::<Vec<_>>()
        };
        firsts.par_iter().flat_map_iter(some).collect()
    }

    fn raised<'a>(&self, all: &'a [Cipher]) -> Vec<Raised<'a>> {
        all.par_iter().map(|c| self.extension().raise(self.ring(), c)).collect()
    }

    /// The sum over columns of selectors times ciphertexts, as coefficients modulo the first prime.
    fn selected(&self, keys: &Keys, second: &[Raised<'_>], columns: &[Cipher]) -> [Vec<u64>; 2] {
        let ring = self.ring();
        let mut sum = self.extension().zero(ring);
        for (second, columns) in second.chunks(TOGETHER).zip(columns.chunks(TOGETHER)) {
            for (a, b) in second.iter().zip(self.raised(columns)) {
                self.extension().add_product(ring, a, &b, &mut sum);
            }
        }
        let product = self.extension().divided(ring, sum);
        let mut scratch = Scratch::new(ring);
        let mut c = Cipher::room(ring, ring.top(), 2);
        relinearise(ring, &keys.square, &product, &mut c, &mut scratch);
        while let Some(below) = c.level().below() {
            let mut out = Cipher::room(ring, below, 2);
            lower(ring, &c, &mut out, &mut scratch);
            c = out;
        }
        [0, 1].map(|part| {
            let x = c.limb_mut(part, 0);
            ring.ring().inverse(0, x);
            x.to_vec()
        })
    }
}

fn nodes_of(round: usize) -> usize {
    1 << round
}

/// The values of a part modulo both primes, as stored words.
fn joined(c: &Cipher, part: usize) -> Vec<u64> {
    c.limb(part, 0).iter().zip(c.limb(part, 1)).map(|(x, y)| x | y << 32).collect()
}

/// The reverse.
fn parted(words: &[u64], c: &mut Cipher, part: usize) {
    c.limb_mut(part, 0).iter_mut().zip(words).for_each(|(x, word)| *x = word & u64::from(u32::MAX));
    c.limb_mut(part, 1).iter_mut().zip(words).for_each(|(x, word)| *x = word >> 32);
}
