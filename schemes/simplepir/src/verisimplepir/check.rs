//! C, Z = C D, and the comparison that accepts an answer; and the pass over the streamed table that
//! makes Z and the hint H.
//!
//! An answer v' that is not v = D c differs from it at some row r, by d != 0 modulo the prime Q.
//! One equation `Z c = C v'` then fixes the entry of C at r, given all its other entries: the drawn
//! entry has that value with probability at most 1/Q + 2^-64 (see [`Combinations::draw`]). Four
//! rows of C are independent. So v' passes with at most `(1/Q + 2^-64)^4 < 2^-127.99`, and any of T
//! tries of a server that saw the outcomes of all before with at most T times that: until one
//! passes, the outcomes are known beforehand.
//!
//! The pass goes strip by strip. Only the bytes themselves are trusted, whose digest the caller
//! checks. Memory beside the results is one strip of a panel, the sums of a panel's 64 hint rows, and
//! for every column its value of a public block and its four sums: some 2 MiB, and 40 bytes for every
//! column.

use super::literal::{EQUATIONS, ParamsLiteral};
use sotto_core::{CryptoRng, PeerMisbehaved, Result};
use sotto_math::matrix::PANEL_ROWS;
use sotto_math::matrix::{PanelLayout, dot_rows_many};
use sotto_pages::HugeWords;
use sotto_silent::lwe::hint::{self, PanelHint, STRIP, STRIP_COLUMNS};
use sotto_silent::lwe::ring::{self, Ring, WideSum};
use std::io;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Words of C that are multiplied by one panel.
const PANEL_WORDS: usize = EQUATIONS * PANEL_ROWS;

/// Columns of a group of four, which are stored together in a panel.
const GROUP: usize = 4;

/// The value of one side of the equations.
pub(crate) type CheckSums = Zeroizing<[u64; EQUATIONS]>;

/// The matrix C: four secret combinations of the rows of a matrix.
pub struct Combinations {
    /// For each panel its 64 words of each row of C, one row after the other.
    words: Zeroizing<Vec<u32>>,
}

impl Combinations {
    /// Draws C.
    ///
    /// A word is 64 random bits modulo Q: none of the residues is more likely than 1/Q + 2^-64.
    pub fn draw(params: &ParamsLiteral, rng: &mut dyn CryptoRng) -> Self {
        let panels = (params.record_bytes as usize).div_ceil(PANEL_ROWS);
        let mut words = Zeroizing::new(Vec::with_capacity(panels * PANEL_WORDS));
        let mut wide = Zeroizing::new([0; PANEL_WORDS * 8]);
        for _ in 0..panels {
            rng.fill_bytes(wide.as_mut());
            words.extend(
                wide.as_chunks().0.iter().map(|wide| ring::remainder(u64::from_le_bytes(*wide)) as u32),
            );
        }
        Combinations { words }
    }

    /// The words of C for one panel: four rows of 64.
    fn panel(&self, panel: usize) -> &[u32] {
        self.words.get(panel * PANEL_WORDS..).and_then(|rest| rest.get(..PANEL_WORDS)).unwrap_or_default()
    }

    /// The word of C in this row, for this row of the matrix.
    #[cfg(test)]
    pub(crate) fn entry(&self, row: usize, r: usize) -> u32 {
        self.panel(r / PANEL_ROWS)[row * PANEL_ROWS + r % PANEL_ROWS]
    }

    /// The product C v.
    pub(crate) fn times(&self, v: &[u64]) -> CheckSums {
        let mut sums = [WideSum::default(); EQUATIONS];
        for (panel, v) in self.words.chunks_exact(PANEL_WORDS).zip(v.chunks(PANEL_ROWS)) {
            for (sum, row) in sums.iter_mut().zip(panel.chunks_exact(PANEL_ROWS)) {
                sum.add(row, v);
            }
        }
        Zeroizing::new(sums.map(WideSum::residue))
    }
}

/// Sums up Z, panel by panel.
pub(crate) struct DigestBuilder {
    /// For each column its four sums, not reduced: at most 2^20 rows of words below 2^32 times
    /// signed bytes, so below 2^59.
    sums: Zeroizing<Vec<[i64; EQUATIONS]>>,
}

impl DigestBuilder {
    /// Room for the sums of every column, padding included.
    pub(crate) fn new(columns: usize) -> Result<Self> {
        let mut sums = Zeroizing::new(Vec::new());
        sums.try_reserve_exact(columns).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        sums.resize(columns, [0; EQUATIONS]);
        Ok(DigestBuilder { sums })
    }

    /// Adds a piece of a panel, whose first column is `first`: `C D` over its 64 rows.
    pub(crate) fn add(&mut self, c: &Combinations, panel: usize, first: usize, piece: &[u8]) {
        let c = c.panel(panel);
        let groups = self.sums.get_mut(first..).unwrap_or_default().chunks_exact_mut(GROUP);
        for (sums, group) in groups.zip(piece.chunks_exact(GROUP * PANEL_ROWS)) {
            let mut columns = [[0i32; PANEL_ROWS]; GROUP];
            let [w, x, y, z] = &mut columns;
            for ((((cell, w), x), y), z) in group.as_chunks::<GROUP>().0.iter().zip(w).zip(x).zip(y).zip(z) {
                [*w, *x, *y, *z] = cell.map(|byte| i32::from(byte as i8));
            }
            let mut added = [[0i64; EQUATIONS]; GROUP];
            let [w, x, y, z] = &mut added;
            dot_rows_many(c, PANEL_ROWS, &columns.each_ref().map(|column| &column[..]), &mut [w, x, y, z]);
            for (sums, added) in sums.iter_mut().zip(&added) {
                sums.iter_mut().zip(added).for_each(|(sum, added)| *sum += added);
            }
        }
    }

    /// Z, after all panels were added: four rows of `m` words.
    pub(crate) fn finish(self, m: usize) -> Digest {
        let mut words = Zeroizing::new(Vec::with_capacity(EQUATIONS * m));
        for row in 0..EQUATIONS {
            words.extend(
                self.sums
                    .iter()
                    .take(m)
                    .filter_map(|sums| sums.get(row))
                    .map(|sum| ring::reduce(*sum) as u32),
            );
        }
        Digest { words, m }
    }
}

/// The matrix Z = C D modulo Q.
pub struct Digest {
    /// The words of Z, four rows of m.
    words: Zeroizing<Vec<u32>>,
    m: usize,
}

impl Digest {
    /// The words of Z.
    #[cfg(test)]
    pub(crate) fn words(&self) -> &[u32] {
        &self.words
    }

    /// The product Z c.
    pub(crate) fn times(&self, c: &[u64]) -> CheckSums {
        let mut sums = [WideSum::default(); EQUATIONS];
        for (sum, row) in sums.iter_mut().zip(self.words.chunks_exact(self.m)) {
            sum.add(row, c);
        }
        Zeroizing::new(sums.map(WideSum::residue))
    }
}

/// Whether all equations hold. Nothing else is revealed, in time or otherwise.
pub(crate) fn holds(left: &CheckSums, right: &CheckSums) -> bool {
    left.ct_eq(&right[..]).into()
}

/// A pass in progress over a table.
pub(crate) struct TablePass {
    layout: PanelLayout,
    ring: Ring,
    /// Values of a_k(1/X), block by block.
    blocks: Vec<Vec<u64>>,
    /// The current strip.
    piece: Vec<u8>,
    /// The panel of the current strip, followed by its first column.
    panel: usize,
    first: usize,
    /// Bytes of whole strips that were absorbed.
    taken: u64,
    sums: PanelHint,
    hint: HugeWords,
    combining: DigestBuilder,
}

/// The results of a pass.
pub(crate) struct PassOutput {
    pub(crate) ring: Ring,
    /// The hint H, l rows of n words.
    pub(crate) hint: HugeWords,
    pub(crate) digest: Digest,
}

impl TablePass {
    /// Allocates the memory of the pass.
    pub(crate) fn new(params: &ParamsLiteral) -> Result<Self> {
        let (ring, layout) = (Ring::new()?, params.layout());
        Ok(TablePass {
            layout,
            blocks: (0..params.blocks()).map(|k| ring.reversed_block(k)).collect(),
            ring,
            piece: Vec::new(),
            panel: 0,
            first: 0,
            taken: 0,
            sums: PanelHint::default(),
            hint: hint::allocate(params.hint_bytes())?,
            combining: DigestBuilder::new(layout.padded_cols())?,
        })
    }

    /// Number of absorbed bytes.
    pub(crate) fn absorbed(&self) -> u64 {
        self.taken + self.piece.len() as u64
    }

    /// Absorbs the next bytes, at most those that the table has.
    pub(crate) fn absorb(&mut self, c: &Combinations, mut chunk: &[u8]) -> Result<()> {
        while !chunk.is_empty() {
            let whole = self.columns() * PANEL_ROWS;
            let (head, rest) = chunk.split_at((whole - self.piece.len()).min(chunk.len()));
            self.piece.extend_from_slice(head);
            chunk = rest;
            if self.piece.len() == whole {
                self.take_strip(c)?;
            }
        }
        Ok(())
    }

    /// Columns of the current strip.
    fn columns(&self) -> usize {
        STRIP_COLUMNS.min(self.layout.padded_cols() - self.first)
    }

    fn take_strip(&mut self, c: &Combinations) -> Result<()> {
        let rows = PANEL_ROWS.min(self.layout.rows() - self.panel * PANEL_ROWS);
        let last = self.first + self.columns() == self.layout.padded_cols();
        if !padded_with_zeros(&self.piece, rows, if last { self.layout.cols() % 4 } else { 0 }) {
            return Err(PeerMisbehaved::NotCanonical("rows").into());
        }
        let blocks = self.blocks.chunks(STRIP).nth(self.first / STRIP_COLUMNS).unwrap_or_default();
        self.sums.add(&self.ring, &self.layout, blocks, 0..rows, &self.piece);
        self.combining.add(c, self.panel, self.first, &self.piece);
        self.taken += self.piece.len() as u64;
        self.first += self.columns();
        self.piece.clear();
        if last {
            let hint = &mut self.hint;
            self.sums.finish(&self.ring, 0..rows, |h| hint.extend(h.iter().map(|word| *word as u32)));
            (self.panel, self.first) = (self.panel + 1, 0);
        }
        Ok(())
    }

    /// Completes the pass after all bytes came.
    pub(crate) fn finish(self) -> PassOutput {
        PassOutput { ring: self.ring, hint: self.hint, digest: self.combining.finish(self.layout.cols()) }
    }
}

/// Whether a piece of a panel is zero below its first `rows` rows, and right of `columns` columns
/// in its last group if that is not all four (0).
fn padded_with_zeros(piece: &[u8], rows: usize, columns: usize) -> bool {
    let zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    let (groups, _) = piece.as_chunks::<{ 4 * PANEL_ROWS }>();
    let below = rows == PANEL_ROWS || groups.iter().all(|group| group.get(4 * rows..).is_some_and(zero));
    let cells = groups.last().map(|group| group.as_chunks::<4>().0).unwrap_or_default();
    below && (columns == 0 || cells.iter().all(|cell| cell.get(columns..).is_some_and(zero)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_silent::lwe::ring::{N, PUBLIC_SEED, Q};
    use sotto_testkit::rng::seeded;

    /// The matrix D in panels, and as plain rows.
    fn table(layout: &PanelLayout, byte: impl Fn(usize, usize) -> i8) -> Vec<u8> {
        let mut panels = vec![0; layout.bytes()];
        for row in 0..layout.rows() {
            for column in 0..layout.cols() {
                panels[layout.offset(row, column)] = byte(row, column) as u8;
            }
        }
        panels
    }

    fn modulo(sum: i128) -> u32 {
        sum.rem_euclid(Q.into()) as u32
    }

    /// Row i of A, by definition: coefficient i of a_k s is a product with it.
    fn row_of_a(i: usize) -> Vec<i128> {
        let (mut stream, mut a, i_in) =
            (PUBLIC_SEED.stream("simplepir/1 matrix", (i / N) as u64), Vec::new(), i % N);
        while a.len() < N {
            let mut word = [0; 4];
            stream.fill(&mut word);
            a.extend(Some(u32::from_le_bytes(word)).filter(|word| *word < Q).map(i128::from));
        }
        (0..N).map(|j| if j <= i_in { a[i_in - j] } else { -a[N + i_in - j] }).collect()
    }

    #[test]
    fn hint_and_digest_are_the_dense_products_whatever_the_chunks() {
        // One byte; a partial strip; several strips and panels, of which the last are partial.
        for (l, m, dense) in [(1, 1, true), (3, 1030, true), (70, 37, false), (130, 4500, false)] {
            let params = ParamsLiteral {
                set: crate::literal::SET.into(),
                record_bytes: l as u64,
                records: m as u64,
                seed: PUBLIC_SEED,
            };
            for fill in [|r: usize, c: usize| (r * 31 + c * 7 + r * c) as i8, |_, _| -128, |_, _| 127] {
                let panels = table(&params.layout(), fill);
                let c = Combinations::draw(&params, &mut seeded("combinations"));
                let mut first: Option<(Vec<u32>, Vec<u32>)> = None;
                for chunk in [1000, 255, 300_000, usize::MAX] {
                    let mut pass = TablePass::new(&params).unwrap();
                    for piece in panels.chunks(chunk) {
                        pass.absorb(&c, piece).unwrap();
                    }
                    assert_eq!(pass.absorbed(), panels.len() as u64);
                    let PassOutput { hint, digest, .. } = pass.finish();
                    let got = (hint.to_vec(), digest.words().to_vec());
                    assert!(first.get_or_insert_with(|| got.clone()) == &got, "{l} x {m} in {chunk}");
                }
                let (hint, z) = first.unwrap();
                for (row, z) in (0..EQUATIONS).zip(z.chunks(m)) {
                    let combination: Vec<i128> = (0..l).map(|r| c.entry(row, r).into()).collect();
                    for (column, z) in z.iter().enumerate() {
                        let sum = (0..l).map(|r| combination[r] * i128::from(fill(r, column))).sum();
                        assert_eq!(*z, modulo(sum), "{l} x {m}: row {row}, column {column}");
                    }
                }
                assert_eq!(hint.len(), l * N);
                if dense {
                    let mut h = vec![0i128; l * N];
                    for column in 0..m {
                        let a = row_of_a(column);
                        for (r, h) in h.chunks_mut(N).enumerate() {
                            let byte = i128::from(fill(r, column));
                            h.iter_mut().zip(&a).for_each(|(h, a)| *h += a * byte);
                        }
                    }
                    assert!(hint.iter().zip(h).all(|(word, sum)| *word == modulo(sum)), "{l} x {m}");
                }
            }
        }
    }
}
