//! Parameter sets.

use sotto_bfv::{ParamsSet, rings};

/// Every set, the default first.
pub static SETS: [ParamsSet; 1] = [ParamsSet {
    name: "default",
    about: "n = 8192, t = 65537, two primes of 50 bits: the degree of the paper for single rows, at 128 bits of security",
    ring: rings::SLOTS,
    tried: true,
}];
