//! Matrix times queries, in one pass over the matrix.
//!
//! The matrix holds signed bytes, a query unsigned words of up to 64 bits. A word is split into
//! byte planes, every plane is multiplied by the matrix in exact integers, and the planes are
//! combined with shifts once per row. So one kernel serves every modulus. All queries given to one
//! call share the pass: the matrix is read from memory once.

use super::layout::{GROUP_BYTES, PANEL_ROWS, PanelLayout};
use super::query::QueryPlanes;
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
    let mut sums = sums(queries);
    for (p, panel) in panels.chunks_exact(layout.panel_bytes()).enumerate() {
        // Lanes wrap modulo 2^32, as required, so there is nothing to flush.
        sums.fill(0);
        kernels.scan(shape, panel, &views, &mut sums);
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
    let mut sums = sums(queries);
    for (p, panel) in panels.chunks_exact(layout.panel_bytes()).enumerate() {
        for (s, segment) in panel.chunks(EXACT_GROUPS * GROUP_BYTES).enumerate() {
            let count = segment.len() / GROUP_BYTES;
            let views: Vec<Planes<'_>> = queries.iter().map(|q| view(q, s * EXACT_GROUPS, count)).collect();
            sums.fill(0);
            kernels.scan(shape, segment, &views, &mut sums);
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
pub(super) mod tests;
