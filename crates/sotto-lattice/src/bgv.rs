//! BGV over several primes, on any ring whose plaintexts fall into slots that rotate.
//!
//! | module | what lives there |
//! |---|---|
//! | [`ring`] | what a ring has to offer: primes, transforms, slots and their rotation |
//! | [`pow2`] | `X^n + 1` with a plain modulus that splits it: two cycles of `n / 2` numbers |

pub mod pow2;
pub mod ring;

pub use pow2::Pow2;
pub use ring::SlotRing;
