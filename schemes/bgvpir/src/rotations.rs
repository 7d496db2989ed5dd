//! The rotations of a query to every place of the folded vector: by one place at a time, and with a
//! second key by a *stride* too.
//!
//! With one key, rotations are a chain: each waits for the one before, and the last has the noise
//! of all. With two, place `k = i g + j` is in row `i` and column `j` of a grid, `g` being the
//! stride:
//!
//! ```text
//!  0 - 1 - 2 - 3 - ...     even rows: by one place, from left to right
//!  |   |   |   |
//!  g   .   .   .           odd rows: by a stride, each from the place above it
//!  |
//!  2g - . - . - ...        the first column: by a stride
//! ```
//!
//! So no place is more than `i + j` rotations away, pairs of rows do not wait for each other, and
//! both rotations of a ciphertext of an even row share its digits, which are half of a rotation's
//! work (Halevi and Shoup, CRYPTO 2018): half of the places are never split at all.

/// The rotations of a query: the number of places, and the stride, which is 1 where there is no
/// second key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotations {
    /// Number of places, including the query's own.
    pub places: usize,
    /// Places by which the second key rotates.
    pub stride: usize,
}

impl Rotations {
    /// Whether there is a second key.
    pub fn has_stride(self) -> bool {
        self.stride > 1
    }

    /// The stride for `places` places that about minimizes the chain of rotations to the last of
    /// them.
    pub fn best_stride(places: usize) -> u32 {
        (places as f64).sqrt().ceil().max(1.0) as u32
    }

    /// Rows of the grid.
    pub fn rows(self) -> usize {
        self.places.div_ceil(self.stride)
    }

    /// Places in a row.
    pub fn row(self, i: usize) -> usize {
        self.places.saturating_sub(i * self.stride).min(self.stride)
    }

    /// Consecutive rotations to the farthest place.
    pub fn depth(self) -> usize {
        (0..self.rows()).map(|i| i + self.row(i).saturating_sub(1)).max().unwrap_or(0)
    }

    /// Number of ciphertexts that are split into digits.
    pub fn splits(self) -> usize {
        if !self.has_stride() {
            return self.places.saturating_sub(1);
        }
        // In an even row, the places with a place to the right, or below, after the first; and the
        // first column by itself, so that its strides need not wait for rotations.
        let row = |i: usize| self.row(i).saturating_sub(1).max(self.row(i + 1));
        self.rows() - 1 + (0..self.rows()).step_by(2).map(row).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_shorten_the_way_and_halve_the_splits() {
        let rotations = |places, stride| Rotations { places, stride };
        assert_eq!((rotations(182, 1).depth(), rotations(182, 1).splits()), (181, 181));
        let best = rotations(182, Rotations::best_stride(182) as usize);
        assert_eq!((best.stride, best.rows(), best.row(12), best.row(13)), (14, 13, 14, 0));
        assert_eq!((best.depth(), best.splits()), (12 + 13, 12 + 6 * 14 + 13));
        for (places, stride) in
            [(1, 1), (2, 2), (3, 2), (5, 2), (7, 3), (100, 10), (101, 10), (109, 10), (110, 10)]
        {
            let rotations = rotations(places, stride);
            assert_eq!((0..rotations.rows()).map(|i| rotations.row(i)).sum::<usize>(), places);
            let far = (0..places).map(|k| k / stride + if stride > 1 { k % stride } else { 0 }).max();
            assert_eq!(Some(rotations.depth()), far, "{places} by {stride}");
        }
    }
}
