//! The pass over the streamed table: computes its hint H and Z = C D, strip by strip.
//!
//! Only the bytes themselves are trusted, whose digest the caller checks. Memory beside the results
//! is one strip of a panel, the sums of a panel's 64 hint rows, and for every column its value of a
//! public block and its four sums: some 2 MiB, and 40 bytes for every column.

use super::check::{Combinations, Digest, DigestBuilder};
use super::literal::ParamsLiteral;
use sotto_core::{PeerMisbehaved, Result};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use sotto_pages::HugeWords;
use sotto_silent::lwe::hint::{self, PanelHint, STRIP, STRIP_COLUMNS};
use sotto_silent::lwe::ring::Ring;

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
            hint: hint::room(params.hint_bytes())?,
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
    use crate::verisimplepir::literal::EQUATIONS;
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
