//! Parameter sets.

use sotto_bfv::{ParamsSet, rings};

/// Every set, the default first.
pub static SETS: [ParamsSet; 1] = [ParamsSet {
    name: "default",
    about: "n = 4096, t = 65537, q of 50 bits: the paper's ring at 128 bits of security",
    ring: rings::SLOTS_SMALL,
    tried: true,
}];
