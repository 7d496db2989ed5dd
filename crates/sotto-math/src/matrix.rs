//! The byte matrix, its layout, and the one pass over it that answers queries.
//!
//! [`PanelLayout`] has the position of each byte, [`QueryPlanes`] a query as byte planes, [`scan`]
//! the pass, and [`dot_rows`] products of rows of 32-bit words and short vectors, the client's half
//! of a hint.
//!
//! The matrix is divided into *panels* of 64 rows. Inside a panel, columns are in groups of four; a
//! group is 256 contiguous bytes: four tiles of 16 rows by 4 columns.
//!
//! ```text
//! panel:  | group 0 (columns 0..4) | group 1 (columns 4..8) | ...          64 C bytes
//! group:  | rows 0..16 | rows 16..32 | rows 32..48 | rows 48..64 |         256 bytes
//! tile:   | row 0: c c+1 c+2 c+3 | row 1: c c+1 c+2 c+3 | ... row 15 |      64 bytes
//! ```
//!
//! One tile is one 64-byte register. The byte product instructions (`vpdpbusd` and its equivalents
//! on other machines) multiply four neighboring bytes and add the products to one 32-bit lane, so
//! lane `l` of a tile sums row `l`: no horizontal sum is ever needed, and a panel is read strictly
//! in order. A row-major matrix was measured at half this speed, because many rows have to be read
//! at once.

pub mod scan;

pub use crate::simd::args::{GROUP_BYTES, GROUP_COLS, PANEL_ROWS};
use crate::simd::{self, Kernels};
#[cfg(test)]
pub(crate) use scan::tests::mix;
pub use scan::{scan_planes, scan_u32};

/// The shape of a byte matrix in panels. Bytes are signed: two's complement in -128..=127.
///
/// Byte `(r, c)` is at `(r/64)*64*C + (c/4)*256 + ((r%64)/16)*64 + (r%16)*4 + c%4`, with `C` the
/// columns rounded up to a multiple of 4. Rows are rounded up to a multiple of 64; the padding is
/// zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PanelLayout {
    rows: usize,
    cols: usize,
}

impl PanelLayout {
    /// Makes the layout of a matrix of `rows` by `cols`.
    pub fn new(rows: usize, cols: usize) -> Self {
        PanelLayout { rows, cols }
    }

    /// Number of rows without padding.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns without padding.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Bytes of the whole matrix.
    pub fn bytes(&self) -> usize {
        self.panels() * self.panel_bytes()
    }

    /// Number of panels.
    pub fn panels(&self) -> usize {
        self.rows.div_ceil(PANEL_ROWS)
    }

    /// Bytes of one panel.
    pub fn panel_bytes(&self) -> usize {
        self.padded_cols() * PANEL_ROWS
    }

    /// Number of rows with padding.
    pub fn padded_rows(&self) -> usize {
        self.panels() * PANEL_ROWS
    }

    /// Number of columns with padding.
    pub fn padded_cols(&self) -> usize {
        self.cols.next_multiple_of(GROUP_COLS)
    }

    /// Number of groups of four columns.
    pub(crate) fn groups(&self) -> usize {
        self.cols.div_ceil(GROUP_COLS)
    }

    /// The offset of byte `(row, col)`.
    pub fn offset(&self, row: usize, col: usize) -> usize {
        row / PANEL_ROWS * self.panel_bytes()
            + col / GROUP_COLS * GROUP_BYTES
            + in_panel(row % PANEL_ROWS)
            + col % GROUP_COLS
    }

    /// Reorders `k` columns of one panel from column-major order to panel order.
    ///
    /// `columns` holds `k` whole columns of [`rows`](Self::rows) bytes each. If the first of them
    /// is column `c` of the matrix, a multiple of 4, then `out` is the panel's bytes from `64 c`
    /// on. Padding is written as zero.
    ///
    /// # Panics
    /// If `columns` is not `k * rows` bytes, `out` is not `64 k` bytes with `k` rounded up to a
    /// multiple of 4, or there is no such panel.
    pub fn gather_panel(&self, panel: usize, columns: &[u8], k: usize, out: &mut [u8]) {
        assert!(panel < self.panels(), "no panel {panel} of {}", self.panels());
        assert_eq!(columns.len(), k * self.rows, "k columns");
        assert_eq!(out.len(), k.next_multiple_of(GROUP_COLS) * PANEL_ROWS, "k padded columns of a panel");
        let first = panel * PANEL_ROWS;
        let rows = PANEL_ROWS.min(self.rows - first);
        for (g, group) in out.chunks_exact_mut(GROUP_BYTES).enumerate() {
            // Copied to zeroed buffers first, so that the interleaving below has one shape, with
            // padding or without, and the compiler vectorizes it.
            let mut four = [[0u8; PANEL_ROWS]; GROUP_COLS];
            for (j, column) in four.iter_mut().enumerate().take(k - (g * GROUP_COLS)) {
                let at = (g * GROUP_COLS + j) * self.rows + first;
                column[..rows].copy_from_slice(&columns[at..at + rows]);
            }
            let [a, b, c, d] = &four;
            for ((((cell, a), b), c), d) in
                group.as_chunks_mut::<4>().0.iter_mut().zip(a).zip(b).zip(c).zip(d)
            {
                *cell = [*a, *b, *c, *d];
            }
        }
    }

    /// Splits a group into its columns: the reverse of [`gather_panel`](Self::gather_panel).
    pub fn columns_of_group(group: &[u8; GROUP_BYTES]) -> [[u8; PANEL_ROWS]; GROUP_COLS] {
        let mut columns = [[0; PANEL_ROWS]; GROUP_COLS];
        let [a, b, c, d] = &mut columns;
        for ((((cell, a), b), c), d) in group.as_chunks::<GROUP_COLS>().0.iter().zip(a).zip(b).zip(c).zip(d) {
            [*a, *b, *c, *d] = *cell;
        }
        columns
    }

    /// Copies one row out of a panel, or out of consecutive whole groups of a panel.
    ///
    /// # Panics
    /// If `row_in_panel` is 64 or more, or `panel_bytes` holds fewer than `out.len()` columns.
    pub fn row_of_panel(&self, panel_bytes: &[u8], row_in_panel: usize, out: &mut [u8]) {
        copy_row(panel_bytes, row_in_panel, out, |byte| byte);
    }

    /// Copies a row like [`row_of_panel`](Self::row_of_panel), as signed numbers.
    ///
    /// # Panics
    /// As [`row_of_panel`](Self::row_of_panel).
    pub fn signed_row_of_panel(&self, panel_bytes: &[u8], row_in_panel: usize, out: &mut [i8]) {
        copy_row(panel_bytes, row_in_panel, out, |byte| byte as i8);
    }
}

fn copy_row<B>(panel_bytes: &[u8], row_in_panel: usize, out: &mut [B], to: impl Fn(u8) -> B + Copy) {
    assert!(row_in_panel < PANEL_ROWS, "row {row_in_panel} of a panel");
    let groups = panel_bytes.as_chunks::<GROUP_BYTES>().0;
    assert!(groups.len() >= out.len().div_ceil(GROUP_COLS), "a panel of {} columns", out.len());
    let at = in_panel(row_in_panel) / GROUP_COLS;
    let (fours, last) = out.as_chunks_mut::<GROUP_COLS>();
    for (four, group) in fours.iter_mut().zip(groups) {
        *four = group.as_chunks::<GROUP_COLS>().0[at].map(to);
    }
    if let Some(group) = groups.get(fours.len()) {
        for (byte, &cell) in last.iter_mut().zip(&group.as_chunks::<GROUP_COLS>().0[at]) {
            *byte = to(cell);
        }
    }
}

/// The offset of a row's four bytes in each group: with tiles of 16 rows by 4 columns, simply in
/// order.
fn in_panel(row: usize) -> usize {
    row * GROUP_COLS
}

/// A query of one word per column, as 1 to 8 byte planes.
///
/// Plane `k` is byte `k` of every word. The planes of four neighboring columns are stored together,
/// one 32-bit word per plane, in the order in which the scan reads them:
///
/// ```text
/// dword g * planes + k  =  byte k of words 4g, 4g+1, 4g+2, 4g+3, little-endian
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryPlanes {
    dwords: Vec<u32>,
    planes: usize,
}

impl QueryPlanes {
    /// Makes a query of the low `planes` bytes of 32-bit words, one word per column of `layout`.
    ///
    /// # Panics
    /// If there are not exactly `layout.cols()` words, or `planes` is not 1 to 4.
    pub fn from_u32(words: &[u32], planes: usize, layout: &PanelLayout) -> Self {
        assert!((1..=4).contains(&planes), "a 32-bit word has 1 to 4 planes, not {planes}");
        Self::cut(words, planes, layout, u64::from)
    }

    /// Makes a query of the low `planes` bytes of 64-bit words, one word per column of `layout`.
    ///
    /// # Panics
    /// If there are not exactly `layout.cols()` words, or `planes` is not 1 to 8.
    pub fn from_u64(words: &[u64], planes: usize, layout: &PanelLayout) -> Self {
        assert!((1..=8).contains(&planes), "a 64-bit word has 1 to 8 planes, not {planes}");
        Self::cut(words, planes, layout, |w| w)
    }

    fn cut<W: Copy>(words: &[W], planes: usize, layout: &PanelLayout, wide: impl Fn(W) -> u64) -> Self {
        assert_eq!(words.len(), layout.cols(), "one word per column");
        let mut dwords = Vec::with_capacity(layout.groups() * planes);
        for four in words.chunks(GROUP_COLS) {
            // Missing words of the last group stay zero, like the matrix's padding.
            let mut bytes = [[0u8; 8]; GROUP_COLS];
            for (b, &w) in bytes.iter_mut().zip(four) {
                *b = wide(w).to_le_bytes();
            }
            let [a, b, c, d] = bytes;
            dwords.extend((0..planes).map(|k| u32::from_le_bytes([a[k], b[k], c[k], d[k]])));
        }
        QueryPlanes { dwords, planes }
    }

    /// Number of byte planes of the query.
    pub fn planes(&self) -> usize {
        self.planes
    }

    /// All words, in the order above.
    pub fn words(&self) -> &[u32] {
        &self.dwords
    }

    /// The planes of groups `first..first + count`.
    pub(crate) fn groups(&self, first: usize, count: usize) -> &[u32] {
        &self.dwords[first * self.planes..(first + count) * self.planes]
    }

    /// Number of groups of four columns that the query spans.
    pub fn group_count(&self) -> usize {
        self.dwords.len() / self.planes
    }
}

/// Computes `y[r]` = sum over `j` of `h[r * n + j] * s[j]`, modulo 2^64.
///
/// The sum is the exact integer while `n` times the largest `|s|` is below 2^31.
///
/// # Panics
/// If `s` is not `n` long or `h` is not `y.len()` rows of `n`.
pub fn dot_rows(h: &[u32], n: usize, s: &[i32], y: &mut [i64]) {
    dot_rows_with(simd::kernels(), h, n, &[s], &mut [y]);
}

/// Computes [`dot_rows`] for several vectors, reading `h` once.
///
/// # Panics
/// If there are not as many outputs as vectors, or as [`dot_rows`].
pub fn dot_rows_many(h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
    dot_rows_with(simd::kernels(), h, n, s, y);
}

pub(crate) fn dot_rows_with(kernels: &dyn Kernels, h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
    assert_eq!(s.len(), y.len(), "one output per vector");
    for (s, y) in s.iter().zip(y.iter()) {
        assert_eq!(s.len(), n, "a vector of n words");
        assert_eq!(h.len(), y.len() * n, "rows of n words");
    }
    if n == 0 {
        y.iter_mut().for_each(|y| y.fill(0));
    } else {
        kernels.dot(h, n, s, y);
    }
}

#[cfg(test)]
mod tests {
    use super::{mix, *};
    use crate::simd::available;

    #[test]
    fn offsets_follow_the_formula_and_never_collide() {
        for (rows, cols) in [(1, 1), (63, 5), (64, 8), (65, 3), (130, 9)] {
            let l = PanelLayout::new(rows, cols);
            let padded = cols.next_multiple_of(4);
            assert_eq!(l.padded_cols(), padded);
            assert_eq!(l.bytes(), rows.next_multiple_of(64) * padded);
            let mut written = vec![false; l.bytes()];
            for r in 0..l.padded_rows() {
                for c in 0..padded {
                    let at =
                        (r / 64) * 64 * padded + (c / 4) * 256 + ((r % 64) / 16) * 64 + (r % 16) * 4 + c % 4;
                    assert_eq!(l.offset(r, c), at, "({r}, {c})");
                    assert!(!std::mem::replace(&mut written[at], true), "({r}, {c}) collides");
                }
            }
            assert!(written.iter().all(|&s| s));
        }
    }

    #[test]
    fn gathering_puts_every_byte_at_its_offset_and_rows_come_back() {
        for (rows, cols) in [(1, 1), (63, 5), (64, 8), (65, 3), (129, 10)] {
            let l = PanelLayout::new(rows, cols);
            let value = |r: usize, c: usize| (r * 31 + c * 7 + 1) as u8;
            let columns: Vec<u8> = (0..cols).flat_map(|c| (0..rows).map(move |r| value(r, c))).collect();
            let mut matrix = vec![0xEE; l.bytes()];
            for p in 0..l.panels() {
                // In two pieces, the first of a whole number of groups.
                let cut = cols / 2 / 4 * 4;
                let panel = &mut matrix[p * l.panel_bytes()..][..l.panel_bytes()];
                let (left, right) = panel.split_at_mut(cut * 64);
                l.gather_panel(p, &columns[..cut * rows], cut, left);
                l.gather_panel(p, &columns[cut * rows..], cols - cut, right);
            }
            for (g, group) in matrix.as_chunks().0.iter().enumerate() {
                for (j, column) in PanelLayout::columns_of_group(group).iter().enumerate() {
                    let (first, c) = (g / l.groups() * 64, g % l.groups() * 4 + j);
                    assert!((first..).zip(column).all(|(r, byte)| *byte == matrix[l.offset(r, c)]));
                }
            }
            for r in 0..l.padded_rows() {
                for c in 0..l.padded_cols() {
                    let expected = if r < rows && c < cols { value(r, c) } else { 0 };
                    assert_eq!(matrix[l.offset(r, c)], expected, "({r}, {c}) of {rows} x {cols}");
                }
                let mut row = vec![0xEE; cols];
                l.row_of_panel(&matrix[r / 64 * l.panel_bytes()..][..l.panel_bytes()], r % 64, &mut row);
                let expected: Vec<u8> = (0..cols).map(|c| if r < rows { value(r, c) } else { 0 }).collect();
                assert_eq!(row, expected);
                let mut signed = vec![0; cols];
                l.signed_row_of_panel(
                    &matrix[r / 64 * l.panel_bytes()..][..l.panel_bytes()],
                    r % 64,
                    &mut signed,
                );
                assert_eq!(signed, expected.iter().map(|&b| b as i8).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn every_backend_gives_the_integers() {
        let fills: [(&dyn Fn(u64) -> u32, &dyn Fn(u64) -> i32); 5] = [
            (&|i| mix(i) as u32, &|i| (mix(i) % 200) as i32 - 100),
            (&|_| u32::MAX, &|_| 32767),
            (&|_| u32::MAX, &|_| -32768),
            (&|_| 1 << 31, &|i| if i % 2 == 0 { -1 } else { 1 }),
            (&|i| mix(i) as u32, &|i| mix(i) as i32),
        ];
        for n in [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1024, 1030] {
            for (rows, vectors) in [(0, 1), (1, 1), (2, 2), (3, 3), (5, 5), (2, 0), (4, 9)] {
                for (word, small) in fills {
                    let h: Vec<u32> = (0..(rows * n) as u64).map(word).collect();
                    let s: Vec<Vec<i32>> =
                        (0..vectors).map(|v| (0..n as u64).map(|i| small(i + v * 5000)).collect()).collect();
                    let s: Vec<&[i32]> = s.iter().map(|s| &s[..]).collect();
                    let exact = |v: usize, r: usize| -> i128 {
                        (0..n).map(|j| i128::from(h[r * n + j]) * i128::from(s[v][j])).sum()
                    };
                    for k in available() {
                        let mut y = vec![vec![55; rows]; s.len()];
                        let mut views: Vec<&mut [i64]> = y.iter_mut().map(|y| &mut y[..]).collect();
                        dot_rows_with(k, &h, n, &s, &mut views);
                        for (v, y) in y.iter().enumerate() {
                            let expected: Vec<i64> = (0..rows).map(|r| exact(v, r) as i64).collect();
                            assert_eq!(y, &expected, "{rows} rows of {n}, {vectors} vectors, {}", k.name());
                        }
                    }
                }
            }
        }
    }
}
