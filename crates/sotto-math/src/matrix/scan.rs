//! Matrix times queries, in one pass over the matrix.
//!
//! The matrix holds signed bytes, a query unsigned words of up to 64 bits. A word is split into
//! byte planes, every plane is multiplied by the matrix in exact integers, and the planes are
//! combined with shifts once per row. So one kernel serves every modulus. All queries given to one
//! call share the pass: the matrix is read from memory once.

use super::{GROUP_BYTES, PANEL_ROWS, PanelLayout, QueryPlanes};
use crate::simd::args::Planes;
use crate::simd::shapes::ScanShape;
use crate::simd::{self, Kernels};

/// Groups after which 32-bit sums of `scan_planes` move to 64 bits. A column adds at most 128 * 255
/// in absolute value, and 2^15 of those fit an `i32`.
const EXACT_GROUPS: usize = (1 << 15) / 4;

/// Multiplies panels by queries, modulo 2^32.
///
/// `panels` holds any whole number of panels of the matrix, which allows several threads to share
/// one matrix. `out[i]` receives one word per row, padding included, of those panels: the sum over
/// columns of signed byte times word `i`.
///
/// # Panics
/// If `panels` is not whole panels, an `out[i]` is not 64 words per panel, there are not as many
/// outputs as queries, or a query is for another number of columns.
pub fn scan_u32(panels: &[u8], layout: &PanelLayout, queries: &[&QueryPlanes], out: &mut [&mut [u32]]) {
    scan_u32_with(simd::kernels(), &simd::shapes::shapes().scan, panels, layout, queries, out);
}

/// Multiplies panels by queries, in exact integers, one sum per byte plane.
///
/// `out[i][row * K + k]` receives the sum over columns of signed byte times byte `k` of the word,
/// with `K` the planes of query `i`. The product is then the sum over `k` of that, shifted left by
/// `8 k` bits, which the caller may reduce by any modulus.
///
/// # Panics
/// As [`scan_u32`], with `64 K` sums per panel in `out[i]`.
pub fn scan_planes(panels: &[u8], layout: &PanelLayout, queries: &[&QueryPlanes], out: &mut [&mut [i64]]) {
    scan_planes_with(simd::kernels(), &simd::shapes::shapes().scan, panels, layout, queries, out);
}

pub(crate) fn scan_u32_with(
    kernels: &dyn Kernels,
    shape: &ScanShape,
    panels: &[u8],
    layout: &PanelLayout,
    queries: &[&QueryPlanes],
    out: &mut [&mut [u32]],
) {
    check(panels, layout, queries, out, |_| 1);
    if layout.panel_bytes() == 0 {
        out.iter_mut().for_each(|o| o.fill(0));
        return;
    }
    let views: Vec<Planes<'_>> = queries.iter().map(|q| view(q, 0, layout.groups())).collect();
    let arranged = kernels.arrange(&views);
    let mut sums = sums(queries);
    for (p, panel) in panels.chunks_exact(layout.panel_bytes()).enumerate() {
        // Lanes wrap modulo 2^32, as required, so there is nothing to flush.
        sums.fill(0);
        kernels.scan_arranged(shape, panel, &views, &arranged, &mut sums);
        let mut rest = &sums[..];
        for (query, out) in queries.iter().zip(out.iter_mut()) {
            let (mine, others) = rest.split_at(query.planes() * PANEL_ROWS);
            rest = others;
            let rows = &mut out[p * PANEL_ROWS..(p + 1) * PANEL_ROWS];
            rows.fill(0);
            for (k, plane) in mine.chunks_exact(PANEL_ROWS).enumerate().take(4) {
                for (word, &sum) in rows.iter_mut().zip(plane) {
                    *word = word.wrapping_add((sum as u32) << (8 * k));
                }
            }
        }
    }
}

pub(crate) fn scan_planes_with(
    kernels: &dyn Kernels,
    shape: &ScanShape,
    panels: &[u8],
    layout: &PanelLayout,
    queries: &[&QueryPlanes],
    out: &mut [&mut [i64]],
) {
    check(panels, layout, queries, out, QueryPlanes::planes);
    out.iter_mut().for_each(|o| o.fill(0));
    if layout.panel_bytes() == 0 {
        return;
    }
    let segment = |first: usize| {
        let count = EXACT_GROUPS.min(layout.groups() - first);
        let views: Vec<Planes<'_>> = queries.iter().map(|q| view(q, first, count)).collect();
        let arranged = kernels.arrange(&views);
        (views, arranged)
    };
    let segments: Vec<_> = (0..layout.groups()).step_by(EXACT_GROUPS).map(segment).collect();
    let mut sums = sums(queries);
    for (p, panel) in panels.chunks_exact(layout.panel_bytes()).enumerate() {
        for (segment, (views, arranged)) in panel.chunks(EXACT_GROUPS * GROUP_BYTES).zip(&segments) {
            sums.fill(0);
            kernels.scan_arranged(shape, segment, views, arranged, &mut sums);
            let mut rest = &sums[..];
            for (query, out) in queries.iter().zip(out.iter_mut()) {
                let planes = query.planes();
                let (mine, others) = rest.split_at(planes * PANEL_ROWS);
                rest = others;
                let rows = &mut out[p * PANEL_ROWS * planes..(p + 1) * PANEL_ROWS * planes];
                for (k, plane) in mine.chunks_exact(PANEL_ROWS).enumerate() {
                    for (row, &sum) in rows.chunks_exact_mut(planes).zip(plane) {
                        row[k] += i64::from(sum);
                    }
                }
            }
        }
    }
}

fn view<'a>(query: &'a QueryPlanes, first: usize, count: usize) -> Planes<'a> {
    Planes { dwords: query.groups(first, count), planes: query.planes() }
}

fn sums(queries: &[&QueryPlanes]) -> Vec<i32> {
    vec![0; queries.iter().map(|q| q.planes()).sum::<usize>() * PANEL_ROWS]
}

fn check<W>(
    panels: &[u8],
    layout: &PanelLayout,
    queries: &[&QueryPlanes],
    out: &[&mut [W]],
    per_row: impl Fn(&QueryPlanes) -> usize,
) {
    assert_eq!(queries.len(), out.len(), "one output per query");
    let count = panels.len().checked_div(layout.panel_bytes()).unwrap_or(0);
    assert_eq!(panels.len(), count * layout.panel_bytes(), "whole panels");
    for (query, out) in queries.iter().zip(out) {
        assert_eq!(query.group_count(), layout.groups(), "a query for this matrix");
        if layout.panel_bytes() > 0 {
            assert_eq!(out.len(), count * PANEL_ROWS * per_row(query), "an output for these panels");
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::simd::available;
    use crate::simd::shapes::SCAN;

    /// Numbers that look random: the 64-bit mixer of splitmix.
    pub(crate) fn mix(i: u64) -> u64 {
        let mut z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// All backends that this processor can run, and AMX by an emulator where it lacks that.
    fn backends() -> impl Iterator<Item = &'static dyn simd::Kernels> {
        available().chain(simd::emulated())
    }

    struct Case {
        layout: PanelLayout,
        matrix: Vec<u8>,
    }

    impl Case {
        fn new(rows: usize, cols: usize, byte: impl Fn(u64) -> u8) -> Self {
            let layout = PanelLayout::new(rows, cols);
            let mut matrix = vec![0; layout.bytes()];
            for r in 0..rows {
                for c in 0..cols {
                    matrix[layout.offset(r, c)] = byte((r * cols + c) as u64);
                }
            }
            Case { layout, matrix }
        }

        fn queries(&self, planes: &[usize], word: impl Fn(u64) -> u64) -> Vec<Vec<u64>> {
            let cols = self.layout.cols() as u64;
            let cut = |k: usize| if k == 8 { u64::MAX } else { (1 << (8 * k)) - 1 };
            planes
                .iter()
                .zip(0..)
                .map(|(&k, i)| (0..cols).map(|c| word(i * cols + c) & cut(k)).collect())
                .collect()
        }

        /// Computes the product in integers that cannot overflow: the definition.
        fn exact(&self, words: &[u64]) -> Vec<i128> {
            let l = &self.layout;
            let row = |r| {
                (0..l.cols())
                    .map(|c| i128::from(self.matrix[l.offset(r, c)] as i8) * i128::from(words[c]))
                    .sum()
            };
            (0..l.padded_rows()).map(row).collect()
        }

        /// Compares both scans of every backend with the definition.
        fn check(&self, planes: &[usize], word: impl Fn(u64) -> u64) {
            let words = self.queries(planes, word);
            let queries: Vec<_> =
                words.iter().zip(planes).map(|(w, &k)| QueryPlanes::from_u64(w, k, &self.layout)).collect();
            let queries: Vec<_> = queries.iter().collect();
            let exact: Vec<Vec<i128>> = words.iter().map(|w| self.exact(w)).collect();
            let rows = self.layout.padded_rows();
            for (kernels, (name, shape)) in
                backends().flat_map(|kernels| SCAN.iter().map(move |shape| (kernels, shape)))
            {
                let mut out = vec![vec![0xAAAA_AAAAu32; rows]; planes.len()];
                let mut views: Vec<&mut [u32]> = out.iter_mut().map(|o| &mut o[..]).collect();
                scan_u32_with(kernels, shape, &self.matrix, &self.layout, &queries, &mut views);
                for (out, exact) in out.iter().zip(&exact) {
                    let expected: Vec<u32> = exact.iter().map(|&e| e as u32).collect();
                    assert_eq!(
                        out[..exact.len()],
                        expected,
                        "{} {name} {:?} {planes:?}",
                        kernels.name(),
                        self.layout
                    );
                }

                let mut out: Vec<Vec<i64>> = planes.iter().map(|&k| vec![-7; rows * k]).collect();
                let mut views: Vec<&mut [i64]> = out.iter_mut().map(|o| &mut o[..]).collect();
                scan_planes_with(kernels, shape, &self.matrix, &self.layout, &queries, &mut views);
                for ((out, exact), &k) in out.iter().zip(&exact).zip(planes) {
                    let join =
                        |sums: &[i64]| sums.iter().zip(0..).map(|(&s, k)| i128::from(s) << (8 * k)).sum();
                    let joined: Vec<i128> = out.chunks(k).map(join).take(exact.len()).collect();
                    assert_eq!(&joined, exact, "{} {name} {:?} {planes:?}", kernels.name(), self.layout);
                }
            }
        }
    }

    #[test]
    fn awkward_sizes() {
        for rows in [1, 63, 64, 65, 129] {
            for cols in (0..=9).chain([255, 256, 257, 4096 + 4]) {
                let case = Case::new(rows, cols, |i| mix(i) as u8);
                case.check(&[4], |i| mix(i + 99));
                case.check(&[3, 8], |i| mix(i + 98));
            }
        }
    }

    #[test]
    fn every_number_of_planes_and_queries() {
        let case = Case::new(65, 601, |i| mix(i) as u8);
        for k in 1..=8 {
            case.check(&[k], mix);
            case.check(&[k, k], mix);
        }
        for count in 1..=9 {
            case.check(&vec![4; count], mix);
            case.check(&vec![3; count], mix);
        }
        case.check(&[1, 2, 3, 4, 5, 6, 7, 8, 1], mix);
    }

    #[test]
    fn extreme_values() {
        // The most negative byte times the largest word makes the largest sums in absolute
        // value; 255 * 127 and its negative are where 16-bit pair sums would saturate.
        for (byte, word) in
            [(0x80, u64::MAX), (0x7F, u64::MAX), (0xFF, u64::MAX), (0x80, 0), (0x7F, 0x8080_8080_8080_8080)]
        {
            for cols in [4, 257, 5000] {
                let case = Case::new(64, cols, |_| byte);
                case.check(&[4], |_| word);
                case.check(&[8], |_| word);
                case.check(&[4, 4, 3], |_| word);
            }
        }
    }

    #[test]
    fn sums_beyond_32_bits() {
        // At 2^15 columns of extremes a 32-bit sum still fits; at four times that it does not.
        for cols in [(1 << 15) - 1, 1 << 15, (1 << 15) + 1, (1 << 17) + 5] {
            let case = Case::new(3, cols, |_| 0x80);
            case.check(&[4], |_| u64::MAX);
            case.check(&[7, 2], |_| u64::MAX);
        }
    }

    #[test]
    fn panels_may_be_shared_out() {
        let case = Case::new(300, 77, |i| mix(i) as u8);
        let words = case.queries(&[4], mix);
        let query = QueryPlanes::from_u64(&words[0], 4, &case.layout);
        let mut whole = vec![0; case.layout.padded_rows()];
        scan_u32(&case.matrix, &case.layout, &[&query], &mut [&mut whole]);
        let mut parts = vec![0; case.layout.padded_rows()];
        let (left, right) = case.matrix.split_at(2 * case.layout.panel_bytes());
        let (out_left, out_right) = parts.split_at_mut(2 * 64);
        scan_u32(left, &case.layout, &[&query], &mut [out_left]);
        scan_u32(right, &case.layout, &[&query], &mut [out_right]);
        assert_eq!(parts, whole);
    }

    #[test]
    fn no_queries_is_no_work() {
        let case = Case::new(64, 8, |_| 1);
        scan_u32(&case.matrix, &case.layout, &[], &mut []);
        scan_planes(&case.matrix, &case.layout, &[], &mut []);
    }

    #[test]
    fn words_of_both_widths_are_cut_alike() {
        let layout = PanelLayout::new(1, 9);
        let narrow: Vec<u32> = (0..9).map(|i| mix(i) as u32).collect();
        let wide: Vec<u64> = narrow.iter().map(|&w| u64::from(w) | 0xABCD << 32).collect();
        for k in 1..=4 {
            assert_eq!(QueryPlanes::from_u32(&narrow, k, &layout), QueryPlanes::from_u64(&wide, k, &layout));
        }
    }
}
