//! Query vectors as byte planes.

use super::layout::{GROUP_COLS, PanelLayout};

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

    /// The planes of groups `first..first + count`.
    pub(crate) fn groups(&self, first: usize, count: usize) -> &[u32] {
        &self.dwords[first * self.planes..(first + count) * self.planes]
    }

    /// Number of groups of columns that the query spans.
    pub(crate) fn group_count(&self) -> usize {
        self.dwords.len() / self.planes
    }
}
