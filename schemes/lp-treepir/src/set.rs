//! Sets with one row of each partition: of a key and an id, and with a given row.
//!
//! A set is a tree and a shift: its row of partition l has the tree's number l, xor the shift, for its offset. A shift turns a random set into one
//! that contains a given row.

use crate::params::Params;
use crate::tree::{Root, Trees};
use sotto_core::CryptoRng;
use sotto_math::aes::Aes;
use zeroize::Zeroize;

/// A tree and a shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Zeroize)]
pub struct Set {
    pub(crate) root: Root,
    pub(crate) shift: u16,
}

/// A row: its partition l, and its offset o there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Zeroize)]
pub struct Place {
    pub(crate) partition: u32,
    pub(crate) offset: u16,
}

impl Place {
    /// Where a row lies.
    pub fn of(params: &Params, row: u64) -> Self {
        // Below 2^16 both.
        Place { partition: (row >> params.offset_bits()) as u32, offset: row as u16 & params.mask() }
    }

    /// Whether there is such a row in a table.
    pub(crate) fn is_of(self, params: &Params) -> bool {
        let row = u64::from(self.partition) << params.offset_bits() | u64::from(self.offset);
        self.offset <= params.mask() && row < params.rows()
    }
}

impl Set {
    /// Whether a row is in the set: 1 if so, otherwise 0. Takes the same time for all.
    pub fn contains(&self, place: Place, trees: &Trees) -> u32 {
        self.has(trees.number(&self.root, place.partition), place)
    }

    /// The same, where the tree's number in the row's partition is known.
    pub(crate) fn has(&self, number: u16, place: Place) -> u32 {
        u32::from(number ^ self.shift ^ place.offset).wrapping_sub(1) >> 31
    }

    /// A set that contains a row and is otherwise random.
    pub(crate) fn containing(place: Place, trees: &Trees, rng: &mut dyn CryptoRng) -> Self {
        let mut root = Root::default();
        rng.fill_bytes(&mut root.salt);
        rng.fill_bytes(&mut root.seed);
        Set { root, shift: trees.number(&root, place.partition) ^ place.offset }
    }
}

/// The sets of a key: what the second server is told, and nobody else.
pub struct Keyed {
    aes: Aes,
    mask: u16,
}

impl Keyed {
    /// The sets of a key.
    pub fn new(params: &Params, key: &[u8; 16]) -> Self {
        Keyed { aes: Aes::new(key), mask: params.mask() }
    }

    /// A number by which a client knows its own queries.
    pub(crate) fn name(&self) -> u64 {
        let mut block = [[0; 16]];
        self.aes.grid(u64::MAX, 1, 0, 1, &mut block);
        let [[name @ .., _, _, _, _, _, _, _, _]] = block;
        u64::from_le_bytes(name)
    }

    /// The set of id `j`: its salt is AES(j, 0), its seed AES(j, 1), and its shift begins AES(j, 2).
    pub fn set(&self, id: u32) -> Set {
        let mut blocks = [[0; 16]; 3];
        self.aes.grid(u64::from(id), 1, 0, 3, &mut blocks);
        let [salt, seed, [a, b, ..]] = blocks;
        Set { root: Root { salt, seed }, shift: u16::from_le_bytes([a, b]) & self.mask }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Room;
    use sotto_core::{Params as _, Shape};
    use sotto_testkit::rng::seeded;

    fn params(rows: u64) -> Params {
        Params::check(Params::select(&Shape::new(rows, 1, 1)).unwrap()).unwrap()
    }

    #[test]
    fn sets_of_a_key_have_each_row_as_often() {
        let params = params(1 << 12);
        let (trees, keyed) = (Trees::new(&params), Keyed::new(&params, &[5; 16]));
        let mut rows = [0u32; 1 << 12];
        let all: Vec<Set> = (0..300).map(|id| keyed.set(id)).collect();
        for set in &all {
            let mut room = Room::default();
            for (partition, number) in (0..).zip(trees.grow([set.root].into_iter(), &mut room)) {
                let offset = number ^ set.shift;
                assert_eq!(set.contains(Place { partition, offset }, &trees), 1);
                assert_eq!(set.contains(Place { partition, offset: offset ^ 1 }, &trees), 0);
                rows[partition as usize * 64 + usize::from(offset)] += 1;
            }
        }
        assert!((0..300).all(|i| !all[..i].contains(&all[i])), "every id has a set of its own");
        assert_eq!(keyed.set(77), all[77]);
        // 300 sets among 64 rows of a partition: 4.7 of each. A row in none, or in twenty, is one chance in thousands.
        assert!(rows.iter().filter(|count| **count == 0 || **count > 18).count() < 100);
        assert_ne!(keyed.name(), Keyed::new(&params, &[6; 16]).name());
    }

    #[test]
    fn a_fresh_set_has_its_row() {
        let params = params(1 << 13);
        let (trees, rng) = (Trees::new(&params), &mut seeded("containing"));
        let mut shifts = Vec::new();
        for row in [0, 1, 4000, 8191, 17, 17, 17] {
            let place = Place::of(&params, row);
            assert_eq!(u64::from(place.partition) * 64 + u64::from(place.offset), row);
            let set = Set::containing(place, &trees, rng);
            assert_eq!(set.contains(place, &trees), 1);
            shifts.push(set.shift);
        }
        shifts.dedup();
        assert!(shifts.len() > 3, "shifts are random: {shifts:?}");
    }
}
