//! Parameter sets.

use sotto_bfv::{Set, rings};

/// Every set, the default first.
pub static SETS: [Set; 1] = [Set {
    name: "default",
    about: "n = 4096, t = 65537, q of 50 bits: the paper's ring at 128 bits of security",
    ring: rings::SLOTS_SMALL,
    tried: true,
}];
