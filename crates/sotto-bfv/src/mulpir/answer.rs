//! The steps of a MulPIR answer, on the threads of the current pool.

use super::table::ValueTable;
use super::{Keys, RingContext};
use crate::rings::Ring;
use rayon::prelude::*;
use sotto_core::Result;
use sotto_core::error::{Misuse, PeerMisbehaved};
use sotto_lattice::bgv::bfv::product::{BaseExtension, ExtendedCiphertext};
use sotto_lattice::bgv::bfv::{relinearize, split};
use sotto_lattice::bgv::keyswitch::lower;
use sotto_lattice::bgv::{Ciphertext, Scratch, SlotRing};
use sotto_lattice::buffer_pool::BufferPool;
use sotto_lattice::threads::items_per_thread;
use sotto_math::tiles::{self, SelectorBuffer, Selectors, WordFormat};

/// Selectors that are stored together, and columns that are extracted together.
const TOGETHER: usize = 4;

/// Number of first rounds of an expansion whose halves may go to different threads.
const SPREAD: usize = 4;

/// A selector: of the first dimension as stored words, in a ciphertext with one prime; of the
/// second extended to further primes.
enum Selector {
    First(Ciphertext),
    Second(ExtendedCiphertext),
}

/// The input of an expansion: a client's keys, the number of rounds, and selectors `from..` of a
/// query.
struct Expansion<'a> {
    keys: &'a Keys,
    rounds: usize,
    from: usize,
    count: usize,
    /// Selectors of each entry, and how many of them are of the first dimension.
    each: [usize; 2],
}

impl RingContext {
    /// Answers a query: for each requested entry, a ciphertext for each chunk, as coefficients
    /// modulo the first prime.
    ///
    /// Entry `j` is in table `j`, or in the only one if there is one; all tables have the same
    /// shape.
    ///
    /// # Errors
    /// `Misuse` if tables differ in shape or their number is wrong; `Peer` if there are not as many
    /// ciphertexts as the shape requires.
    pub fn answer(
        &self,
        keys: &Keys,
        query: &[Ciphertext],
        tables: &[&ValueTable],
    ) -> Result<Vec<Vec<[Vec<u64>; 2]>>> {
        let Some(shape) = tables.first().map(|table| *table.shape()) else {
            return Err(Misuse::Rule("no table to answer from").into());
        };
        if tables.iter().any(|table| *table.shape() != shape) || ![1, shape.batch()].contains(&tables.len()) {
            return Err(Misuse::Rule(
                "the tables must have one shape, and their number must be 1 or the entries of a query",
            )
            .into());
        }
        let fits = |c: &Ciphertext| (c.level(), c.parts()) == (self.ring().top(), 2);
        if !query.iter().all(fits) {
            return Err(Misuse::Rule("the query must consist of fresh ciphertexts").into());
        }
        let (got, want) = (query.len() as u64, shape.outputs().div_ceil(self.degree()) as u64);
        if got != want {
            return Err(PeerMisbehaved::Count { what: "ciphertexts", got, want }.into());
        }
        let each = [shape.selectors(), shape.dimensions()[0]];
        let mut first: Vec<Vec<Ciphertext>> =
            (0..shape.batch()).map(|_| Vec::with_capacity(each[1])).collect();
        let mut second: Vec<Vec<ExtendedCiphertext>> = (0..shape.batch()).map(|_| Vec::new()).collect();
        for (c, from) in query.iter().zip((0..).step_by(self.degree())) {
            let count = self.degree().min(shape.outputs() - from);
            let rounds = count.next_power_of_two().trailing_zeros() as usize;
            let expansion = Expansion { keys, rounds, from, count, each };
            let mut scratch = Scratch::new(self.ring());
            let mut selectors = self.expand(&expansion, c.clone(), [0, 0], &mut scratch)?;
            selectors.sort_unstable_by_key(|(i, _)| *i);
            for (i, selector) in selectors {
                match selector {
                    Selector::First(words) => first[i / each[0]].push(words),
                    Selector::Second(raised) => second[i / each[0]].push(raised),
                }
            }
        }
        let one = |(j, (first, second)): (usize, (Vec<Ciphertext>, Vec<ExtendedCiphertext>))| {
            let table = tables[j % tables.len()];
            let sums = self.sums(table, first);
            let chunk = |chunk| self.selected(keys, &second, table, &sums, chunk);
            let out = (0..shape.chunks()).into_par_iter().map(chunk).collect();
            self.tools.sums.keep(sums);
            out
        };
        Ok(first.into_iter().zip(second).enumerate().map(one).collect())
    }

    /// Makes the selectors under node `i` of a round, which stands for coefficients `i`,
    /// `i + 2^round`, `i + 2 2^round` and so on.
    ///
    /// The expansion is depth first: so there are only a few ciphertexts at a time, which fit a
    /// cache.
    fn expand(
        &self,
        e: &Expansion<'_>,
        mut c: Ciphertext,
        [round, i]: [usize; 2],
        scratch: &mut Scratch,
    ) -> Result<Vec<(usize, Selector)>> {
        if round == e.rounds {
            return Ok(vec![self.selector(e, e.from + i, c)]);
        }
        let other = i + (1 << round);
        if other >= e.count {
            (0..2).for_each(|part| {
                let twice = c.part(part).to_vec();
                self.ring().add(self.ring().top(), c.part_mut(part), &twice);
            });
            return self.expand(e, c, [round + 1, i], scratch);
        }
        let (key, times) = e
            .keys
            .round(self.degree(), round)
            .ok_or(Misuse::Rule("the evaluation keys must be for the shape of the table"))?;
        let mut image = Ciphertext::unfilled(self.ring(), c.level(), 2);
        let mut odd = Ciphertext::unfilled(self.ring(), c.level(), 2);
        key.apply(self.ring(), &c, &mut image, scratch);
        for _ in 1..times {
            key.apply(self.ring(), &image, &mut odd, scratch);
            std::mem::swap(&mut image, &mut odd);
        }
        split(self.ring(), &mut c, &image, &self.tools.monomials[round], &mut odd);
        drop(image);
        let ([c, odd], next) = ([c, odd], round + 1);
        let halves = if round < SPREAD && rayon::current_num_threads() > 1 {
            rayon::join(
                || self.expand(e, c, [next, i], &mut Scratch::new(self.ring())),
                || self.expand(e, odd, [next, other], &mut Scratch::new(self.ring())),
            )
        } else {
            (self.expand(e, c, [next, i], scratch), self.expand(e, odd, [next, other], scratch))
        };
        let mut selectors = halves.0?;
        selectors.extend(halves.1?);
        Ok(selectors)
    }

    fn selector(&self, e: &Expansion<'_>, i: usize, c: Ciphertext) -> (usize, Selector) {
        if i % e.each[0] >= e.each[1] {
            return (i, Selector::Second(self.tools.extension.raise(self.ring(), c)));
        }
        let level = self.ring().level(1).unwrap_or(c.level());
        let mut words = Ciphertext::unfilled(self.ring(), level, 2);
        for part in 0..2 {
            let values = c.limb(part, 0).iter().zip(c.limb(part, 1));
            words.limb_mut(part, 0).iter_mut().zip(values).for_each(|(word, (x, y))| *word = x | y << 32);
        }
        (i, Selector::First(words))
    }

    /// Sums selectors times plaintexts over the rows, in the form that the pass leaves them in.
    fn sums(&self, table: &ValueTable, selectors: Vec<Ciphertext>) -> Vec<u64> {
        let (layout, bytes) = table.tiles();
        let buffer = self.tools.selectors.take().unwrap_or_default();
        let mut selector_tiles = Selectors::in_buffer(&self.tools.form, layout, 2, buffer);
        for (i, some) in selectors.chunks(TOGETHER).enumerate() {
            let words: Vec<&[u64]> = some.iter().flat_map(|c| [c.part(0), c.part(1)]).collect();
            selector_tiles.set_stored_rows(TOGETHER * i, &words);
        }
        drop(selectors);
        let block_words = layout.cols() * 2 * 8;
        let blocks_per_task = items_per_thread(layout.blocks());
        let mut sums = self.tools.sums.take().unwrap_or_default();
        sums.resize(block_words * layout.blocks(), 0);
        let tiles = bytes.par_chunks(blocks_per_task * layout.block_bytes());
        sums.par_chunks_mut(blocks_per_task * block_words).zip(tiles).enumerate().for_each(
            |(i, (sums, tiles))| {
                let blocks = i * blocks_per_task..((i + 1) * blocks_per_task).min(layout.blocks());
                tiles::scan(&self.tools.form, layout, tiles, blocks, &[&selector_tiles], &mut [sums]);
            },
        );
        self.tools.selectors.keep(selector_tiles.take_buffer());
        sums
    }

    /// Sums selectors times sums over the columns of a chunk, as coefficients modulo the first
    /// prime.
    fn selected(
        &self,
        keys: &Keys,
        second: &[ExtendedCiphertext],
        table: &ValueTable,
        sums: &[u64],
        chunk: usize,
    ) -> [Vec<u64>; 2] {
        let ring = self.ring();
        let cols = chunk * second.len()..(chunk + 1) * second.len();
        let mut sum = self.tools.extension.zero(ring);
        let mut words = vec![vec![0; self.degree()]; 2 * TOGETHER];
        for (first, some) in cols.step_by(TOGETHER).zip(second.chunks(TOGETHER)) {
            let mut out: Vec<&mut [u64]> =
                words.iter_mut().map(Vec::as_mut_slice).take(2 * some.len()).collect();
            tiles::gather_stored(table.tiles().0, 2, sums, first..first + some.len(), &mut out);
            let column = |parts: &[Vec<u64>]| {
                let mut c = Ciphertext::unfilled(ring, ring.top(), 2);
                parts.iter().enumerate().for_each(|(part, words)| parted(words, &mut c, part));
                self.tools.extension.raise(ring, c)
            };
            let columns: Vec<ExtendedCiphertext> = words.par_chunks(2).take(some.len()).map(column).collect();
            some.iter()
                .zip(&columns)
                .for_each(|(a, b)| self.tools.extension.add_product(ring, a, b, &mut sum));
        }
        let product = self.tools.extension.divided(ring, sum);
        let mut scratch = Scratch::new(ring);
        let mut c = Ciphertext::unfilled(ring, ring.top(), 2);
        relinearize(ring, &keys.square, &product, &mut c, &mut scratch);
        while let Some(below) = c.level().below() {
            let mut out = Ciphertext::unfilled(ring, below, 2);
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

/// Splits stored words into values modulo both primes.
fn parted(words: &[u64], c: &mut Ciphertext, part: usize) {
    c.limb_mut(part, 0).iter_mut().zip(words).for_each(|(x, word)| *x = word & u64::from(u32::MAX));
    c.limb_mut(part, 1).iter_mut().zip(words).for_each(|(x, word)| *x = word >> 32);
}

/// Number of concurrent answers whose buffers are stored for the next ones.
const POOLED_BUFFERS: usize = 4;

/// The precomputed values of a ring, and the buffers that one answer leaves to the next.
pub(super) struct AnswerContext {
    pub(super) extension: BaseExtension,
    /// Word format of stored values of both primes.
    pub(super) form: WordFormat,
    /// For each round of expansion, the values of `X^(-2^round)` modulo every prime.
    pub(super) monomials: Vec<Vec<u64>>,
    pub(super) selectors: BufferPool<SelectorBuffer>,
    pub(super) sums: BufferPool<Vec<u64>>,
}

impl AnswerContext {
    /// Makes the context; `None` unless a ciphertext has two primes that share a word.
    pub(super) fn new(ring: &Ring) -> Option<Self> {
        let moduli: Vec<_> = ring.plans(ring.top()).map(|plan| *plan.modulus()).collect();
        let [first, second] = *moduli.as_array()?;
        let monomial = |round: u32| {
            ring.plans(ring.top()).flat_map(|plan| plan.monomial(-(1i64 << round))).collect::<Vec<_>>()
        };
        Some(AnswerContext {
            extension: BaseExtension::new(ring)?,
            form: WordFormat::pair(first, second)?,
            monomials: (0..ring.ring().degree().trailing_zeros()).map(monomial).collect(),
            selectors: BufferPool::new(POOLED_BUFFERS),
            sums: BufferPool::new(POOLED_BUFFERS),
        })
    }
}

impl std::fmt::Debug for AnswerContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AnswerContext")
    }
}
