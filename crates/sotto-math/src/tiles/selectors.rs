//! Selectors of a query, in the order in which the pass reads them.

use crate::simd::args::tiles::{CacheLine, LINE, TileLayout, WordFormat};

/// The selectors of one query: for each row a ciphertext of `comps` polynomials.
///
/// ```text
/// block:  | row 0: comp 0, comp 1, ... | row 1: comp 0, comp 1, ... | ...    lines of eight words
/// ```
///
/// As in the table, the words of eight slots are stored together, so a block's selectors are read
/// in order too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selectors {
    form: WordFormat,
    n: usize,
    rows: usize,
    comps: usize,
    lines: Vec<CacheLine>,
}

/// A buffer for selectors.
#[derive(Debug, Default)]
pub struct SelectorBuffer {
    lines: Vec<CacheLine>,
}

impl Selectors {
    /// Makes selectors for the rows of a table, all zero.
    ///
    /// # Panics
    /// If `comps` is zero, or the selectors would not fit the address space.
    pub fn new(form: &WordFormat, layout: &TileLayout, comps: usize) -> Self {
        assert!(comps > 0, "ciphertexts of at least one polynomial");
        let (n, rows) = (layout.n(), layout.rows());
        Selectors { form: *form, n, rows, comps, lines: vec![CacheLine([0; LINE]); n / LINE * rows * comps] }
    }

    /// Makes selectors in a buffer of earlier ones, which saves allocating memory from the
    /// operating system. The old contents stay until [`set`](Self::set) replaces them.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn in_buffer(form: &WordFormat, layout: &TileLayout, comps: usize, buffer: SelectorBuffer) -> Self {
        assert!(comps > 0, "ciphertexts of at least one polynomial");
        let (n, rows) = (layout.n(), layout.rows());
        let mut lines = buffer.lines;
        lines.resize(n / LINE * rows * comps, CacheLine([0; LINE]));
        Selectors { form: *form, n, rows, comps, lines }
    }

    /// Takes the buffer of selectors that are no longer needed. They must not be used after that.
    pub fn take_buffer(&mut self) -> SelectorBuffer {
        SelectorBuffer { lines: std::mem::take(&mut self.lines) }
    }

    /// Sets one polynomial of the selector of `row`, given as reduced slots.
    ///
    /// # Panics
    /// If there is no such row or component, or `slots` is not `n` long.
    pub fn set(&mut self, row: usize, comp: usize, slots: &[u64]) {
        assert!(row < self.rows && comp < self.comps, "a polynomial of these selectors");
        self.put(row * self.comps + comp, &[slots]);
    }

    /// Sets the selectors of consecutive rows, all components of each. Adjacent lines of one block
    /// are written together, which is faster than row by row.
    ///
    /// # Panics
    /// If there are no such rows, or a polynomial is not `n` long.
    pub fn set_rows(&mut self, first: usize, polynomials: &[&[u64]]) {
        self.parts(1).for_each(|mut part| part.set_rows(first, polynomials));
    }

    /// Sets the selectors of consecutive rows, given as [stored](WordFormat::store) words.
    ///
    /// # Panics
    /// As [`set_rows`](Self::set_rows).
    pub fn set_stored_rows(&mut self, first: usize, polynomials: &[&[u64]]) {
        let end = first * self.comps + polynomials.len();
        assert!(end <= self.rows * self.comps, "polynomials of these selectors");
        let first = first * self.comps;
        self.parts(1).for_each(|mut part| part.put(first, polynomials, |_| ()));
    }

    /// Splits the selectors into about `parts` slices of some blocks each, so that threads can set
    /// them.
    pub fn parts(&mut self, parts: usize) -> impl Iterator<Item = SelectorSlice<'_>> {
        let (form, n, rows, comps) = (self.form, self.n, self.rows, self.comps);
        let blocks_each = (n / LINE).div_ceil(parts.max(1)).max(1);
        let parts = self.lines.chunks_mut(blocks_each * rows * comps).enumerate();
        parts.map(move |(i, lines)| SelectorSlice {
            form,
            n,
            rows,
            comps,
            first_block: i * blocks_each,
            lines,
        })
    }

    fn put(&mut self, first: usize, polynomials: &[&[u64]]) {
        let form = self.form;
        self.parts(1).for_each(|mut part| part.put(first, polynomials, |line| form.store(line)));
    }

    /// Number of polynomials in each ciphertext.
    pub fn comps(&self) -> usize {
        self.comps
    }

    /// Whether the selectors are for tables of this form and shape.
    pub(crate) fn fit(&self, form: &WordFormat, layout: &TileLayout) -> bool {
        (self.form, self.n, self.rows) == (*form, layout.n(), layout.rows())
    }

    /// The lines of one block.
    pub(crate) fn block(&self, block: usize) -> &[CacheLine] {
        let lines = self.rows * self.comps;
        &self.lines[block * lines..(block + 1) * lines]
    }
}

/// Some blocks of selectors.
#[derive(Debug)]
pub struct SelectorSlice<'a> {
    form: WordFormat,
    n: usize,
    rows: usize,
    comps: usize,
    first_block: usize,
    lines: &'a mut [CacheLine],
}

impl SelectorSlice<'_> {
    /// Sets selectors like [`Selectors::set_rows`], in these blocks alone: polynomials are given
    /// whole.
    ///
    /// # Panics
    /// As [`Selectors::set_rows`].
    pub fn set_rows(&mut self, first: usize, polynomials: &[&[u64]]) {
        let end = first * self.comps + polynomials.len();
        assert!(end <= self.rows * self.comps, "polynomials of these selectors");
        let form = self.form;
        self.put(first * self.comps, polynomials, |line| form.store(line));
    }

    fn put(&mut self, first: usize, polynomials: &[&[u64]], store: impl Fn(&mut [u64])) {
        assert!(polynomials.iter().all(|slots| slots.len() == self.n), "polynomials of n slots");
        for (block, lines) in (self.first_block..).zip(self.lines.chunks_exact_mut(self.rows * self.comps)) {
            for (line, slots) in lines[first..].iter_mut().zip(polynomials) {
                line.0 = slots.as_chunks::<LINE>().0[block];
                store(&mut line.0);
            }
        }
    }
}
