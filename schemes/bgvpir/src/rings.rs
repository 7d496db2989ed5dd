//! The rings that a table may be in, by name.
//!
//! The list is closed on purpose: the signer of a catalog chooses a name, and no modulus.

use sotto_core::ParamsError;
use sotto_lattice::bgv::{M8191, Pow2, RnsRing};
use std::sync::{Arc, OnceLock};

/// Constants of a ring that need no transforms.
#[derive(Debug, PartialEq)]
pub struct RingSet {
    /// The name in catalogs.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Coefficients of a polynomial.
    pub degree: usize,
    /// The plain modulus, t.
    pub plain: u64,
    /// Slots of a cycle.
    pub cycle: u32,
    /// Cycles of a plaintext.
    pub cycles: u32,
    /// Bits of data in a slot.
    pub slot_bits: u32,
    /// Possible periods of a query: divisors of a cycle.
    pub periods: &'static [u32],
    /// Nanoseconds of one transform, for choosing among trees.
    pub transform: f64,
}

/// Maximum primes of a fresh ciphertext: with the special one as many as security allows at these
/// degrees.
pub const MAX_PRIMES: u8 = 3;
/// Words of a limb in each ring.
pub const LIMB: usize = 8192;
/// Standard deviation of errors.
pub const SIGMA: f64 = 3.2;

/// The paper's ring: the 8191st cyclotomic field, binary plaintexts, 630 slots of GF(2^13).
pub const M8191_NAME: &str = "m8191";
/// A ring of a power of two, with 2 x 4096 slots of 16 bits.
pub const POW2_NAME: &str = "pow2";

/// All rings.
pub static RINGS: [RingSet; 2] = [
    RingSet {
        name: POW2_NAME,
        about: "X^8192 + 1 with t = 65537: two cycles of 4096 slots of 16 bits",
        degree: 8192,
        plain: 65537,
        cycle: 4096,
        cycles: 2,
        slot_bits: 16,
        periods: &[4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
        transform: 8_000.0,
    },
    RingSet {
        name: M8191_NAME,
        about: "the paper's: the 8191st cyclotomic polynomial with t = 2: one cycle of 630 slots of 13 bits",
        degree: 8190,
        plain: 2,
        cycle: 630,
        cycles: 1,
        slot_bits: 13,
        periods: &[5, 6, 7, 9, 10, 14, 15, 18, 21, 30, 35, 42, 45, 63, 70, 90, 105, 126, 210, 315, 630],
        transform: 60_000.0,
    },
];

/// The ring with a name.
///
/// # Errors
/// [`ParamsError::Field`] if there is none.
pub fn find(name: &str) -> Result<&'static RingSet, ParamsError> {
    let why = || ParamsError::Field { field: "ring", why: "must be pow2 or m8191".into() };
    RINGS.iter().find(|ring| ring.name == name).ok_or_else(why)
}

/// A ring with its transforms.
#[derive(Debug, Clone)]
pub enum Ring {
    /// The ring of a power of two.
    Pow2(RnsRing<Pow2>),
    /// The paper's ring.
    M8191(RnsRing<M8191>),
}

/// Evaluates an expression that is generic in the ring for either ring.
macro_rules! on_ring {
    ($ring:expr, $rns:ident => $body:expr) => {
        match $ring {
            $crate::rings::Ring::Pow2($rns) => $body,
            $crate::rings::Ring::M8191($rns) => $body,
        }
    };
}
pub(crate) use on_ring;

/// The ring with a name and `primes` primes besides the special one. It is made once: its tables
/// take milliseconds.
///
/// # Errors
/// [`ParamsError::Field`] if there is no such ring, or none with as many primes.
pub fn ring(name: &str, primes: u8) -> Result<Arc<Ring>, ParamsError> {
    static MADE: [[OnceLock<Option<Arc<Ring>>>; MAX_PRIMES as usize]; 2] =
        [const { [const { OnceLock::new() }; MAX_PRIMES as usize] }; 2];
    let set = find(name)?;
    let many = || ParamsError::Field { field: "primes", why: format!("must be in 1..={MAX_PRIMES}") };
    let kind = usize::from(set.name == M8191_NAME);
    let at = usize::from(primes).checked_sub(1).ok_or_else(many)?;
    let cell = MADE.get(kind).and_then(|rings| rings.get(at)).ok_or_else(many)?;
    let all = usize::from(primes) + 1;
    let make = || {
        Some(Arc::new(match kind {
            0 => Ring::Pow2(RnsRing::new(Pow2::standard(all)?)?),
            _ => Ring::M8191(RnsRing::new(M8191::standard(all)?)?),
        }))
    };
    cell.get_or_init(make).clone().ok_or_else(many)
}
