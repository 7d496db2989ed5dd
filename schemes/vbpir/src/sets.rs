//! Parameter sets.

use sotto_bfv::{Set, rings};

/// Every set, the default first.
pub static SETS: [Set; 1] = [Set {
    name: "default",
    about: "n = 8192, t = 65537, two primes of 50 bits: the paper's degree at 128 bits of security",
    ring: rings::SLOTS,
    tried: true,
}];
