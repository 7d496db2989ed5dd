//! Selectors that are turns of a few polynomials, and the pass with them.
//!
//! Where slots lie in the order of [two cycles](crate::ntt::NttPlan::cycles), an automorphism of the ring turns both, and
//! perhaps swaps them. A query of thousands of selectors that are all images of a few polynomials is then a few kilobytes: a
//! line of a selector is eight words of a polynomial from some place on. They are copied when the pass comes to their block,
//! so that no selector is ever written down as a whole.

use super::layout::{LINE, LINE_BYTES, TileLayout};
use super::scan::Block;
use super::selectors::Line;
use super::words::Words;
use crate::simd::shapes::TilesShape;
use crate::simd::{self, Kernels};
use std::ops::Range;

/// What a row's selector is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Which polynomial.
    pub polynomial: usize,
    /// Whether the cycles are swapped.
    pub swapped: bool,
    /// By how many slots both are turned: slot `k` takes what slot `k + by` has.
    pub by: usize,
}

/// The turns of all rows of a table.
#[derive(Debug, Clone)]
pub struct Turns {
    polynomials: usize,
    n: usize,
    /// Where the first line of each row's selector lies in [`Turned`].
    starts: Vec<u32>,
}

impl Turns {
    /// The turns of rows, of so many polynomials of `n` slots each.
    ///
    /// `None` for a turn of another polynomial, or by `n / 2` or more, and if `n` is no multiple of 16 or so large that
    /// places cannot be counted.
    pub fn new(n: usize, polynomials: usize, turns: impl Iterator<Item = Turn>) -> Option<Self> {
        u32::try_from(polynomials.checked_mul(STRIDES)?.checked_mul(n)?).ok()?;
        let valid = |turn: &Turn| turn.polynomial < polynomials && turn.by < n / 2;
        let start = |turn: Turn| {
            let start = (turn.polynomial * STRIDES + usize::from(turn.swapped)) * n + turn.by;
            valid(&turn).then_some(start as u32)
        };
        let starts: Option<Vec<u32>> = turns.map(start).collect();
        (n > 0 && n.is_multiple_of(2 * LINE)).then_some(())?;
        Some(Turns { polynomials, n, starts: starts? })
    }
}

/// Stretches of a polynomial in [`Turned`]: the first cycle, the second, and the first again, so that the other cycle always
/// comes next.
const STRIDES: usize = 3;

/// The polynomials of one query. Every cycle is there twice in a row, so that a turned line never wraps.
#[derive(Debug, Clone)]
pub struct Turned {
    form: Words,
    polynomials: usize,
    n: usize,
    words: Vec<u64>,
}

impl Turned {
    /// A query's polynomials, given as reduced slots in the order of cycles.
    ///
    /// # Panics
    /// If they are not all of one length, a multiple of 16.
    pub fn new(form: &Words, polynomials: &[&[u64]]) -> Self {
        let n = polynomials.first().map_or(0, |slots| slots.len());
        assert!(
            n.is_multiple_of(2 * LINE) && polynomials.iter().all(|slots| slots.len() == n),
            "of one length"
        );
        let mut words = Vec::with_capacity(polynomials.len() * STRIDES * n);
        for slots in polynomials {
            let (first, second) = slots.split_at(n / 2);
            for cycle in [first, second, first] {
                words.extend_from_slice(cycle);
                words.extend_from_slice(cycle);
            }
        }
        form.store(&mut words);
        Turned { form: *form, polynomials: polynomials.len(), n, words }
    }
}

/// Multiplies some blocks of a table by the selectors of any number of queries, in one pass, as
/// [`scan`](super::scan()) does: a selector has one component.
///
/// # Panics
/// As [`scan`](super::scan()), and if the turns are not those of the table's rows.
pub fn scan_turned(
    form: &Words,
    (layout, turns): (&TileLayout, &Turns),
    tiles: &[u8],
    blocks: Range<usize>,
    queries: &[&Turned],
    out: &mut [&mut [u64]],
) {
    let how = (simd::kernels(), simd::shapes::shapes().tiles);
    scan_turned_with(how, form, (layout, turns), tiles, blocks, queries, out);
}

fn scan_turned_with(
    (kernels, shape): (&dyn Kernels, TilesShape),
    form: &Words,
    (layout, turns): (&TileLayout, &Turns),
    tiles: &[u8],
    blocks: Range<usize>,
    queries: &[&Turned],
    out: &mut [&mut [u64]],
) {
    assert!(blocks.end <= layout.blocks(), "blocks of this table");
    assert_eq!(layout.packing(), form.packing(), "a layout for words of this form");
    assert_eq!((turns.n, turns.starts.len()), (layout.n(), layout.rows()), "the turns of this table's rows");
    assert_eq!(tiles.len(), blocks.len() * layout.block_bytes(), "the bytes of these blocks");
    assert_eq!(queries.len(), out.len(), "one output per query");
    for (query, out) in queries.iter().zip(out.iter_mut()) {
        assert!((query.form, query.n) == (*form, turns.n), "a query for this table");
        assert_eq!(query.polynomials, turns.polynomials, "a query for these turns");
        assert_eq!(out.len(), blocks.len() * layout.cols() * LINE, "an output for these blocks");
        out.fill(0);
    }
    let mut selectors = vec![Line([0; LINE]); queries.len() * layout.rows()];
    let lines = tiles.as_chunks::<LINE_BYTES>().0;
    for ((i, block), lines) in blocks.enumerate().zip(lines.chunks_exact(layout.block_lines())) {
        for (query, selectors) in queries.iter().zip(selectors.chunks_exact_mut(layout.rows())) {
            query.fill(turns, block, selectors);
        }
        let selectors: Vec<_> = selectors.chunks_exact(layout.rows()).collect();
        let cols = i * layout.cols()..(i + 1) * layout.cols();
        let mut sums: Vec<_> =
            out.iter_mut().map(|out| &mut out.as_chunks_mut::<LINE>().0[cols.clone()]).collect();
        kernels.tiles(&shape, form, Block { layout, lines, selectors: &selectors, comps: 1 }, &mut sums);
    }
}

impl Turned {
    /// Copies the lines of one block.
    fn fill(&self, turns: &Turns, block: usize, selectors: &mut [Line]) {
        let half = self.n / 2;
        let (cycle, slot) = (block * LINE / half, block * LINE % half);
        let words = &self.words[cycle * self.n + slot..];
        for (line, start) in selectors.iter_mut().zip(&turns.starts) {
            line.0 = words[*start as usize..].as_chunks().0[0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::modulus::Modulus;
    use crate::simd::available;
    use crate::simd::shapes::TILES;
    use crate::tiles::strip::filled;
    use crate::tiles::{Selectors, scan};

    /// Against selectors that are written down, made from the definition of a turn.
    #[test]
    fn they_are_the_selectors_that_they_stand_for() {
        let q = 1125899904679937;
        let form = Words::new(&Modulus::new(q).unwrap()).unwrap();
        for (n, rows, cols, count) in [(64, 1, 1, 1), (64, 37, 5, 2), (128, 70, 3, 3), (256, 33, 4, 5)] {
            let layout = TileLayout::new(form.packing(), n, rows, cols).unwrap();
            let slots = |seed: u64| (0..n as u64).map(|i| mix(seed << 20 | i) % q).collect::<Vec<_>>();
            let cells = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
            let table =
                filled(&form, &layout, cells.map(|(row, col)| ((row, col), slots((row * 10 + col) as u64))));
            let turn = |row: usize| Turn {
                polynomial: row % 3,
                swapped: mix(row as u64).is_multiple_of(2),
                by: (mix(row as u64 + 99) % (n as u64 / 2)) as usize,
            };
            let turns = Turns::new(n, 3, (0..rows).map(turn)).unwrap();
            let polynomials: Vec<Vec<Vec<u64>>> =
                (0..count).map(|i| (0..3).map(|j| slots(1000 + 10 * i + j)).collect()).collect();
            let turned = |polynomials: &[u64], turn: Turn| -> Vec<u64> {
                let half = n / 2;
                let from = |slot: usize| {
                    let cycle = (slot / half) ^ usize::from(turn.swapped);
                    polynomials[cycle * half + (slot % half + turn.by) % half]
                };
                (0..n).map(from).collect()
            };
            let plain = polynomials.iter().map(|polynomials| {
                let mut selectors = Selectors::new(&form, &layout, 1);
                for row in 0..rows {
                    selectors.set(row, 0, &turned(&polynomials[row % 3], turn(row)));
                }
                selectors
            });
            let plain: Vec<_> = plain.collect();
            let short = polynomials.iter().map(|polynomials| {
                Turned::new(&form, &polynomials.iter().map(Vec::as_slice).collect::<Vec<_>>())
            });
            let short: Vec<_> = short.collect();
            let blocks = 1..layout.blocks();
            let tiles = &table[layout.block_bytes()..];
            let room = || vec![vec![7; blocks.len() * cols * LINE]; polynomials.len()];
            let mut expected = room();
            let mut views: Vec<&mut [u64]> = expected.iter_mut().map(Vec::as_mut_slice).collect();
            scan(&form, &layout, tiles, blocks.clone(), &plain.iter().collect::<Vec<_>>(), &mut views);
            for kernels in available() {
                for (name, shape) in TILES {
                    let mut sums = room();
                    let mut views: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
                    let queries: Vec<_> = short.iter().collect();
                    let what = (&layout, &turns);
                    scan_turned_with(
                        (kernels, *shape),
                        &form,
                        what,
                        tiles,
                        blocks.clone(),
                        &queries,
                        &mut views,
                    );
                    assert_eq!(sums, expected, "{} {name} {n} {rows}", kernels.name());
                }
            }
        }
    }

    #[test]
    fn turns_that_are_none() {
        let turn = |polynomial, by| std::iter::once(Turn { polynomial, swapped: false, by });
        assert!(Turns::new(64, 2, turn(1, 31)).is_some());
        assert!(Turns::new(64, 2, turn(2, 0)).is_none());
        assert!(Turns::new(64, 2, turn(0, 32)).is_none());
        assert!(Turns::new(40, 2, turn(0, 0)).is_none());
        assert!(Turns::new(0, 2, std::iter::empty()).is_none());
        assert!(Turns::new(1 << 31, 2, turn(0, 0)).is_none());
    }
}
