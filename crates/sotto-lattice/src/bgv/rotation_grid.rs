//! The rotations of one ciphertext by 0, 1, 2 and so on places: a chain with one key, or with a
//! second key, by a stride of places, a grid of rows of that many.
//!
//! A grid has a shorter way to its last ciphertext, which has less noise. Half of its ciphertexts are
//! never split into digits, since the rotation to the right and the one down share a split (hoisting:
//! Halevi and Shoup, CRYPTO 2018), and rows are independent.

#[cfg(feature = "server")]
use super::encrypt::Ciphertext;
#[cfg(feature = "server")]
use super::keyswitch::Scratch;
#[cfg(feature = "server")]
use super::ring::SlotRing;
#[cfg(feature = "server")]
use super::rns::RnsRing;
#[cfg(feature = "server")]
use super::rotate::RotationKey;
#[cfg(feature = "server")]
use rayon::prelude::*;

/// The rotations of a ciphertext: the number of places, and the stride, which is 1 where there is no
/// second key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotations {
    /// Number of places, including its own.
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

/// The rotations of a ciphertext, with the keys of a client. Threads of the current pool take pairs of
/// rows.
#[cfg(feature = "server")]
pub struct RotationGrid<'a, R: SlotRing> {
    /// The ring.
    pub rns: &'a RnsRing<R>,
    /// The places.
    pub rotations: Rotations,
    /// The key of one place.
    pub rotation: &'a RotationKey<R>,
    /// The key of a stride, if there is one.
    pub stride: Option<&'a RotationKey<R>>,
}

#[cfg(feature = "server")]
impl<R: SlotRing> RotationGrid<'_, R> {
    /// Rotates a ciphertext to all places, in order. `cipher` makes ciphertexts of its shape, whose
    /// contents do not matter.
    pub fn all(&self, first: Ciphertext, cipher: &(dyn Fn() -> Ciphertext + Sync)) -> Vec<Ciphertext> {
        let Some(stride) = self.stride else {
            return self.chain(self.rotation, first, self.rotations.places, cipher);
        };
        // The first column is a chain too, of strides. Its even places are split once more for the
        // rotation next to the stride, so that no pair of rows waits for another.
        let mut column = self.chain(stride, first, self.rotations.rows(), cipher).into_iter();
        let rows = (0..self.rotations.rows()).step_by(2);
        let pairs: Vec<(usize, [Option<Ciphertext>; 2])> =
            rows.map(|row| (row, [column.next(), column.next()])).collect();
        let scratch = || Scratch::new(self.rns);
        let pair = |scratch: &mut Scratch, (row, starts)| self.pair(stride, row, starts, cipher, scratch);
        pairs.into_par_iter().map_init(scratch, pair).flatten_iter().collect()
    }

    /// A ciphertext and its rotations by one key, each from the one before.
    fn chain(
        &self,
        key: &RotationKey<R>,
        first: Ciphertext,
        places: usize,
        cipher: &dyn Fn() -> Ciphertext,
    ) -> Vec<Ciphertext> {
        let mut scratch = Scratch::new(self.rns);
        let mut out = Vec::with_capacity(places);
        let mut last = first;
        for _ in 1..places {
            let mut next = cipher();
            key.apply(self.rns, &last, &mut next, &mut scratch);
            out.push(std::mem::replace(&mut last, next));
        }
        out.push(last);
        out
    }

    /// An even row and the one below it, from the first place of each.
    fn pair(
        &self,
        stride: &RotationKey<R>,
        row: usize,
        starts: [Option<Ciphertext>; 2],
        cipher: &dyn Fn() -> Ciphertext,
        scratch: &mut Scratch,
    ) -> Vec<Ciphertext> {
        let [upper, lower] = [self.rotations.row(row), self.rotations.row(row + 1)];
        let [mut out, mut odd] = starts.map(|first| first.into_iter().collect::<Vec<_>>());
        for j in 0..upper {
            // To the right, and down, except where the first column was before.
            let (right, down) = (j + 1 < upper, j > 0 && j < lower);
            let keys: Vec<&RotationKey<R>> = [(right, self.rotation), (down, stride)]
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, key)| *key)
                .collect();
            let mut turned: Vec<Ciphertext> = keys.iter().map(|_| cipher()).collect();
            if let Some(c) = out.last().filter(|_| !keys.is_empty()) {
                RotationKey::apply_all(&keys, self.rns, c, &mut turned, scratch);
            }
            if down {
                odd.extend(turned.pop());
            }
            out.extend(turned);
        }
        out.append(&mut odd);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::fixture::{encrypted, on_every_ring, opened, plaintexts, rotation_key, secret, slots};

    on_every_ring!(grids_have_all_rotations);

    fn grids_have_all_rotations<R: SlotRing>(rns: &RnsRing<R>) {
        let secret = secret(rns);
        let plaintext = &plaintexts(rns)[0];
        let first = encrypted(rns, rns.top(), &secret, plaintext, 0);
        let rotation = rotation_key(rns, 1, &secret);
        for (places, by) in [(1, 1), (6, 1), (6, 3), (7, 3), (11, 3), (11, 4)] {
            let stride = rotation_key(rns, by, &secret);
            let stride = Some(&stride).filter(|_| by > 1);
            let rotations = Rotations { places, stride: by };
            let grid = RotationGrid { rns, rotations, rotation: &rotation, stride };
            let all = grid.all(first.clone(), &|| Ciphertext::unfilled(rns, rns.top(), 2));
            assert_eq!(all.len(), places);
            for (k, c) in all.iter().enumerate() {
                let cycles = slots(rns, plaintext);
                let cycles = cycles.chunks_exact(rns.ring().slots());
                let turned: Vec<_> = cycles.flat_map(|cycle| [&cycle[k..], &cycle[..k]].concat()).collect();
                assert_eq!(opened(rns, &secret, c), turned, "{k} of {places} by {by}");
            }
        }
    }

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
