//! Levels: which primes a polynomial is taken modulo.

/// The first few primes of a ring, for keys with the special one after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    primes: usize,
    special: bool,
}

impl Level {
    /// Made by [`RnsRing`](super::RnsRing) alone, so that its primes are there.
    pub(super) fn new(primes: usize) -> Self {
        Level { primes, special: false }
    }

    /// How many primes are left, the special one not counted.
    pub fn primes(self) -> usize {
        self.primes
    }

    /// The level with one prime less, if that leaves any.
    pub fn below(self) -> Option<Level> {
        (self.primes > 1).then_some(Level { primes: self.primes - 1, special: self.special })
    }

    /// The same primes and the special one: where keys live.
    pub(super) fn raised(self) -> Level {
        Level { special: true, ..self }
    }

    /// How many limbs a polynomial has.
    pub fn limbs(self) -> usize {
        self.primes + usize::from(self.special)
    }
}
