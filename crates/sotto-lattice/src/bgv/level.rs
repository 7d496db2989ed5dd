//! Levels: the primes that a polynomial is taken modulo.

/// A level: the first few primes of a ring, followed by the special one for keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    primes: usize,
    special: bool,
}

impl Level {
    /// Makes a level. Only [`RnsRing`](super::RnsRing) does, so that its primes exist.
    pub(super) fn new(primes: usize) -> Self {
        Level { primes, special: false }
    }

    /// Number of primes left, without the special one.
    pub fn primes(self) -> usize {
        self.primes
    }

    /// The level with one prime less, if that leaves any.
    pub fn below(self) -> Option<Level> {
        (self.primes > 1).then_some(Level { primes: self.primes - 1, special: self.special })
    }

    /// The level with the same primes and the special one, which is that of keys.
    pub(super) fn raised(self) -> Level {
        Level { special: true, ..self }
    }

    /// Number of limbs of a polynomial.
    pub fn limbs(self) -> usize {
        self.primes + usize::from(self.special)
    }
}
