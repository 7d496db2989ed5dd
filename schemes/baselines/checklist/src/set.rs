//! Sets without repetition: derived from a key and an id, and punctured.
//!
//! A set is a tree and a shift: its members are the tree's numbers, each xor the shift. Trees with
//! equal numbers are skipped, so that the s members are different and every sequence of different
//! places is equally likely. A shift turns a random set into one that contains a given place at a
//! given position, and changes nothing about repetitions: whether a tree is skipped does not depend
//! on what is requested.

use crate::{Params, PuncturedSets};
use sotto_core::CryptoRng;
use sotto_hints::two_server::{KeyedSets, Root, Set, TreeScratch, Trees, Workspace};
use std::ops::Range;
use zeroize::Zeroize;

/// One of two sets, without a branch: the second if the bit is set.
pub(crate) fn choose_set(bit: u32, [zero, one]: [&Set<u32>; 2]) -> Set<u32> {
    let wide = (bit as u8).wrapping_neg();
    let choose = |mut a: [u8; 16], b: [u8; 16]| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a ^= (*a ^ b) & wide);
        a
    };
    let root =
        Root { salt: choose(zero.root.salt, one.root.salt), seed: choose(zero.root.seed, one.root.seed) };
    Set { root, shift: either(bit, [zero.shift, one.shift]) }
}

/// One of two numbers, without a branch.
pub(crate) fn either(bit: u32, [zero, one]: [u32; 2]) -> u32 {
    zero ^ (zero ^ one) & bit.wrapping_neg()
}

/// A bit for each place, to detect repetitions; all zero between two uses.
pub struct SeenBits {
    bits: Vec<u64>,
    mask: u32,
    whole: bool,
    sorted: Vec<u32>,
}

/// log2 of the maximum number of places with a bit each. In larger universes places share bits.
const MAX_BITS: u32 = 22;

impl SeenBits {
    /// Bits for the places of these parameters.
    pub fn new(params: &Params) -> Self {
        let bits = params.bits().min(MAX_BITS);
        let (mask, whole) = ((1 << bits) - 1, bits == params.bits());
        SeenBits { bits: vec![0; (1usize << bits).div_ceil(64)], mask, whole, sorted: Vec::new() }
    }

    /// Whether these numbers are all different. Not constant in time: it reveals whether random
    /// trees are used.
    pub fn differ(&mut self, numbers: &[u32]) -> bool {
        let mut repeated = 0;
        for number in numbers {
            let place = number & self.mask;
            if let Some(word) = self.bits.get_mut(place as usize / 64) {
                repeated |= *word >> (place % 64) & 1;
                *word |= 1 << (place % 64);
            }
        }
        for number in numbers {
            if let Some(word) = self.bits.get_mut((number & self.mask) as usize / 64) {
                *word = 0;
            }
        }
        repeated == 0 || !self.whole && self.differ_sorted(numbers)
    }

    fn differ_sorted(&mut self, numbers: &[u32]) -> bool {
        self.sorted.clear();
        self.sorted.extend_from_slice(numbers);
        self.sorted.sort_unstable();
        let differ = self.sorted.windows(2).all(|pair| pair.first() != pair.last());
        self.sorted.zeroize();
        differ
    }
}

/// Passes the sets of some ids to `each`, with the numbers of their trees, in any order. The set of
/// an id is the first of its candidates without repetition.
pub(crate) fn each(
    keyed: &KeyedSets<u32>,
    ids: Range<u32>,
    tools: &mut Workspace<PuncturedSets>,
    mut each: impl FnMut(u32, Set<u32>, &[u32]),
) {
    let (trees, scratch, places) = (&tools.trees, &mut tools.scratch, &mut tools.own);
    let mut left: Vec<u32> = ids.collect();
    let mut attempt = 0;
    // At least 2.5 of eight candidates are without repetition on average, so this ends soon.
    while !left.is_empty() {
        let mut again = Vec::new();
        for ids in left.chunks(trees.together()) {
            let mut sets: Vec<Set<u32>> = ids.iter().map(|id| keyed.candidate(*id, attempt)).collect();
            let numbers = trees.grow(sets.iter().map(|set| set.root), scratch);
            for ((id, set), numbers) in ids.iter().zip(&sets).zip(numbers.chunks_exact(trees.numbers())) {
                if places.differ(numbers) {
                    each(*id, *set, numbers);
                } else {
                    again.push(*id);
                }
            }
            sets.zeroize();
        }
        left = again;
        attempt += 1;
    }
}

/// Whether a set has no repetitions.
pub(crate) fn is_one(set: &Set<u32>, tools: &mut Workspace<PuncturedSets>) -> bool {
    tools.own.differ(tools.trees.grow([set.root].into_iter(), &mut tools.scratch))
}

/// A set that contains a place at a random position and is otherwise random; and that position.
pub(crate) fn containing(
    place: u32,
    tools: &mut Workspace<PuncturedSets>,
    rng: &mut dyn CryptoRng,
) -> (Set<u32>, u32) {
    loop {
        let mut root = Root::default();
        rng.fill_bytes(&mut root.salt);
        rng.fill_bytes(&mut root.seed);
        let position = rng.next_u32() & (tools.trees.numbers() as u32 - 1);
        let numbers = tools.trees.grow([root].into_iter(), &mut tools.scratch);
        // A shift adds or removes no repetition, so the number of iterations does not depend on the
        // place.
        if tools.own.differ(numbers) {
            let shift = at(numbers, position) ^ place;
            return (Set { root, shift }, position);
        }
    }
}

/// A random place that a punctured set lacks.
pub(crate) fn outside(
    set: &Set<u32>,
    position: u32,
    trees: &Trees<u32>,
    scratch: &mut TreeScratch<u32>,
    rng: &mut dyn CryptoRng,
) -> u32 {
    let numbers = trees.grow([set.root].into_iter(), scratch);
    loop {
        let place = rng.next_u32() & trees.mask();
        let found = find(numbers, place ^ set.shift);
        // The punctured place is as good as any that was never in the set. That this loops once
        // more happens equally often for every set.
        if found == NOWHERE || found == position {
            return place;
        }
    }
}

/// The number at a position.
pub(crate) fn at(numbers: &[u32], position: u32) -> u32 {
    let places = (0..).zip(numbers);
    places.fold(0, |sum, (at, number)| sum | number & u32::from(at == position).wrapping_neg())
}

/// The position of a number that does not occur.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The position of a number among different ones, in constant time.
pub(crate) fn find(numbers: &[u32], sought: u32) -> u32 {
    let (mut place, mut found) = (0, 0);
    for (at, number) in (0u32..).zip(numbers) {
        let equal = u32::from(*number == sought).wrapping_neg();
        found |= equal;
        place |= at & equal;
    }
    place | !found
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::{Params as _, TableShape};
    use sotto_testkit::rng::seeded;

    fn params(rows: u64) -> Params {
        Params::check(Params::select(&TableShape::new(rows, 1, 1)).unwrap()).unwrap()
    }

    #[test]
    fn repetitions_are_seen_in_small_universes_and_large_ones() {
        for rows in [1 << 10, 1 << 30] {
            let mut places = SeenBits::new(&params(rows));
            let mut numbers: Vec<u32> = (0..900).map(|i| i * (rows as u32 / 1024)).collect();
            assert!(places.differ(&numbers) && places.differ(&numbers), "{rows}");
            numbers[17] = numbers[700];
            assert!(!places.differ(&numbers), "{rows}");
            numbers[17] = 1;
            assert!(places.differ(&numbers[..600]) == (rows != 1 << 10), "1 is there twice in the small one");
        }
    }

    #[test]
    fn sets_of_a_key_have_no_repetitions_and_are_the_same_however_they_are_asked_for() {
        let params = params(1 << 12);
        let (tools, keyed) = (&mut Workspace::new(&params), KeyedSets::new(&params.trees(), &[5; 16]));
        let mut all = vec![Set::default(); 300];
        let mut members = [0u32; 1 << 12];
        each(&keyed, 0..300, tools, |id, set, numbers| {
            let mut sorted: Vec<u32> = numbers.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), params.numbers());
            numbers.iter().for_each(|number| members[(number ^ set.shift) as usize] += 1);
            all[id as usize] = set;
        });
        for id in [0, 1, 77, 299] {
            each(&keyed, id..id + 1, tools, |_, set, _| assert_eq!(set, all[id as usize]));
        }
        assert!((0..300).all(|i| !all[..i].contains(&all[i])), "every id has a set of its own");
        // 300 sets of 64 among 4096 places: 4.7 of each. A place in none, or in twenty, is one chance in thousands.
        assert!(members.iter().filter(|count| **count == 0 || **count > 18).count() < 100);
    }

    #[test]
    fn a_fresh_set_has_its_place_where_it_says() {
        let params = params(1 << 12);
        let (tools, rng) = (&mut Workspace::new(&params), &mut seeded("containing"));
        let mut positions = Vec::new();
        for place in [0, 1, 4000, 4095, 17, 17, 17] {
            let (set, position) = containing(place, tools, rng);
            let numbers = tools.trees.grow([set.root].into_iter(), &mut tools.scratch).to_vec();
            let here = (at(&numbers, position) ^ set.shift, find(&numbers, place ^ set.shift));
            assert_eq!(here, (place, position));
            for _ in 0..300 {
                let other = outside(&set, position, &tools.trees, &mut tools.scratch, rng);
                assert!(other == place || find(&numbers, other ^ set.shift) == NOWHERE);
            }
            positions.push(position);
        }
        positions.dedup();
        assert!(positions.len() > 3, "positions are random: {positions:?}");
    }
}
